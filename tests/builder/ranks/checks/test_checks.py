"""`msprobe check` on recorded pipelines, and what it calls groups of ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import CheckFinding, axis_of, check_dump
from builder.ranks.layout.coordinates import Place, RunLayout, Sizes
from builder.reasons import ReplicasDiffer
from evaluation.all_clears.recorded import recorded_run, write_run
from evaluation.parallel.fault import Fault
from evaluation.parallel.faults import FAULTS
from evaluation.parallel.faults.base import PP, TIED
from evaluation.parallel.layout import Layout
from evaluation.parallel.record import record
from evaluation.parallel.size import Size
from msprobe.cli.program import main
from msprobe_core.format import group_id


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
    said, *_ = first.reasons
    assert isinstance(said, ReplicasDiffer)
    assert (said.value, said.axis, said.ranks) == ("input.gradient", "pp", "0, 1")


def test_a_finding_says_its_reasons_as_codes_and_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, data = _run(tmp_path)
    entry, role, key = WEIGHT
    data[entry][role][key]["shape"] = [2, 8]
    write_run(files, tmp_path)
    assert main(["check", str(tmp_path), "--json"]) == 4
    told = json.loads(capsys.readouterr().out)["findings"][0]
    assert told["reasons"][0]["code"] == "replicas_unlike"
    assert "has other shapes or formats" in told["text"]
    assert told["inside"] == ""


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


RANK = "step1/rank1/dump.json"
WEIGHT = ("Module.fc.Linear.forward.0", "parameters", "weight")
UPDATED = ("Optimizer.AdamW.fc.weight.0.forward", "output", "value")


def _run(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run of two ranks, and the entries of one of them."""
    files = recorded_run("statistics")
    return files, files[RANK]["data"]


@pytest.mark.parametrize("place", [WEIGHT, UPDATED, (*UPDATED[:1], "input", "gradient")])
@pytest.mark.parametrize("facts", [{"shape": [2, 8]}, {"shape": []}, {"dtype": "torch.float16"}])
def test_copies_of_other_shape_or_format_are_unlike(
    tmp_path: Path, place: tuple[str, str, str], facts: dict[str, Any]
) -> None:
    files, data = _run(tmp_path)
    entry, role, key = place
    data[entry][role][key].update(facts)
    write_run(files, tmp_path)
    (finding, *_) = check_dump(find_sources(tmp_path), Sizes()).findings
    assert finding.check == ("update" if role == "output" else "replica")
    assert (finding.step, finding.node) == (1, entry)
    assert "has other shapes or formats" in finding.text


@pytest.mark.parametrize(
    "path",
    [
        WEIGHT,
        WEIGHT[:2],
        WEIGHT[:1],
        UPDATED,
        (*UPDATED[:1], "parameters", "value"),
        UPDATED[:1],
        ("Distributed.all_reduce.0.forward", "output", 0),
        ("Distributed.all_reduce.0.forward", "output", 0, "Norm"),
        ("Distributed.all_reduce.0.forward",),
    ],
)
def test_what_a_rank_lacks_is_told(tmp_path: Path, path: tuple[Any, ...]) -> None:
    files, data = _run(tmp_path)
    holder: Any = data
    for key in path[:-1]:
        holder = holder[key]
    if path[-1] == "Norm":
        holder["Norm"] = None
    else:
        del holder[path[-1]]
    write_run(files, tmp_path)
    checked = check_dump(find_sources(tmp_path), Sizes())
    gaps = {gap.code: gap for gap in checked.claim.evidence.gaps}
    assert not checked.claim.is_clear
    assert gaps["lone_ranks"].name.startswith(path[0])


def test_ranks_have_other_layers_and_experts_by_design(tmp_path: Path) -> None:
    record(PP, tmp_path, "statistics", 0, TIED, None)
    checked = check_dump(find_sources(tmp_path / "dump"), Sizes())
    assert checked.findings == []
    assert "lone_ranks" not in {gap.code for gap in checked.claim.evidence.gaps}
