"""`msprobe check` on recorded pipelines, and what it calls groups of ranks."""

from __future__ import annotations

from pathlib import Path

from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import CheckFinding, axis_of, check_dump
from builder.ranks.layout.coordinates import Place, RunLayout, Sizes
from msprobe_core.format import group_id
from tests.parallel.fault import Fault
from tests.parallel.faults import FAULTS
from tests.parallel.faults.base import PP, TIED
from tests.parallel.layout import Layout
from tests.parallel.record import record
from tests.parallel.size import Size


def _found(
    folder: Path, layout: Layout, size: Size, fault: Fault | None = None
) -> list[CheckFinding]:
    record(layout, folder, "statistics", 0, size, fault.change if fault is not None else None)
    return check_dump(find_sources(folder / "dump"), Sizes()).findings


def test_copies_of_a_tied_weight_have_to_read_one_gradient(tmp_path: Path) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == "pp_tied_gradient_not_summed")
    first = _found(tmp_path, PP, TIED, fault)[0]
    assert (first.check, first.axis, first.ranks) == ("replica", "pp", (0, 1))
    assert first.node == "Optimizer.embedding.weight.0.forward"


def test_sound_copies_and_dry_runs_of_stages_are_no_finding(tmp_path: Path) -> None:
    assert _found(tmp_path / "tied", PP, TIED) == []
    schedule = Layout(pp=2, micro_batches=4, native="schedule")
    assert _found(tmp_path / "schedule", schedule, Size()) == []


def test_a_group_has_its_recorded_name_or_that_of_its_axis() -> None:
    places = {r: Place(r, {"tp": r % 2, "pp": r // 2}) for r in range(4)}
    groups = {group_id([0, 2]): "embedding"}
    layout = RunLayout({"tp": 2, "pp": 2}, places, groups=groups)
    assert axis_of(layout, (0, 2)) == "embedding"
    assert axis_of(layout, (1, 3)) == "pp"
    assert axis_of(layout, (0, 1, 2, 3)) is None
