"""A small language model, and one debugger at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from builder.dump.inspection import Inspection, inspect_dump
from msprobe.pytorch import PrecisionDebugger

WORDS, WIDTH = 17, 8


class SmallModel(nn.Module):
    """Embedding, one block, logits; positions are given as engines give them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.mlp = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, input_ids: Tensor, positions: Tensor) -> Tensor:
        hidden = self.embed(input_ids) + positions.unsqueeze(-1) * 0.01
        logits: Tensor = self.head(torch.relu(self.mlp(self.norm(hidden))))
        return logits


@pytest.fixture
def model() -> SmallModel:
    torch.manual_seed(0)
    return SmallModel().eval()


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    if PrecisionDebugger.current is not None:
        PrecisionDebugger.current.close()


def generate(run_step: object, tokens: int) -> list[int]:
    """One request: a prompt pass, then one pass for each further token."""
    assert callable(run_step)
    made = [1, 2, 3]
    for number in range(tokens):
        ids = torch.tensor(made if not number else made[-1:])
        positions = torch.arange(len(made) - len(ids), len(made))
        made.append(int(run_step(ids, positions)[-1].argmax()))
    return made


def dumped(folder: Path) -> Inspection:
    """What was written, with nothing broken and no empty step."""
    found = inspect_dump(folder)
    assert not any(rank.is_broken for rank in found.ranks)
    assert all(rank.entries for rank in found.ranks)
    return found
