"""What kind of value a part of a run is, which says what layouts are usual for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.dump.reader import Dump
from builder.dump.values import Values
from builder.ranks.assembly.assemble import assemble
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.roles import roles_of
from builder.ranks.layout.coordinates import Place, RunLayout
from tests.builder.ranks.joining.records import made_record

_ALONE = RunLayout({}, {0: Place(0, {})})
_MODULE = "Module.fc.Linear.forward.0"


def _run(calls: dict[str, float], parent: str | None = None) -> RunValues:
    """A gradient of norm 8, and calls that read something and put out its half."""
    entries = {"Module.fc.Linear.parameters_grad.0": {"parameters_grad.weight": 8.0}}
    for call, read in calls.items():
        entries[call] = {"input.0": read, "output.0": read / 2}
    values, ranges = Values(), {}
    for name, cells in entries.items():
        ranges[name] = (len(values.keys), len(values.keys) + len(cells))
        values.keys += cells
        values.records += [made_record(each, "torch.float16") for each in cells.values()]
    parents: dict[str, str | None] = {**dict.fromkeys(entries), **dict.fromkeys(calls, parent)}
    dump = Dump(Path("d"), "statistics", "mix", "pytorch", values, ranges, parents, {}, {}, [])
    return RunValues(assemble({0: dump}, _ALONE, 1, join=True))


@pytest.mark.parametrize(
    ("call", "read", "parent", "found"),
    [
        ("Tensor.mul_.0.forward", 8.0, None, "gradient"),
        ("Tensor.div_.0.forward", 8.0, None, "gradient"),
        ("Tensor.mul_.0.forward", 7.0, None, "forward"),
        ("Tensor.mul_.0.forward", 8.0, _MODULE, "forward"),
        ("Tensor.mul.0.forward", 8.0, None, "forward"),
        ("Tensor.__add__.0.forward", 8.0, None, "forward"),
    ],
    ids=["scaled", "divided", "another", "in a module", "not in place", "an operator"],
)
def test_what_scales_a_gradient_in_place_reads_and_writes_gradients(
    call: str, read: float, parent: str | None, found: str
) -> None:
    run = _run({call: read}, parent)
    kinds = {run.class_of(i) for i, owner in enumerate(run.owner) if owner == call}
    assert kinds == {found}


def test_calls_of_one_name_before_and_after_a_reduction_are_two_roles() -> None:
    run = _run({"Tensor.mul_.0.forward": 8.0, "Tensor.mul_.1.forward": 5.0})
    every = np.arange(len(run.keys))
    roles, lost = roles_of(run, run, np.stack((every, every), axis=1))
    found = [(role.key, role.value_class) for role in roles if "mul_" in role.name]
    assert found == [
        ("input.0", "gradient"),
        ("output.0", "gradient"),
        ("input.0", "forward"),
        ("output.0", "forward"),
    ]
    assert lost == []
