"""`msprobe check` on recorded runs: a sum that one layer does not form, and unlike clip factors."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.sources import find_sources
from builder.ranks.checks.partial_sums import unlike_factors
from builder.ranks.checks.self_check import CheckFinding, check_dump
from builder.ranks.layout.coordinates import Sizes
from evaluation.parallel.faults import FAULTS
from evaluation.parallel.layout import Layout
from evaluation.parallel.record import record
from evaluation.parallel.size import Size


def _found(name: str, folder: Path) -> list[CheckFinding]:
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    record(fault.layout, folder, "statistics", 0, fault.size, fault.change)
    return check_dump(find_sources(folder / "dump"), Sizes()).findings


def test_a_part_that_is_used_as_the_whole_is_named_with_its_reader(tmp_path: Path) -> None:
    first = _found("tp_row_not_reduced", tmp_path)[0]
    assert first.check == "partial"
    assert first.node == "Module.layers.1.attention.out.RowParallelLinear.forward.0"
    assert (first.axis, first.ranks) == ("tp", (0, 1))
    assert "Tensor.__add__" in first.text


def test_ranks_that_clip_by_their_own_norm_are_named(tmp_path: Path) -> None:
    found = _found("tp_clip_local", tmp_path)
    first, factors = found[0], [each for each in found if "one factor" in each.text]
    assert first.check == "update"
    assert "by unlike numbers" in first.text  # the call itself, before its gradients are read
    assert [each.check for each in factors] == ["update", "update"]  # of both steps


@pytest.mark.parametrize("layout", [Layout(tp=2), Layout(tp=2, sequence_parallel=True)])
def test_a_sound_run_has_no_finding(tmp_path: Path, layout: Layout) -> None:
    record(layout, tmp_path, "statistics", 0, Size(clip=True))
    assert check_dump(find_sources(tmp_path / "dump"), Sizes()).findings == []


def test_factors_of_one_rank_or_alike_are_no_finding() -> None:
    assert not unlike_factors({0: 0.5}, 1e-3)
    assert not unlike_factors({0: 0.5, 1: 0.5001}, 1e-3)
    assert unlike_factors({0: 0.5, 1: 0.51}, 1e-3)
