"""The answer names what the diagnosis names, once a cause, and never says just "nothing"."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builder
from builder.dump.stack_frames import model_frame
from builder.finding_certainty import certainty_told
from builder.results.database import ResultDatabase
from builder.results.msprobe.queries import MsprobeDatabase
from builder.results.records import FindingPlace, Pair
from builder.results.report import diagnose
from tb_graph_ascend.view.answer import (
    LEAST_PLACES,
    MOST_PLACES,
    answer,
    fair_places,
    sent_places,
)
from tb_graph_ascend.view.rank_strip import rank_strip
from tb_graph_ascend.view.slide import slide


@pytest.fixture(scope="module")
def ranks(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultDatabase]:
    out = tmp_path_factory.mktemp("made")
    options = builder.BuildOptions(workers=1)
    made = builder.build(samples / "ranks/problem", samples / "ranks/bench", out, options)
    opened = ResultDatabase(made.path)
    yield opened
    opened.close()


def test_one_cause_on_many_ranks_is_one(ranks: ResultDatabase) -> None:
    said = answer(ranks)
    (cause,) = said.causes
    findings = ranks.findings().findings
    assert cause.finding == findings[0]
    assert cause.finding.node.name == diagnose(ranks.file).findings[0].node
    assert (cause.module, cause.call) == ("layers.1.mlp", 0)
    assert cause.ranks == [0, 1]
    named = sum(1 + len(finding.places) for finding in findings)
    assert cause.place_count == named == len(cause.places) > 1
    assert cause.nodes == [place.node for place in cause.places]
    assert {place.module for place in cause.places} == {"layers.1.mlp"}
    by_id = {node.id: node.name for node in ranks.nodes_by_id([p.node for p in cause.places])}
    assert all(by_id[place.node] == place.name for place in cause.places)
    frame = model_frame(cause.stack or [])
    assert frame is not None
    assert (frame.place, frame.code) == ("model_dump.py:44 in forward", "y = y * 1.7")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=30), st.integers(0, 30))
def test_every_step_and_rank_has_places_before_one_has_many(
    cells: list[tuple[int, int]], most: int
) -> None:
    places = [FindingPlace(*cell, at, "") for at, cell in enumerate(sorted(cells))]
    fair = fair_places(places, most)
    assert [place for place in places if place in fair] == fair
    assert len(fair) == min(most, len(places))
    left = [(place.step, place.rank) for place in places if place not in fair]
    counts = [sum((p.step, p.rank) == cell for p in fair) for cell in set(cells)]
    # Nobody has two places more than one of whom some are left out.
    short = [sum((p.step, p.rank) == cell for p in fair) for cell in set(left)]
    assert not short or max(counts) <= min(short) + 1


def test_the_first_causes_send_all_their_places_and_every_one_some() -> None:
    assert sent_places([1500, 5, 1500, 600, 40]) == [1500, 5, 495, 100, 40]
    assert sent_places([5000, 5000]) == [MOST_PLACES, LEAST_PLACES]


def test_nothing_divergent_says_what_was_and_was_not_compared(
    samples: Path, tmp_path: Path
) -> None:
    options = builder.BuildOptions(workers=1)
    both = samples / "renamed/problem", samples / "statistics/bench"
    opened = ResultDatabase(builder.build(*both, tmp_path, options).path)
    said = answer(opened)
    assert said.causes == []
    pairs = opened.summary().pairs
    assert (said.coverage.pairs, said.coverage.one_sided) == (1, len(pairs) - 1)
    assert said.coverage.matched == sum(pair.matched for pair in pairs) > 0
    assert said.coverage.unmatched_problem == sum(p.unmatched_problem for p in pairs) > 0
    drawn = slide(opened, said)
    assert not said.claim.is_clear
    assert "Not all that should be was compared" in drawn
    assert "steps and ranks of one run alone" in drawn
    opened.close()


def test_file_of_msprobe_has_an_answer_too(samples: Path) -> None:
    opened = MsprobeDatabase(samples / "vis-db" / "ranks.vis.db")
    said = answer(opened)
    assert said.causes[0].finding == opened.findings().findings[0]
    ElementTree.fromstring(slide(opened, said))
    opened.close()


def test_a_cause_has_the_line_of_both_runs(ranks: ResultDatabase) -> None:
    for cause in answer(ranks).causes:
        stack = ranks.details(cause.finding.node.id).stack
        assert cause.stack == (stack.problem or stack.benchmark)
        assert cause.stack_there == (stack.benchmark if stack.problem else None)


def test_slide_holds_both_sides_and_the_source(ranks: ResultDatabase) -> None:
    drawn = slide(ranks, answer(ranks))
    root = ElementTree.fromstring(drawn)
    assert (root.get("width"), root.get("height")) == ("1920", "1080")
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
    assert "It begins in layers.1.mlp" in texts
    assert "y = y * 1.7" in texts
    assert texts.count("fc2") == 2


def test_slide_speaks_chinese_and_says_which_runs_and_when(ranks: ResultDatabase) -> None:
    drawn = slide(ranks, answer(ranks), "zh", "只有问题侧执行的调用" * 20)
    texts = [e.text or "" for e in ElementTree.fromstring(drawn).iter() if e.text]
    assert "差异始于 layers.1.mlp" in texts
    assert "始于此处" in texts
    assert any(text.endswith("ranks/bench") for text in texts)
    assert any(text.startswith(f"比对于 {ranks.summary().created[:10]}") for text in texts)
    # Characters that take the room of two are counted as two: the line ends inside the picture.
    at = next(n for n, text in enumerate(texts) if text.startswith("__mul__ #0:"))
    first, second, sure = texts[at : at + 3]
    assert second.endswith("…")
    assert max(len(first), len(second)) < 60
    # However long that is, how sure it is stands there whole.
    assert sure == certainty_told(answer(ranks).causes[0].finding.certainty, "zh")


def pair(step: int, rank: int, worst: float | None, status: str = "ok") -> Pair:
    divergent = int(worst is not None and worst > 0.25)
    return Pair(step, rank, status, None, worst, divergent, 1, 0, 0)  # type: ignore[arg-type]


def test_thousand_ranks_are_a_few_rows_and_begin_at_the_onset() -> None:
    culprits = {17, 18, 40}
    pairs = [
        pair(step, rank, 0.9 + rank / 1e5 if rank in culprits and step >= 4 else rank / 1e6)
        for rank in range(1000)
        for step in range(10)
    ]
    strip = rank_strip(pairs, 0.25)
    assert strip.onset == 4
    assert [row.ranks for row in strip.rows] == [
        sorted(culprits),
        [rank for rank in range(1000) if rank not in culprits],
    ]
    assert [cell.look for cell in strip.rows[0].cells if cell] == ["agrees"] * 4 + ["high"] * 6
    assert strip.rows[0].cells[4].worst == 0.9 + 40 / 1e5  # type: ignore[union-attr]
    assert [(row.first, row.begins) for row in strip.rows] == [(4, None), (None, None)]


def test_the_rank_that_begins_first_stands_alone_and_first() -> None:
    pairs = [
        msgspec.structs.replace(pair(1, rank, 0.9), begins=0.58 if rank == 5 else 0.76)
        for rank in range(8)
    ]
    strip = rank_strip(pairs, 0.25)
    assert [(row.ranks, row.begins) for row in strip.rows] == [
        ([5], 0.58),
        ([0, 1, 2, 3, 4, 6, 7], 0.76),
    ]


PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(-1, 6)),
    st.tuples(
        st.none() | st.floats(0, 1), st.sampled_from(["ok", "ok", "ok", "failed", "missing"])
    ),
    max_size=30,
)


@given(PAIRS)
def test_every_pair_is_in_one_cell_that_looks_as_it_does_alone(
    drawn: dict[tuple[int, int], tuple[float | None, str]],
) -> None:
    pairs = [pair(*place, *facts) for place, facts in drawn.items()]
    strip = rank_strip(pairs, 0.25)
    assert sorted(r for row in strip.rows for r in row.ranks) == sorted({p.rank for p in pairs})
    for row in strip.rows:
        assert len(row.cells) == len(strip.steps)
        for rank in row.ranks:
            alone = rank_strip([p for p in pairs if p.rank == rank], 0.25)
            looks = {s: c.look if c else None for s, c in zip(alone.steps, alone.rows[0].cells)}
            assert [cell.look if cell else None for cell in row.cells] == [
                looks.get(step) for step in strip.steps
            ]
