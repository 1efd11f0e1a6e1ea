"""Every part of the ablation is there to be switched off, and without one the table says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from builder.diagnosis import edges
from tests.zoo.ablation import PARTS, Tally, compared_case, tally_without
from tests.zoo.suite import cases


@pytest.mark.parametrize("name", PARTS)
def test_what_is_switched_off_exists(name: str) -> None:
    assert all(hasattr(owner, attribute) for owner, attribute, _ in PARTS[name])


def test_without_the_excess_of_edges_other_data_is_not_named(tmp_path: Path) -> None:
    fault = next(
        case
        for case in cases(("statistics",))
        if case.name == "labels of the second step wrong" and case.problem.dtype == torch.float32
    )
    work = [compared_case(fault, tmp_path)]
    assert tally_without((), work) == Tally(faults=1, first=1, alone=1)
    parts = PARTS["edges"]
    assert parts[0][0] is edges.Edges
    assert tally_without(parts, work).first == 0
