"""How far a value is off is read where the cause is, not in another layer that has the same."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.builder.diagnosis.recorded_programs import Change, found, same
from tests.told import facts


class Layer(nn.Module):
    def __init__(self, inner: Change, last: Change) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)
        self.inner, self.last = inner, last

    def forward(self, x: Tensor) -> Tensor:
        return self.last(x + self.second(self.inner(torch.tanh(self.first(x)))))


class Layers(nn.Module):
    """Three layers, some of which change a value inside, or what they put out."""

    def __init__(
        self, inner: Change = same, last: Change = same, wrong: Collection[int] = ()
    ) -> None:
        super().__init__()
        changes = [(inner, last) if place in wrong else (same, same) for place in range(3)]
        self.layers = nn.ModuleList(Layer(*change) for change in changes)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(x)


def scaled(x: Tensor) -> Tensor:
    return x * 1.3


def cut_off(x: Tensor) -> Tensor:
    return x.detach()


@pytest.mark.parametrize("wrong", [(0, 1, 2), (1, 2), (1,)])
@pytest.mark.parametrize(
    ("change", "value"), [("inner", scaled), ("last", scaled), ("inner", cut_off)]
)
def test_evidence_is_of_the_layer_that_is_named(
    tmp_path: Path, change: str, value: Change, wrong: tuple[int, ...]
) -> None:
    program = partial(Layers, wrong=wrong)
    finding = found(tmp_path, program, **{change: value})[0]
    assert len(finding.places) == len(wrong) - 1
    told = [reason for reason in finding.reasons if facts(reason)["code"] == "explained"]
    assert told or value is cut_off
    for reason in told:
        assert str(facts(reason)["at"]).startswith(f"Module.layers.{wrong[0]}.")
