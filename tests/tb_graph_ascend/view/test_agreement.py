"""Headline, strip, list, rows, slide and report say the same of a file, whatever it compares."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

import numpy as np
import pytest

import builder
from builder import BuildOptions
from builder.reasons import sentence
from builder.results.certainty import compared_pairs
from builder.results.followers.spread import DivergentShares, divergent_nodes, shares_of
from builder.results.followers.told_way import told_way
from builder.results.manual.patches import Patches
from builder.results.node_words import NOTHING
from builder.results.open_results import open_results
from builder.results.reading import Results
from builder.results.records import Finding, FlowLink, Pair
from tb_graph_ascend.view.answer import Answer, Cause, answer
from tb_graph_ascend.view.diff.index import DiffIndex, Wanted, diff_index
from tb_graph_ascend.view.diff.window import DiffRow, window_of, with_handed_on
from tb_graph_ascend.view.diff.words import WORDS
from tb_graph_ascend.view.html import html_report
from tb_graph_ascend.view.module_path import modules_of
from tb_graph_ascend.view.rank_strip import rank_strip
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.node_index import PairIndex, pair_index
from tb_graph_ascend.view.search.query import Bound, InState, Word
from tb_graph_ascend.view.slide import headline, slide
from tests.builder.results.followers.agreement import contradictions
from tests.tb_graph_ascend.view.ports import LAYERS, port
from tests.told import facts

LONE = 12  # nodes without partner of a pair that are looked at
# Problem and benchmark below the samples; PORT names the layers of the first anew.
PORT = "port"
CASES = [
    ("statistics/problem", "statistics/bench"),
    ("statistics/bench", "statistics/bench"),
    ("tensor/problem", "tensor/bench"),
    ("md5/problem", "md5/bench"),
    ("ranks/problem", "ranks/bench"),
    ("nan/problem", "statistics/bench"),
    ("renamed/problem", "statistics/bench"),
    ("extra-api/problem", "statistics/bench"),
    ("recompute/problem", "statistics/bench"),
    ("level-L0/problem", "level-L0/bench"),
    ("bert-names/problem", "bert-names/bench"),
    ("structure/bench", "statistics/bench"),
    (PORT, "statistics/bench"),
]


@pytest.fixture(params=CASES, ids=" with ".join)
def result(
    request: pytest.FixtureRequest, samples: Path, tmp_path: Path, built: Callable[..., Path]
) -> Path:
    """The result file of a case."""
    problem, benchmark = request.param
    if problem != PORT:
        return built(problem, benchmark)
    ported = port(samples / "statistics" / "problem", tmp_path / "ported", LAYERS)
    out = tmp_path / "out"
    return builder.build(
        ported, samples / benchmark, out, BuildOptions(workers=1, same="program")
    ).path


def test_no_part_contradicts_another(result: Path) -> None:
    database = open_results(result)
    try:
        said = answer(database)
        rows = {(p.step, p.rank): diff_index(database, p.step, p.rank) for p in _compared(database)}
        _headline_and_rows(said, rows)
        _list_and_rows(database, rows)
        _led_back(database, said, rows)
        _carried_and_counted(rows)
        _scores_of_causes(database, said, rows)
        _scores_without_partner(database, said, rows)
        _strip_and_headline(database, said)
        _slide_and_report(database, said, html_report(result))
    finally:
        database.close()
    assert contradictions(result) == []


def _compared(database: Results) -> list[Pair]:
    return compared_pairs(database)


def _headline_and_rows(said: Answer, rows: dict[tuple[int, int], DiffIndex]) -> None:
    """A row says that it begins there exactly where the answer names it."""
    begins = {
        (step, rank, int(index.rows.key[row]))
        for (step, rank), index in rows.items()
        for row in np.flatnonzero(index.words.cause).tolist()
    }
    named = {(place.step, place.rank, place.node) for c in said.causes for place in c.places}
    assert begins == named
    assert said.certain or not said.causes
    words = {WORDS[word] for index in rows.values() for word in index.words.word.tolist()}
    differs = {"begins", "carries", "differs"} & words
    if said.divergent == 0 and not said.causes:
        assert not differs
    if said.divergent:
        assert differs
    worst = [np.nanmax(i.words.score, initial=-1.0) for i in rows.values()]
    assert max(worst, default=-1.0) == pytest.approx(-1.0 if said.worst is None else said.worst)


def _carried_and_counted(rows: dict[tuple[int, int], DiffIndex]) -> None:
    """Of what differs those rows carry it on that are counted with a cause, and no others."""
    for index in rows.values():
        words, shares = index.words, shares_of(index.followers)
        counted = shares.divergent - shares.others
        traced = words.divergent & (index.followers.followers.cause != NOTHING)
        assert counted == int(traced.sum())
        said = np.array(WORDS)[words.word]
        leaves = words.divergent & (words.divergent_below == 0)
        assert set(said[leaves & traced]) <= {"carries", "begins", "heals"}
        assert set(said[leaves & ~traced]) <= {"differs"}


def _list_and_rows(database: Results, rows: dict[tuple[int, int], DiffIndex]) -> None:
    """The counts beside the legend and in the lists are those of the rows."""
    for pair in _compared(database):
        words = rows[pair.step, pair.rank].words
        assert pair.divergent == int(words.divergent.sum())
        assert pair.unmatched_problem + pair.unmatched_benchmark == int(words.alone.sum())
        listed = pair_index(database, pair.step, pair.rank)
        every, _ = listed.query((), NodeFilter(), Patches(), database.threshold)
        assert len(every) == pair.matched + pair.unmatched_problem + pair.unmatched_benchmark
        _in_one_order(database, listed, rows[pair.step, pair.rank])
        _listed_by_module(database, listed)


def _in_one_order(database: Results, listed: PairIndex, index: DiffIndex) -> None:
    """Lists in order of execution stand as the rows do, what either run makes alone as well."""
    for terms in ((), (InState("unmatched"),), (InState("divergent"),)):
        for descending in (False, True):
            wanted = NodeFilter(descending=descending)
            found, keys = listed.query(terms, wanted, Patches(), database.threshold)
            assert (np.diff(index.rows.rows_of(found)) * (-1 if descending else 1) > 0).all()
            assert (np.diff(keys) > 0).all()


def _listed_by_module(database: Results, listed: PairIndex) -> None:
    """A word that no name has, and that the list prints as the module of nodes, finds them."""
    every, _ = listed.query((), NodeFilter(), Patches(), database.threshold)
    nodes = database.nodes_by_id(every.tolist())
    shown = modules_of(database, nodes)
    for word in {path.rpartition(".")[2] for path in shown.values()}:
        found, _ = listed.query((Word(word),), NodeFilter(), Patches(), database.threshold)
        assert len(found)
        if not any(word.lower() in node.name.lower() for node in nodes):
            assert set(found.tolist()) == {id_ for id_, path in shown.items() if word in path}


def _led_back(database: Results, said: Answer, rows: dict[tuple[int, int], DiffIndex]) -> None:
    """The divergent nodes beside the legend are those of the causes there and those of none.

    A node that goes back to a cause has a way that leads there.
    """
    for pair in _compared(database):
        index = rows[pair.step, pair.rank]
        led = index.followers
        shares = shares_of(led)
        places = [place for cause in said.causes for place in cause.places]
        here = {p.node for p in places if (p.step, p.rank) == (pair.step, pair.rank)}
        assert {share.node for share in shares.causes} == here
        assert shares.divergent == pair.divergent
        assert (
            sum(share.count for share in shares.causes)
            + shares.perhaps
            + shares.others
            + shares.earlier
            == pair.divergent
        )
        listed = [divergent_nodes(led, [share.node]).tolist() for share in shares.causes]
        others = divergent_nodes(led, None).tolist()
        assert [len(nodes) for nodes in listed] == [share.count for share in shares.causes]
        assert len(others) == shares.others
        earlier = divergent_nodes(led, None, earlier=True).tolist()
        assert len(earlier) == shares.earlier
        perhaps = divergent_nodes(led, None, perhaps=True).tolist()
        assert len(perhaps) == shares.perhaps
        divergent = index.rows.key[index.words.divergent].tolist()
        assert sorted(sum(listed, others + earlier + perhaps)) == sorted(divergent)
        every = divergent_nodes(led, [share.node for share in shares.causes]).tolist()
        assert sorted(every) == sorted(node for nodes in listed for node in nodes)
        _came_in(database, shares, pair)
        for kind, nodes in (
            *((["here"], nodes) for nodes in listed),
            (["perhaps"], perhaps),
            (["earlier", "earlier perhaps"], earlier),
            (["none"], others),
        ):
            for node in nodes[::13]:
                assert _way_of(database, rows, node) in kind
            for node in nodes[::97]:
                _only_the_way(index, node)


def _way_of(database: Results, rows: dict[tuple[int, int], DiffIndex], node: int) -> str:
    """Where the way of a node leads, by its own words."""
    way = told_way(database, lambda step, rank: rows[step, rank].followers, node)
    back = any(hop.step is not None for hop in way.hops)
    guessed = any(hop.link == "guess" for hop in way.hops if hop.step is None)
    if back:
        return "earlier perhaps" if guessed else "earlier"
    if way.finding is None:
        return "none"
    return "perhaps" if guessed else "here"


def _only_the_way(index: DiffIndex, node: int) -> None:
    """Only the way shows the steps of the way, whatever cause is asked for."""
    row = index.followers.row_of(node)
    if index.followers.followers.cause[row] == NOTHING:
        return
    steps = [step.row for step in index.followers.steps_back(row)]
    whole = f"{index.rows.key[0]}a"
    shown = set(index.listed(Wanted(whole, (), (node, node))).visible.row.tolist())
    folded = set(index.runs.member.tolist())
    assert {one for one in (row, *steps) if not folded & {one, *index.above(one)}} <= shown


def _came_in(database: Results, shares: DivergentShares, pair: Pair) -> None:
    """What a rank got from another its own part does not explain, and that one's does."""
    if shares.came is None:
        return
    here, there = database.node(shares.came.node), database.node(shares.came.peer_node)
    assert here.score is not None and here.score > database.threshold
    assert (here.input_score or 0.0) <= database.threshold
    assert there.input_score is not None and there.input_score > database.threshold
    assert shares.came.before < pair.divergent


def _scores_of_causes(
    database: Results, said: Answer, rows: dict[tuple[int, int], DiffIndex]
) -> None:
    """A cause has one score: that of its card is that of its row, with a partner or without."""
    for cause in said.causes:
        finding = cause.finding
        index = rows[finding.step, finding.rank]
        window = window_of(index, Wanted(), 0, 1, finding.node.id)
        assert window.found is not None
        row = window_of(index, Wanted(window.opened), window.found, 1, None).rows[0]
        assert row.word == "begins"
        shown = None if finding.score is None else pytest.approx(finding.score, abs=1e-6)
        assert row.score == shown
        _one_number_for_one_fact(database, finding)


def _scores_without_partner(
    database: Results, said: Answer, rows: dict[tuple[int, int], DiffIndex]
) -> None:
    """What a call of one run alone hands on has one score: in its values, row, title and steps.

    A query by score finds it by that, sorts it so, and calls it divergent by no score.
    """
    causes = {cause.finding.node.id: cause.finding.score for cause in said.causes}
    for (step, rank), index in rows.items():
        listed = pair_index(database, step, rank)
        _divergent_is_matched(database, listed, index)
        for node in index.rows.key[index.words.alone].tolist()[:LONE]:
            links = [link for link in database.flow(node).consumers if link.node.match is not None]
            told = [_score_read(database, link) for link in links]
            worst = max((score for score in told if score is not None), default=None)
            handed = database.details(node).handed_on
            title = None if handed is None else handed.score
            assert title == worst
            assert handed is None or handed.value in {link.value for link in links}
            cells = {(one.step, one.rank): one for one in database.across(node).cells}
            assert cells[step, rank].handed_on == worst
            if node in causes and worst is not None:
                assert causes[node] == worst
            found = window_of(index, Wanted(), 0, 1, node)
            assert found.found is not None
            window = window_of(index, Wanted(found.opened), found.found, 1, None)
            if window.rows[0].fold == 0:
                shown = with_handed_on(window, database).rows[0].score
                own = causes.get(node) if worst is None else worst
                assert shown == (None if own is None else pytest.approx(own, abs=1e-6))
                _found_by_score(database, listed, node, own)


def _divergent_is_matched(database: Results, listed: PairIndex, index: DiffIndex) -> None:
    """The query `divergent` lists what the header counts, in whatever order."""
    divergent = set(index.rows.key[index.words.divergent].tolist())
    for sort in ("order", "score"):
        wanted = NodeFilter(sort=sort)  # type: ignore[arg-type]
        found, _ = listed.query((InState("divergent"),), wanted, Patches(), database.threshold)
        assert set(found.tolist()) == divergent


def _found_by_score(database: Results, listed: PairIndex, node: int, score: float | None) -> None:
    """A node is found by the score that its row shows, and by none where it shows none."""
    every, keys = listed.query((), NodeFilter(sort="score"), Patches(), database.threshold)
    key = keys[every.tolist().index(node)]
    assert key == (np.inf if score is None else score)
    for operator in (">=", "<="):
        bound = Bound("score", operator, 0.0 if score is None else score)  # type: ignore[arg-type]
        found, _ = listed.query((bound,), NodeFilter(), Patches(), database.threshold)
        assert (node in found.tolist()) == (score is not None)


def _score_read(database: Results, link: FlowLink) -> float | None:
    """The score of a value among those of its reader."""
    sides = (
        (value.score, one.id)
        for value in database.details(link.node.id).values
        for one in (value.problem, value.benchmark)
        if one is not None
    )
    return next((score for score, id_ in sides if id_ == link.value), None)


def _one_number_for_one_fact(database: Results, finding: Finding) -> None:
    """What a card says of a value is what the table has: how far it is off, and by what told.

    What begins somewhere introduces something there, and only of estimates one says "about".
    """
    if finding.score is not None and finding.score > 0:
        assert finding.introduced is not None and finding.introduced > 0
        if finding.node.score:
            assert finding.node.introduced is not None and finding.node.introduced > 0
    table = {
        ".".join(part for part in (value.role, value.path) if part): value
        for value in database.details(finding.node.id).values
    }
    codes = {facts(reason)["code"] for reason in finding.reasons}
    # Who makes NaN of finite inputs names no other maker of the first one.
    assert not {"nonfinite_made", "nonfinite_follows"} <= codes
    for reason in finding.reasons:
        value = table.get(str(facts(reason).get("value")))
        number = facts(reason).get("apart", facts(reason).get("error"))
        if value is None or "at" in facts(reason) or not isinstance(number, float):
            continue
        assert value.error == pytest.approx(number)
        assert ("about" in sentence(reason)) == (value.error_of == "sketch")
        agree = "four statistics agree" in sentence(reason)
        four = [value.problem and getattr(value.problem, n) for n in ("max", "min", "mean", "norm")]
        assert not agree or all(isinstance(one, float) for one in four)
    assert len({facts(r)["value"] for r in finding.reasons if facts(r)["code"] == "explained"}) <= 1


def _strip_and_headline(database: Results, said: Answer) -> None:
    """The strip is red where something diverges, and begins no later than the answer does."""
    pairs = database.summary().pairs
    strip = rank_strip(pairs, database.threshold)
    looks = {cell.look for row in strip.rows for cell in row.cells if cell is not None}
    assert bool(looks & {"low", "middle", "high"}) == (said.divergent > 0)
    assert (strip.onset is None) == (said.divergent == 0)
    cells = [cell for row in strip.rows for cell in row.cells if cell is not None]
    assert sum(cell.divergent for cell in cells) == said.divergent
    if strip.onset is not None and said.causes:
        assert min(cause.first_step for cause in said.causes) <= strip.onset


def _slide_and_report(database: Results, said: Answer, report: str) -> None:
    """The picture and the report name what the answer names, and nothing where it names nothing."""
    drawn = slide(database, said)
    assert ("It begins" in drawn) == bool(said.causes)
    assert ("BEGINS" in drawn) <= bool(said.causes)
    assert ("<article>" in report) == bool(said.causes)
    for cause in said.causes[:4]:
        _slide_of(database, said, cause)
    if not said.causes:
        assert headline(said, "en") in drawn
        assert ("No difference" in drawn) == ("No difference" in report)
        assert ("No difference" in drawn) <= (said.divergent == 0 and said.certain)
        assert said.claim.is_clear <= (said.extent is not None and said.coverage.is_whole)


def _slide_of(database: Results, said: Answer, cause: Cause) -> None:
    """The picture of any cause is of its own call, and shares out what the page does."""
    drawn = slide(database, said, reason="its own words", cause=cause)
    finding = cause.finding
    call = f" #{cause.call}" if finding.node.kind == "api" and cause.call is not None else ""
    back = " ↩ backward" if finding.node.direction == "backward" else ""
    assert f"{escape(finding.node.label + call + back)}: its own words" in drawn
    assert f"step {finding.step} · rank {finding.rank}" in drawn
    index = diff_index(database, finding.step, finding.rank)
    share = shares_of(index.followers)
    count = sum(one.count for one in share.causes if one.node in cause.nodes)
    if share.divergent:
        told = f"{count} of {share.divergent} divergent", f"all {count} divergent"
        assert told[count == share.divergent > 1] in drawn
    for row in window_rows(database, index, finding.node.id):
        assert row.score is None or f">{row.score:.2f}</text>" in drawn


def window_rows(database: Results, index: DiffIndex, node: int) -> list[DiffRow]:
    """The rows of the page next to a node."""
    page = window_of(index, Wanted("", (node,), None), 0, 100, node)
    rows = with_handed_on(page, database).rows
    at = next(place for place, row in enumerate(rows) if row.key == node)
    return rows[at : at + 2]
