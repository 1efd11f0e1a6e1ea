"""Generated dumps: of the size asked for, readable, and wrong from the seeded call on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.generate import Size, generate
from builder import BuildOptions, build, diagnose
from msprobe_core.format import CONSTRUCT_FILE, DUMP_FILE, STACK_FILE, parse_entry

IN_PROCESS = BuildOptions(workers=1)


@pytest.mark.parametrize(
    ("size", "culprit"),
    [
        (Size(500), "Functional.gelu.5.forward"),
        (Size(500, wide=True), "Tensor.__mul__.250.forward"),
        (Size(500, nan=True), "Functional.gelu.5.forward"),
        (Size(300, tensor_elements=50), "Functional.gelu.3.forward"),
    ],
)
def test_diagnosis_names_the_seeded_call(tmp_path: Path, size: Size, culprit: str) -> None:
    generate(tmp_path, size)
    made = build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "out", IN_PROCESS)
    found = diagnose(made.path)
    assert [finding.node for finding in found.findings] == [culprit]
    assert (found.unmatched_problem, found.unmatched_benchmark) == (0, 0)


@pytest.mark.parametrize("entries", [400, 2000, 5000])
def test_count_is_near_what_was_asked(tmp_path: Path, entries: int) -> None:
    count = generate(tmp_path, Size(entries))
    assert abs(count - entries) < 60


def test_ranks_and_steps_have_whole_dumps_with_readable_names(tmp_path: Path) -> None:
    generate(tmp_path, Size(200, ranks=2, steps=2))
    folders = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*/*"))
    assert folders == [
        f"{side}/step{step}/rank{rank}"
        for side in ("benchmark", "problem")
        for step in (0, 1)
        for rank in (0, 1)
    ]
    for folder in folders:
        dump, construct, stack = (
            json.loads((tmp_path / folder / name).read_text())
            for name in (DUMP_FILE, CONSTRUCT_FILE, STACK_FILE)
        )
        assert all(parse_entry(name) for name in dump["data"])
        assert {parent for parent in construct.values() if parent} <= set(construct)
        stacked = {name for names, _frames in stack.values() for name in names}
        assert stacked == {name for name in construct if parse_entry(name).direction != "backward"}
