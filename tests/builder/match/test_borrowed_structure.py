"""A dump.json without its structure against a whole dump: paired by name, and said so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.dump.reader import read_dump
from builder.match.borrowed_structure import with_structure
from builder.match.tree import build_tree
from builder.work.outcome import PairOutcome
from msprobe.cli.build_summary import beginning


@pytest.fixture
def alone(samples: Path, tmp_path: Path) -> Path:
    """The benchmark's dump.json of a sample, copied without what lies beside it."""
    for file in (samples / "statistics" / "bench").rglob("dump.json"):
        to = tmp_path / "alone" / file.parent.relative_to(samples / "statistics" / "bench")
        to.mkdir(parents=True)
        shutil.copy(file, to)
    return tmp_path / "alone"


@pytest.mark.parametrize("flat", ["problem", "benchmark"])
def test_a_values_file_alone_is_compared_like_the_whole_dump(
    samples: Path, alone: Path, tmp_path: Path, flat: str
) -> None:
    whole = samples / "statistics" / "bench"
    options = BuildOptions(workers=1)
    expected = builder.build(whole, whole, tmp_path / "o", options)
    sides = (alone, whole) if flat == "problem" else (whole, alone)
    made = builder.build(*sides, tmp_path / "o", options)
    assert [o.compared for o in made.outcomes] == [o.compared for o in expected.outcomes]
    # Calls without a value of their own are known to the whole dump only.
    assert {getattr(o, f"unmatched_{flat}") for o in made.outcomes} == {0}
    assert {"code": "placed_as_other", "side": flat} in made.summary
    assert not any(reason["code"] == "placed_as_other" for reason in expected.summary)


def test_the_first_finding_is_that_of_the_whole_dumps(
    samples: Path, alone: Path, tmp_path: Path
) -> None:
    problem, whole = samples / "statistics" / "problem", samples / "statistics" / "bench"
    options = BuildOptions(workers=1)
    expected = builder.build(problem, whole, tmp_path / "o", options)
    made = builder.build(problem, alone, tmp_path / "o", options)
    assert [f.name for f in made.findings] == [f.name for f in expected.findings]


def test_calls_that_only_the_flat_dump_has_stand_at_the_top(samples: Path, alone: Path) -> None:
    folder = next(alone.rglob("dump.json")).parent
    whole = samples / "statistics" / "bench" / folder.relative_to(alone)
    flat, other = read_dump(folder), read_dump(whole)
    lost = next(name for name in other.parents if name.startswith("Functional."))
    del other.parents[lost]
    placed, same = with_structure(flat, other)
    assert same is other
    tree = build_tree(placed)
    assert tree.by_name[lost].parent is tree.root
    assert set(tree.by_name) >= set(flat.ranges)


def test_no_difference_is_said_of_what_was_compared_only(tmp_path: Path, samples: Path) -> None:
    whole = samples / "statistics" / "bench"
    made = builder.build(whole, whole, tmp_path, BuildOptions(workers=1))
    assert beginning([], made.outcomes) == "no difference found"
    part = PairOutcome(0, 0, matched=12, compared=30, unmatched_problem=238)
    assert beginning([], [part]).endswith("12 pairs of nodes; 238 nodes have no partner")
