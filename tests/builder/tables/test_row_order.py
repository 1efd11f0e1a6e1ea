"""Every value of either side stands in exactly one row, whatever the dumps are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder import BuildOptions
from builder.dump.reader import read_dump
from builder.dump.sources import find_sources
from builder.judge.extensions import Extension
from builder.match.tree import build_tree
from builder.match.value_pairing import value_name
from builder.tables import comparing
from builder.tables.comparing import compare_into_tables
from tests.builder.dumps import forward, tensor, write_dump
from tests.builder.tables.recorded import FINE, our_table, read_table

PAIRS = [
    ("statistics/problem", "statistics/bench"),
    ("ranks/problem", "ranks/bench"),
    ("tensor/problem", "tensor/bench"),
    ("level-L0/problem", "level-L0/bench"),
    ("bert-names/problem", "bert-names/bench"),
    ("extra-api/problem", "statistics/bench"),
    ("recompute/problem", "statistics/bench"),
    ("nan/problem", "statistics/bench"),
]


def value_names(rank: Path) -> Counter[str]:
    tree = build_tree(read_dump(rank))
    values, found = tree.dump.values, Counter[str]()
    for name, (start, stop) in tree.dump.ranges.items():
        node = tree.by_name[name]
        keys = values.keys[start:stop] + [key for _, key in values.absent.get(name, ())]
        found.update(value_name(node, key) for key in keys)
    return found


def check_complete(file: Path, problem: Path, benchmark: Path) -> None:
    _, rows = read_table(file)
    for column, rank in (("NPU Name", problem), ("Bench Name", benchmark)):
        assert Counter(r[column] for r in rows if r[column] != "N/A") == value_names(rank)


@pytest.mark.parametrize(("problem", "benchmark"), PAIRS)
def test_recorded_dumps(problem: str, benchmark: str, samples: Path, tmp_path: Path) -> None:
    ours, theirs = (find_sources(samples / side) for side in (problem, benchmark))
    pairs = list(zip(ours.sources, theirs.sources))[:2]
    for number, (p, b) in enumerate(pairs):
        result = compare_into_tables(p.path, b.path, tmp_path / str(number))
        assert [outcome.error for outcome in result.failed] == []
        check_complete(result.files[0], p.path, b.path)


def test_run_against_itself_passes(samples: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("statistics", "md5", "communication", "micro-steps")):
        rank = find_sources(samples / name / "bench").sources[0].path
        _, rows = our_table(rank, rank, tmp_path / str(number))
        assert {row["Result"] for row in rows} == {FINE}, name


value = st.sampled_from([tensor(2.0), tensor(3.0), {"type": "int", "value": 1}, None])
call = st.builds(forward, st.lists(value, max_size=3), st.lists(value, max_size=2))
names = st.sampled_from([f"Torch.{api}.{n}.forward" for api in ("mul", "add") for n in (0, 1)])
dumps = st.dictionaries(names, call, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(ours=dumps, theirs=dumps)
def test_any_two_dumps(ours: dict[str, Any], theirs: dict[str, Any], tmp_path: Path) -> None:
    sides = write_dump(tmp_path / "a", ours), write_dump(tmp_path / "b", theirs)
    work = comparing.write_pair_table
    if not value_names(sides[0]) and not value_names(sides[1]):
        return
    file = work(sides, tmp_path / "out", "csv", BuildOptions())
    check_complete(file, *sides)


def test_measures_of_extensions_stand_behind_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ratio(problem: Any, benchmark: Any) -> float | None:
        return problem.max / benchmark.max

    monkeypatch.setattr(comparing, "load_extensions", lambda: (Extension({"Max ratio": ratio}),))
    sides = [
        write_dump(tmp_path / side, {"Torch.mul.0.forward": forward([tensor()], [tensor(norm)])})
        for side, norm in (("a", 3.0), ("b", 2.0))
    ]
    header, rows = our_table(*sides, tmp_path / "out")
    assert header[header.index("NormRelativeErr") + 1] == "Max ratio"
    assert [row["Max ratio"] for row in rows] == ["1.0", "1.5"]
