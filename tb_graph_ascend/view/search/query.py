"""The query language of the nodes table: words, expressions, bounds and states, all of which hold.

`softmax score>0.5 backward` · `/fc[12]/` · `"two words"` · `side:problem unmatched` ·
`kind:api verdict:error` · `overflow:high` · `-linear` for what shall not hold. Calls are
found by what their rows say, too: `linear #7` is recorded as `Functional.linear.7.forward`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from builder.errors import ExpressionError

NumberColumn = Literal["score", "input", "introduced"]
Operator = Literal["<", "<=", ">", ">=", "="]
State = Literal["forward", "backward", "matched", "unmatched", "divergent", "overflow"]

FIELDS: dict[str, tuple[str, ...]] = {
    "side": ("problem", "benchmark"),
    "kind": ("module", "api", "root", "collection"),
    "direction": ("forward", "backward"),
    "verdict": ("pass", "warning", "error"),
    "overflow": ("medium", "high", "critical"),
}
_STATES: tuple[State, ...] = get_args(State)
_TERM = re.compile(
    r"""\s*(?P<negated>-?)
    (?: /(?P<expression>(?:\\.|[^/\\])+)/(?=\s|$)
      | "(?P<quoted>[^"]*)"
      | (?P<column>score|input|introduced)\s*(?P<operator><=|>=|<|>|=)\s*(?P<number>\S*)
      | (?P<field>[a-z]+):(?P<choice>\S*)
      | (?P<word>\S+) )""",
    re.VERBOSE | re.IGNORECASE,
)
_CALL = re.compile(r"(?:(?P<name>.*\S)\s+)?#(?P<number>\d+)")
_NEXT = "words, /expressions/, score>0.5, side: kind: direction: verdict: overflow: are understood"


@dataclass(frozen=True, slots=True)
class Word:
    """The name holds a text, in any case."""

    text: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    """The name matches a regular expression somewhere, in any case."""

    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A number lies on one side of another; a node without the number never fits."""

    column: NumberColumn
    operator: Operator
    number: float
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A field of FIELDS has a value."""

    name: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InState:
    """A word that says something about a node by itself."""

    state: State
    negated: bool = False


Term: TypeAlias = Word | Expression | Bound | Field | InState


def parse_query(text: str) -> tuple[Term, ...]:
    """The terms of a query in their order; an empty one lets everything through.

    Raises ExpressionError, which names the term.
    """
    terms: list[Term] = []
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TERM.match(text, place)
        if match is None:
            # Only a lone minus sign is no term; it is part of nothing.
            break
        terms.append(_term(match))
        place = match.end()
    return tuple(term for term in terms if term != Word("", negated=False))


def _term(match: re.Match[str]) -> Term:
    negated = bool(match["negated"])
    if match["expression"] is not None:
        return Expression(match["expression"].replace(r"\/", "/"), negated)
    if match["column"] is not None:
        return _bound(match, negated)
    if match["field"] is not None:
        return _field(match, negated)
    if match["quoted"] is not None:
        return _words(match["quoted"], negated)
    word = match["word"]
    state = next((one for one in _STATES if one == word.lower()), None)
    return _words(word, negated) if state is None else InState(state, negated)


def _words(text: str, negated: bool) -> Word | Expression:
    """What a name holds; of a call as rows show it the number stands between dots, or last."""
    call = _CALL.fullmatch(text)
    if call is None:
        return Word(text, negated)
    name = call["name"] or ""
    # What goes on after a letter is another word; not \b, which knows letters of ASCII alone.
    between = r"(?:[^\pL\pN_].*)?" if re.search(r"\w$", name) else ".*"
    before = re.escape(name) + between if name else ""
    return Expression(rf"{before}\.{call['number']}(?:\.|$)", negated)


def _bound(match: re.Match[str], negated: bool) -> Bound:
    try:
        number = float(match["number"])
    except ValueError:
        number = math.nan
    if math.isnan(number):
        term = match[0].strip()
        raise ExpressionError(
            f"{term!r} compares with no number",
            "write score>0.5",
            {"code": "no_number", "term": term},
        )
    column: NumberColumn = match["column"].lower()  # type: ignore[assignment]  # as the pattern allows
    operator: Operator = match["operator"]  # type: ignore[assignment]  # as the pattern allows
    return Bound(column, operator, number, negated)


def _field(match: re.Match[str], negated: bool) -> Field | Word:
    name, value = match["field"].lower(), match["choice"].lower()
    if name not in FIELDS:
        raise ExpressionError(f"{name}: is no field", _NEXT, {"code": "no_field", "field": name})
    if value not in FIELDS[name]:
        choices = ", ".join(f"{name}:{choice}" for choice in FIELDS[name])
        raise ExpressionError(
            f"{name}:{value} is unknown",
            f"write one of {choices}",
            {"code": "no_choice", "term": f"{name}:{value}", "choices": choices},
        )
    return Field(name, value, negated)
