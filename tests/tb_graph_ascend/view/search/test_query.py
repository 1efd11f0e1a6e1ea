"""The query language: what is written is what is asked, and what fits is what one would pick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builder
from builder.errors import ExpressionError
from builder.results.database import ResultDatabase
from builder.results.manual.patches import NodePatch, Patches
from builder.results.records import Node
from tb_graph_ascend.view.search.names import NameIndex
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.node_index import pair_index
from tb_graph_ascend.view.search.query import (
    FIELDS,
    Bound,
    Expression,
    Field,
    InState,
    Term,
    Word,
    parse_query,
)

PLAIN = st.text("abcdefgh_.0123456789", min_size=1, max_size=12).filter(
    lambda word: word not in ("forward", "backward", "matched", "unmatched", "divergent")
)
NEGATED = st.booleans()
STATES = st.sampled_from(["forward", "backward", "unmatched", "divergent"])
TERMS = (
    st.builds(Word, PLAIN, NEGATED)
    | st.builds(Expression, st.text("ab[]/.*+", min_size=1), NEGATED)
    | st.builds(
        Bound,
        st.sampled_from(["score", "input", "introduced"]),
        st.sampled_from(["<", "<=", ">", ">=", "="]),
        st.floats(-1, 2).map(lambda number: round(number, 3)),
        NEGATED,
    )
    | st.sampled_from(sorted(FIELDS)).flatmap(
        lambda name: st.builds(Field, st.just(name), st.sampled_from(FIELDS[name]), NEGATED)
    )
    | st.builds(
        InState, st.sampled_from(["forward", "backward", "unmatched", "divergent"]), NEGATED
    )
)


def written(term: Term) -> str:
    sign = "-" if term.negated else ""
    match term:
        case Word(text):
            return sign + text
        case Expression(pattern):
            return sign + "/" + pattern.replace("/", r"\/") + "/"
        case Bound(column, operator, number):
            return f"{sign}{column}{operator}{number}"
        case Field(name, value):
            return f"{sign}{name}:{value}"
        case InState(state):
            return sign + state


@given(st.lists(TERMS, max_size=6))
def test_what_is_written_is_read(terms: list[Term]) -> None:
    assert parse_query("  ".join(map(written, terms))) == tuple(terms)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        parse_query(text)
    except ExpressionError as error:
        assert ";" in str(error)


def test_quotes_keep_words_together() -> None:
    assert parse_query('"a b" -"c d"') == (Word("a b"), Word("c d", negated=True))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("score>high", "no_number"),
        ("score>nan", "no_number"),
        ("side:left", "no_choice"),
        ("verdict:", "no_choice"),
        ("colour:red", "no_field"),
    ],
)
def test_wrong_term_is_named_with_what_would_do(text: str, code: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_query(f"softmax {text}")
    assert text.split(">")[0].split(":")[0] in str(caught.value)
    assert caught.value.reason is not None
    assert caught.value.reason["code"] == code


@pytest.fixture(scope="module")
def database(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultDatabase]:
    options = builder.BuildOptions(workers=1, overflow_check=True)
    out = tmp_path_factory.mktemp("made")
    made = builder.build(samples / "renamed/problem", samples / "statistics/bench", out, options)
    opened = ResultDatabase(made.path)
    yield opened
    opened.close()


def test_blanks_around_an_operator_change_nothing() -> None:
    assert parse_query("score > 0.5 backward") == parse_query("score>0.5 backward")
    assert parse_query("score") == (Word("score"),)


def test_manual_pairs_are_seen_as_long_as_they_last(database: ResultDatabase) -> None:
    index = pair_index(database, 0, 0)
    ours, theirs = (asked(database, f"side:{side} unmatched")[0] for side in FIELDS["side"])
    patch = NodePatch(theirs.id, "manual", 0.75, 0.5, 0.25, None, None, 0)
    mapped = Patches({ours.id: patch, theirs.id: replace(patch, match=ours.id)})

    def found(patches: Patches) -> list[int]:
        terms = parse_query("score=0.75 input=0.5 introduced=0.25 matched")
        return index.query(terms, NodeFilter(), patches, 0.1)[0].tolist()

    assert [found(patches) for patches in (mapped, mapped, Patches())] == [[ours.id], [ours.id], []]
    other = Patches({ours.id: replace(patch, score=0.5)})
    assert (found(other), found(mapped)) == ([], [ours.id])


def asked(database: ResultDatabase, text: str, **order: object) -> list[Node]:
    index = pair_index(database, 0, 0)
    wanted = NodeFilter(**order)  # type: ignore[arg-type]
    ids, _ = index.query(parse_query(text), wanted, Patches(), database.threshold)
    return database.nodes_by_id(ids.tolist())


def test_matched_pair_is_one_hit_under_either_name(database: ResultDatabase) -> None:
    everything = asked(database, "")
    matched = [node for node in everything if node.match is not None]
    assert matched
    assert {node.side for node in matched} == {"problem"}
    for text in ("linear", "fc1", "Linear -forward"):
        ids = [node.id for node in asked(database, text)]
        assert len(ids) == len(set(ids))
    ours = asked(database, "side:problem unmatched")
    theirs = asked(database, "side:benchmark unmatched")
    assert {n.side for n in ours} == {"problem"}
    assert {n.side for n in theirs} == {"benchmark"}
    assert len(asked(database, "unmatched")) == len(ours) + len(theirs) > 0


def test_every_term_holds(database: ResultDatabase) -> None:
    found = asked(database, "linear score>=0 forward kind:api verdict:pass -unmatched")
    assert found
    for node in found:
        assert "linear" in node.name.lower()
        assert (node.direction, node.kind, node.verdict) == ("forward", "api", "pass")
        assert node.score is not None
    everything = {node.id for node in asked(database, "")}
    some = {node.id for node in asked(database, "/layers\\.[01]/")}
    others = {node.id for node in asked(database, "-/layers\\.[01]/")}
    assert some
    assert some | others == everything
    assert not some & others


def test_order_is_that_of_the_list(database: ResultDatabase) -> None:
    scores = [n.score for n in asked(database, "matched", sort="score", descending=True)]
    known = [score for score in scores if score is not None]
    assert known == sorted(known, reverse=True)
    assert scores[: len(known)] == known


def test_wrong_expression_is_refused(database: ResultDatabase) -> None:
    with pytest.raises(ExpressionError, match="no regular expression"):
        asked(database, "/(/")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("linear #7", ["Functional.linear.7.forward"]),
        ('"linear #7"', ["Functional.linear.7.forward"]),
        (
            "#7",
            ["Functional.linear.7.forward", "Tensor.add.7.backward", "Module.0.Linear.forward.7"],
        ),
        ("add -#7", ["Tensor.add.71.backward"]),
        ('"lin #7"', []),
        ('"Tensor. #7"', ["Tensor.add.7.backward"]),
        ('"层 #7"', ["Module.层.Linear.forward.7"]),
    ],
)
def test_a_call_is_found_by_what_its_row_says(query: str, found: list[str]) -> None:
    names = [
        "Functional.linear.7.forward",
        "Tensor.add.7.backward",
        "Tensor.add.71.backward",
        "Module.0.Linear.forward.7",
        *(["Module.层.Linear.forward.7", "Module.层次.Linear.forward.7"] if "层" in query else []),
    ]

    def fits(term: Term, name: str) -> bool:
        if isinstance(term, Word):
            return (term.text in name) is not term.negated
        assert isinstance(term, Expression)
        hit = bool(NameIndex([name]).matching(term.pattern, case=True)[0])
        return hit is not term.negated

    terms = parse_query(query)
    assert [name for name in names if all(fits(term, name) for term in terms)] == found
