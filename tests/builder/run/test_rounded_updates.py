"""What Adam makes of a gradient that is nothing but rounding, over steps.

A part of a fused bias, the keys' in attention, has no gradient: a softmax takes what all keys have
in common away. What rounding leaves there becomes updates as large as the learning rate.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import builder
from msprobe.pytorch import PrecisionDebugger

WIDTH, HEADS = 32, 4


class Attention(nn.Module):
    """Attention in one call, or in the products that it stands for."""

    def __init__(self, in_one: bool) -> None:
        super().__init__()
        self.in_one = in_one
        self.projection, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        many, length, _ = x.shape
        parts = self.projection(x).split(WIDTH, dim=-1)
        query, key, value = (p.view(many, length, HEADS, -1).transpose(1, 2) for p in parts)
        if self.in_one:
            mixed = F.scaled_dot_product_attention(query, key, value)
        else:
            scale = query.shape[-1] ** -0.5
            mixed = torch.softmax(query @ key.transpose(-1, -2) * scale, -1) @ value
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


def recorded(path: Path, *, in_one: bool, decay: float = 0.01) -> Path:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), Attention(in_one), nn.LayerNorm(WIDTH))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for step in range(4):
        x = torch.randn(4, 9, WIDTH, generator=torch.Generator().manual_seed(step))
        if step == 2:
            optimizer.param_groups[0]["weight_decay"] = decay
        with debugger.recording(model):
            optimizer.zero_grad()
            model(x).pow(3).mean().backward()
            optimizer.step()
    debugger.close()
    return path


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("benchmark"), in_one=False)


def test_it_is_no_finding_in_any_step(tmp_path: Path, benchmark: Path) -> None:
    ours = recorded(tmp_path / "ours", in_one=True)
    found = builder.build(ours, benchmark, tmp_path / "o").findings
    assert all(finding.heals for finding in found), [finding.name for finding in found]


def test_what_the_optimizer_does_otherwise_is_one(tmp_path: Path, benchmark: Path) -> None:
    ours = recorded(tmp_path / "ours", in_one=True, decay=0.5)
    first = builder.build(ours, benchmark, tmp_path / "o").findings[0]
    assert (first.step, first.heals) == (2, False)
    assert first.kind == "argument_differs"
