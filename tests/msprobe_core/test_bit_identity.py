"""A dumped run computes the same bits as a plain one: losses, parameters, random numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from examples.small_transformer import SmallTransformer
from msprobe_core import PrecisionDebugger, seed_all


def train(debugger: PrecisionDebugger | None) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    seed_all(5)
    model = SmallTransformer(fault=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(2):
        if debugger is not None:
            debugger.start(model)
        optimizer.zero_grad()
        ids = torch.randint(0, 64, (4, 17))
        logits = nn.functional.dropout(model(ids[:, :-1]), 0.1)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if debugger is not None:
            debugger.stop()
            debugger.step()
        losses.append(loss.detach())
    return losses, [parameter.detach() for parameter in model.parameters()] + [torch.rand(3)]


@pytest.mark.parametrize("task", ["statistics", "tensor", "structure"])
@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_losses_and_parameters_keep_every_bit(
    level: str, task: str, debugger: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    plain = train(None)
    dumped = train(debugger(level=level, task=task))
    for ours, theirs in zip(plain[0] + plain[1], dumped[0] + dumped[1], strict=True):
        assert ours.equal(theirs)
    assert len(list((tmp_path / "dump").glob("step*/*/dump.json"))) == 2
