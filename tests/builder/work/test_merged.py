"""Which ranks are compared as one run, what is said where they are not, and the dry run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builder import BuildOptions, build, diagnose
from builder.dump.sources import find_sources
from builder.errors import InputError
from builder.ranks.joining.told import LayoutFile, read_layouts
from builder.ranks.layout.coordinates import Place, RunLayout, Sizes, ordered
from builder.ranks.merge_options import MergeOptions
from builder.reasons import sentence
from builder.run.dry_run import describe_merging
from builder.work.merge_plan import plan_comparison
from tests.told import facts

_ENTRY = "Module.down.Linear.forward.0"


def _tensor(shape: list[int], scale: float = 1.0) -> dict[str, Any]:
    numbers = {"Max": 2.0 * scale, "Min": -1.0 * scale, "Mean": 0.25 * scale, "Norm": 5.0 * scale}
    head = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": shape}
    return {**head, **numbers, "requires_grad": True}


def _run(root: Path, ranks: tuple[int, ...], size: int, recorded: bool = True) -> Path:
    """A dump of one linear layer whose weight is cut over the `size` tp ranks."""
    for rank in ranks:
        folder = root / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        weight = _tensor([8, 4 // size])
        weight["Norm"] = 5.0 / size**0.5
        entry = {
            "input_args": [_tensor([2, 8])],
            "input_kwargs": {},
            "parameters": {"weight": weight},
            "output": [_tensor([2, 8])],
        }
        dump: dict[str, Any] = {"task": "statistics", "level": "mix", "framework": "pytorch"}
        if recorded:
            axes = {"tp": {"rank": rank, "size": size, "ranks": list(range(size))}}
            dump["parallel"] = {"version": 1, "world_size": size, "rank": rank, "axes": axes}
        dump["data"] = {_ENTRY: entry}
        (folder / "dump.json").write_text(json.dumps(dump))
        (folder / "construct.json").write_text(json.dumps({_ENTRY: None}))
    return root


def _options(**merging: Any) -> BuildOptions:
    return BuildOptions(workers=1, merging=MergeOptions(**merging))


def test_recorded_layouts_are_merged_and_nothing_is_noted(tmp_path: Path) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1), 2), _run(tmp_path / "b", (0,), 1)
    plan = plan_comparison(find_sources(ours), find_sources(theirs), _options())
    assert [len(pair.problem_ranks) for pair in plan.pairs] == [2]
    assert plan.notes == ()


def test_a_missing_rank_leaves_pairs_of_ranks_and_a_note(tmp_path: Path) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1, 3), 4), _run(tmp_path / "b", (0,), 1)
    result = build(ours, theirs, tmp_path / "out", _options())
    (note,) = [reason for reason in result.summary if facts(reason)["code"] == "not_merged"]
    assert "rank 2 of 4 is missing" in sentence(note)
    assert [outcome.error for outcome in result.outcomes] == [None]
    with pytest.raises(InputError, match="rank 2 of 4 is missing"):
        build(ours, theirs, tmp_path / "out", _options(merge="require"))


@pytest.mark.parametrize("merge", ["auto", "off"])
def test_ranks_that_nobody_placed_are_compared_in_pairs(tmp_path: Path, merge: str) -> None:
    ours = _run(tmp_path / "p", (0, 1), 2, recorded=False)
    theirs = _run(tmp_path / "b", (0,), 1, recorded=False)
    plan = plan_comparison(find_sources(ours), find_sources(theirs), _options(merge=merge))
    noted = [sentence(reason) for reason in plan.notes]
    assert [len(pair.problem_ranks) for pair in plan.pairs] == [0]
    assert [("2 ranks against 1" in text) for text in noted] == [True] * (merge == "auto")


def test_a_dry_run_says_how_values_would_be_joined(tmp_path: Path) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1), 2), _run(tmp_path / "b", (0,), 1)
    said = list(describe_merging(ours, theirs, _options()))
    assert said[0] == "step 0: one logical run of 2 ranks against one of 1"
    assert "   rank 1: tp 1 of 2" in said
    assert "       1 tp: S(1) against whole" in said
    assert "       2 tp: R against whole" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "p"]


def test_a_dry_run_without_merging_lists_the_pairs(tmp_path: Path) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1), 2), _run(tmp_path / "b", (0,), 1)
    first, second = describe_merging(ours, theirs, _options(merge="off"))
    assert first.startswith("step 0 rank 0: ")
    assert second == "step 0 rank 1: only in the problem"


def test_an_order_over_cp_is_taken_over_unless_the_dump_says_another() -> None:
    layout = RunLayout({"cp": 2}, {0: Place(0, {"cp": 0}), 1: Place(1, {"cp": 1})})
    assert ordered(layout, "zigzag", "d").cp_order == "zigzag"
    assert ordered(layout, "auto", "d").cp_order is None
    recorded = replace(layout, cp_order="contiguous")
    with pytest.raises(InputError, match="--cp-order zigzag contradicts"):
        ordered(recorded, "zigzag", "d")


def test_sizes_that_contradict_the_dump_are_an_error(tmp_path: Path) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1), 2), _run(tmp_path / "b", (0,), 1)
    with pytest.raises(InputError, match="--tp 4 contradicts"):
        build(ours, theirs, tmp_path / "out", _options(problem=Sizes(tp=4)))


def _layouts(folder: Path, *lines: str) -> tuple[LayoutFile, ...]:
    path = folder / "layouts.txt"
    path.write_text("\n".join(lines))
    return (read_layouts(path),)


def test_a_told_layout_is_taken_stored_and_counted(tmp_path: Path) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1), 2), _run(tmp_path / "b", (0,), 1)
    layouts = _layouts(tmp_path, '"down.weight": "h ffn[tp]"', '"*.output.0": local')
    result = build(ours, theirs, tmp_path / "out", _options(layouts=layouts))
    assert [outcome.error for outcome in result.outcomes] == [None]
    assert result.outcomes[0].values["told"] == 1
    assert result.outcomes[0].set_aside == {"local, as the layout file says": 1}
    with closing(sqlite3.connect(result.path)) as connection:
        kept = connection.execute("SELECT kind, dim, trust FROM layout WHERE trust = 'told'")
        assert kept.fetchall() == [("S", 1, "told")]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('"up.weight": "h ffn[tp]"', r"layouts.txt:1: 'up.weight' matches no value"),
        ('"down.weight": "ffn[tp]"', r"layouts.txt:1: names 1 dimensions, and .* has 2"),
    ],
)
def test_a_rule_that_fits_no_value_is_an_error_with_its_line(
    tmp_path: Path, rule: str, said: str
) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1), 2), _run(tmp_path / "b", (0,), 1)
    with pytest.raises(InputError, match=said):
        list(describe_merging(ours, theirs, _options(layouts=_layouts(tmp_path, rule))))


def test_replicas_are_compared_one_by_one_where_wanted(tmp_path: Path) -> None:
    ours = _run(tmp_path / "p", (0, 1, 2, 3), 2, recorded=False)
    theirs = _run(tmp_path / "b", (0, 1), 1, recorded=False)
    sizes = {"problem": Sizes(rank_size=4, tp=2, pp=1), "benchmark": Sizes(rank_size=2, tp=1, pp=1)}
    options = _options(replicas="separate", **sizes)
    said = [line for line in describe_merging(ours, theirs, options) if line.startswith("step")]
    assert said == [
        f"step 0 replica {number}: one logical run of 2 ranks against one of 1" for number in (0, 1)
    ]
    result = build(ours, theirs, tmp_path / "out", options)
    assert [(outcome.error, outcome.rank) for outcome in result.outcomes] == [
        (None, 0),
        (None, 1),
    ]
    assert diagnose(result.path).findings == []
    with pytest.raises(InputError, match=r"has 2 data-parallel replicas and .* 1"):
        one = _run(tmp_path / "one", (0,), 1, recorded=False)
        build(
            ours,
            one,
            tmp_path / "out",
            replace(
                options, merging=replace(options.merging, benchmark=Sizes(rank_size=1, tp=1, pp=1))
            ),
        )


def test_what_a_parameter_says_of_itself_wins_over_its_numbers(tmp_path: Path) -> None:
    ours, theirs = _run(tmp_path / "p", (0, 1), 2), _run(tmp_path / "b", (0,), 1)
    for folder in (ours / "step0").iterdir():
        dump = json.loads((folder / "dump.json").read_text())
        dump["parallel"]["layouts"] = {"down.weight": {"tp": False}}
        dump["data"][_ENTRY]["parameters"]["weight"]["shape"] = [8, 4]
        (folder / "dump.json").write_text(json.dumps(dump))
    said = list(describe_merging(ours, theirs, _options()))
    assert "       3 tp: R against whole" in said
