"""Expressions that anybody may send end soon and take little memory, whatever they are."""

from __future__ import annotations

import re
import resource
import sys

import pytest

from builder.errors import ExpressionError
from tb_graph_ascend.view.search import expressions
from tb_graph_ascend.view.search.expressions import LineExpression
from tb_graph_ascend.view.search.names import NameIndex

NAMES = [
    *(f"Module.layers.{i}.attention.Column\u00e9ParallelLinear.forward.{i}" for i in range(300)),
    "a" * 70 + "b",
    "\u4e2d\u6587.forward.0",
    "x" * 10_000,
]
# A member of each kind was held back until the limits stood: those marked so.
TOO_LARGE = [
    "(?:a{3000}){3000}",
    r"(?:\w{9999}){2000}",
    "(?:(?:a{100}){100}){100}",
    r"\pL{1000}",
    "|".join(rf"\pL{{{i}}}" for i in range(2, 120)),
    r"(?:[\pL\pN]{31}){31}",  # held back
    "(?:\u00e9{990}|[\u0400-\u04ff\u4e00-\u9fff]{990}){1,1}" * 20,  # held back
    "(" * 950 + "a{2}" + "){2}" * 10 + ")" * 940,  # held back
]
BACKTRACKING = [
    (r"(a|aa|aaa)+$", False),
    (r"(?:" + r"(?:\w|\.){0,30}" * 4 + "#)", False),
    ("a?" * 60 + "a" * 60, True),
    ("((((a*)*)*)*)*C", True),  # `attention.Column`
    (r"(.*)*(.*)*(.*)*#", False),  # held back
    (r"(?:.*a){20}b$", True),  # held back
    (r"(?:[\x{0}-\x{10ffff}]{2}){400}$", True),  # held back
]


@pytest.mark.parametrize("pattern", TOO_LARGE, ids=lambda pattern: pattern[:30])
@pytest.mark.parametrize("case", [True, False])
def test_automaton_without_bounds_is_refused(pattern: str, case: bool) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ExpressionError, match="too large") as caught:
        LineExpression(pattern, case=case)
    assert caught.value.reason is not None
    assert caught.value.reason["code"] == "too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


@pytest.mark.parametrize(("pattern", "found"), BACKTRACKING, ids=lambda value: str(value)[:30])
def test_expression_that_backtracks_comes_to_an_end(pattern: str, found: bool) -> None:
    index = NameIndex(NAMES)
    assert bool(index.matching(pattern, case=True).any()) is found


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("a(", "no_expression"),
        ("a)(b", "no_expression"),
        ("[z-a]", "no_expression"),
        ("(?=a)", "unsupported"),
        ("(?<!a)b", "unsupported"),
        (r"(a)\1", "unsupported"),
        ("a++", "unsupported"),
        (r"(?P<n>a)(?P=n)", "unsupported"),
    ],
)
def test_refusal_says_what_is_wrong(pattern: str, code: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        LineExpression(pattern, case=True)
    assert caught.value.reason is not None
    assert (caught.value.reason["code"], caught.value.reason["pattern"]) == (code, pattern)


def test_pieces_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    index = NameIndex(NAMES)
    for pattern in ("forward", "^x+$", "", "3$|^a", r"\.1\d*\.", "[^.]"):
        whole = index.matching(pattern, case=False).tolist()
        assert whole == [re.search(pattern, name, re.IGNORECASE) is not None for name in NAMES]
        for work in (200_000, 1_000):
            monkeypatch.setattr(expressions, "_WORK_AT_ONCE", work)
            monkeypatch.setattr(LineExpression, "_most_in_one_line", lambda _: 1 << 20)
            assert index.matching(pattern, case=False).tolist() == whole


def test_one_name_that_is_too_long_and_a_deadline_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    index = NameIndex(["short", "y" * 100_000])
    monkeypatch.setattr(expressions, "_WORK_AT_ONCE", 1_000)
    with pytest.raises(ExpressionError, match="takes too long"):
        index.matching("y", case=True)
    monkeypatch.undo()
    monkeypatch.setattr(expressions, "LONGEST_SECONDS", -1.0)
    with pytest.raises(ExpressionError, match="takes too long") as caught:
        index.matching("z", case=True)
    assert caught.value.reason == {"code": "too_slow", "pattern": "z"}


def test_without_the_engine_words_are_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    index = NameIndex(["linear"])
    assert index.containing("lin", case=True).tolist() == [True]
    with pytest.raises(ExpressionError, match="pip install google-re2"):
        index.matching("lin", case=True)


def test_no_names_are_no_lines() -> None:
    assert NameIndex([]).matching("a", case=True).tolist() == []
