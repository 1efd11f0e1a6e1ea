"""Which pairs are planned, and which mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.sources import SourceSet, find_sources
from builder.errors import DumpError, InputError
from builder.work.plan import plan_pairs, plan_single


def dump(root: Path, *places: str) -> SourceSet:
    for place in places:
        (root / place).mkdir(parents=True)
        (root / place / "dump.json").write_text("{}")
    return find_sources(root)


def test_steps_and_ranks_pair_as_numbers(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p", "step10/rank0", "step2/rank0", "step2/rank11", "step2/rank3")
    theirs = dump(tmp_path / "b", "step2/rank3", "step2/rank0", "step10/rank0", "step3/rank0")
    plan = plan_pairs(ours, theirs, {}, {})
    assert [(p.step, p.rank) for p in plan.pairs] == [(2, 0), (2, 3), (10, 0)]
    assert [(m.step, m.rank, m.side) for m in plan.missing] == [
        (2, 11, "problem"),
        (3, 0, "benchmark"),
    ]


def test_processes_without_rank_pair_by_their_order(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p", "step0/proc9", "step0/proc100")
    theirs = dump(tmp_path / "b", "step0/proc71", "step0/proc72")
    plan = plan_pairs(ours, theirs, {}, {})
    assert [(p.rank, p.problem.name) for p in plan.pairs] == [(0, "proc9"), (1, "proc100")]


def test_helper_processes_beside_ranks_take_no_ranks_number(tmp_path: Path) -> None:
    found = dump(tmp_path, "step0/rank0", "step0/proc5")
    assert [source.rank for source in plan_single(found).pairs] == [-1, 0]


def test_a_bare_rank_folder_and_odd_neighbours(tmp_path: Path) -> None:
    found = dump(tmp_path, "step0/rank", "stepx/rank0", "step1/ranks")
    assert [(s.step, s.rank) for s in found.sources] == [(0, 0)]


@pytest.mark.parametrize(
    "places",
    [
        ["step0/rank", "step0/rank0"],
        ["step1/rank0", "step01/rank0"],
        ["step0/rank0", "step0/rank00", "step0/rank"],
        ["step0/rank7", "step0/rank07", "step0/rank007", "step0/rank8"],
        ["step2/rank1", "step02/rank1", "step2/rank01", "step002/rank1"],
    ],
)
def test_folders_of_one_number_pair_by_their_names(tmp_path: Path, places: list[str]) -> None:
    sides = dump(tmp_path / "p", *places), dump(tmp_path / "b", *reversed(places))
    plan = plan_pairs(*sides, {}, {})
    assert plan.missing == ()
    pairs = [(p.problem, p.benchmark) for p in plan.pairs]
    assert len(pairs) == len(places)
    for ours, theirs in pairs:
        assert theirs is not None
        assert ours.relative_to(tmp_path / "p") == theirs.relative_to(tmp_path / "b")


@pytest.mark.parametrize("lone", ["step0/rank", "step0/rank00", "step00/rank0"])
def test_a_second_folder_of_a_number_in_one_run_is_missing_in_the_other(
    tmp_path: Path, lone: str
) -> None:
    ours = dump(tmp_path / "p", "step0/rank0", lone)
    plan = plan_pairs(ours, dump(tmp_path / "b", "step0/rank0"), {}, {})
    assert [p.problem for p in plan.pairs] == [tmp_path / "p" / "step0" / "rank0"]
    assert [missing.side for missing in plan.missing] == ["problem"]


def test_maps_pair_other_numbers(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p", "step0/rank0", "step0/rank1")
    theirs = dump(tmp_path / "b", "step5/rank4", "step5/rank5")
    plan = plan_pairs(ours, theirs, {0: 4, 1: 5}, {0: 5})
    assert [(p.rank, p.benchmark.name) for p in plan.pairs if p.benchmark] == [
        (0, "rank4"),
        (1, "rank5"),
    ]


def test_maps_may_name_the_numbers_of_two_single_folders(tmp_path: Path) -> None:
    dump(tmp_path / "p", "step1/rank0")
    dump(tmp_path / "b", "step3/rank4")
    ours, theirs = tmp_path / "p" / "step1", tmp_path / "b" / "step3"
    by_rank = plan_pairs(find_sources(ours / "rank0"), find_sources(theirs / "rank4"), {0: 4}, {})
    by_step = plan_pairs(find_sources(ours), find_sources(theirs), {0: 4}, {1: 3})
    for plan in (by_rank, by_step):
        assert [(p.step, p.rank, p.benchmark) for p in plan.pairs] == [(1, 0, theirs / "rank4")]
        assert plan.missing == ()


@pytest.mark.parametrize(
    ("ranks", "steps", "message"),
    [
        ({7: 0}, {}, r"--rank-map 7:0: .* has no rank 7"),
        ({0: 7}, {}, r"--rank-map 0:7: .* has no rank 7"),
        ({0: 0, 1: 0}, {}, "two ranks of the problem"),
        ({}, {0: 9}, r"--step-map 0:9: .* has no step 9"),
    ],
)
def test_a_map_that_leads_nowhere_is_named(
    tmp_path: Path, ranks: dict[int, int], steps: dict[int, int], message: str
) -> None:
    ours = dump(tmp_path / "p", "step0/rank0", "step0/rank1")
    theirs = dump(tmp_path / "b", "step0/rank0", "step0/rank1")
    with pytest.raises(InputError, match=message):
        plan_pairs(ours, theirs, ranks, steps)


def test_sides_of_different_granularity_are_refused(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p", "step0/rank0")
    theirs = find_sources(dump(tmp_path / "b", "step0/rank0").path / "step0")
    with pytest.raises(InputError, match="give both at the same level"):
        plan_pairs(ours, theirs, {}, {})


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p", "step0/rank0")
    theirs = dump(tmp_path / "b", "step1/rank0")
    with pytest.raises(InputError, match=r"no step and rank in common .* --step-map"):
        plan_pairs(ours, theirs, {}, {})


def test_two_single_ranks_pair_whatever_their_numbers(tmp_path: Path) -> None:
    ours = find_sources(dump(tmp_path / "p", "step0/rank0").path / "step0" / "rank0")
    theirs = find_sources(dump(tmp_path / "b", "step3/rank4").path / "step3" / "rank4")
    assert len(plan_pairs(ours, theirs, {}, {}).pairs) == 1


@pytest.mark.parametrize("place", ["none", "file", "empty"])
def test_a_path_without_a_dump_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DumpError, match=place):
        find_sources(tmp_path / place)
