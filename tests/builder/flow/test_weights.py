"""A weight that is not what the optimizer left is named, however little it moved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder import BuildOptions
from builder.dump.values import Record
from builder.flow.weights import Weight, WeightKey, Weights, handed_on, prints_of
from msprobe_core import PrecisionDebugger
from tests.told import facts

Between = Callable[[nn.Sequential, list[torch.Tensor], int], None]
STEPS = 3


def _record(folder: Path, between: Between) -> Path:
    """Train for three steps that move weights by a few roundings; `between` runs after each."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=3e-7)
    debugger = PrecisionDebugger(level="mix", task="statistics", dump_path=str(folder))
    for step in range(STEPS):
        before = [parameter.detach().clone() for parameter in model.parameters()]
        debugger.start(model=model)
        model(torch.ones(3, 6)).square().mean().backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
        optimizer.zero_grad()
        between(model, before, step)
    debugger.close()
    return folder


def _nothing(model: nn.Sequential, before: list[torch.Tensor], step: int) -> None:
    pass


def _loses_an_update(model: nn.Sequential, before: list[torch.Tensor], step: int) -> None:
    if step == 0:
        model[1].weight.data.copy_(before[2])


def _loses_each_update(model: nn.Sequential, before: list[torch.Tensor], step: int) -> None:
    for parameter, old in zip(model.parameters(), before, strict=True):
        parameter.data.copy_(old)


def _averages(model: nn.Sequential, before: list[torch.Tensor], step: int) -> None:
    for parameter, old in zip(model.parameters(), before, strict=True):
        parameter.data.lerp_(old, 0.5)


FIRST, SECOND = (f"Module.{at}.Linear.forward.0" for at in (0, 1))
CASES = {
    "one update is lost": (_loses_an_update, _nothing, [(1, SECOND, "rewritten")]),
    "each update is lost": (_loses_each_update, _nothing, [(1, FIRST, "rewritten")]),
    "the benchmark alone averages": (_nothing, _averages, [(1, FIRST, "rewritten_there")]),
    "both average": (_averages, _averages, []),
    "neither writes": (_nothing, _nothing, []),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[Between, Path]:
    folder = tmp_path_factory.mktemp("weights")
    all_of_them = (_nothing, _loses_an_update, _loses_each_update, _averages)
    return {between: _record(folder / between.__name__, between) for between in all_of_them}


@pytest.mark.parametrize("case", CASES)
def test_weights_written_between_steps_are_named_where_they_are_read(
    case: str, recorded: dict[Between, Path], tmp_path: Path
) -> None:
    ours, theirs, expected = CASES[case]
    options = BuildOptions(workers=1)
    result = builder.build(recorded[ours], recorded[theirs], tmp_path / "out", options)
    found = [
        (f.step, f.name, facts(reason)["code"]) for f in result.findings for reason in f.reasons
    ]
    assert [each for each in found if each[2].startswith("rewritten")] == expected
    assert len(result.findings) == len(expected)


def _weights(read: Record | None, left: Record | None, rank: int = 0) -> Weights:
    return {WeightKey("up.weight", rank): Weight("Module.up.Linear.forward.0", read, left)}


PLACES = {"Module.up.Linear.forward.0": 7}


def _of(dtype: str = "torch.float32", rows: int = 2, norm: float = 2.0) -> Record:
    return Record(dtype=dtype, shape=(rows, 2), Max=1.0, Min=0.0, Mean=0.5, Norm=norm)


@pytest.mark.parametrize(
    ("read", "kept", "rewritten"),
    [
        (_of(), {7}, {}),
        (_of(norm=2.1), set(), {7}),
        (_of("torch.bfloat16", norm=2.1), set(), {}),
        (_of(rows=4, norm=2.1), set(), {}),
        (None, set(), {}),
    ],
)
def test_equal_records_of_one_form_are_one_value(
    read: Record | None, kept: set[int], rewritten: set[int] | dict[int, object]
) -> None:
    before, after = (
        prints_of(_weights(None, _of()), PLACES),
        prints_of(_weights(read, None), PLACES),
    )
    found = handed_on(before, after)
    assert (set(found.kept), set(found.rewritten)) == (kept, set(rewritten))


def test_the_ranks_that_read_something_else_are_told() -> None:
    before = prints_of(_weights(None, _of()) | _weights(None, _of(), 3), PLACES)
    after = prints_of(_weights(_of(), None) | _weights(_of(norm=2.1), None, 3), PLACES)
    assert handed_on(before, after).rewritten == {7: {3}}
