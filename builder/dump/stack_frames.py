"""Reads the frames of a recorded stack: `File /job/model.py, line 14, in forward, y = f(x)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from msprobe_core.format.frameworks import PACKAGES

_FRAME = re.compile(r'^\s*File "?(.+?)"?, line (\d+), in ([^,\n]+),?\s*(.*)$', re.DOTALL)
RECORDERS = ("msprobe", "msprobe_core")
_STANDARD_LIBRARY = r"[\\/]lib[\\/]python3\.\d+[\\/](?!site-packages)"
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python3")
# Functions that are entered from many places, none of which says more than their own line.
_ENTERED = ("forward", "<module>")


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: `line` as `model.py:14`, the function it is in, and its line of code."""

    line: str
    function: str
    code: str

    @property
    def place(self) -> str:
        """As `model.py:14 in forward`."""
        return f"{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source as a stack has it: the file's path as recorded, the function it is in."""

    file: str
    line: int
    function: str
    code: str

    @property
    def told(self) -> str:
        """As the stack has it, in one line."""
        place = f"File {self.file}, line {self.line}, in {self.function}"
        return f"{place}, {self.code}" if self.code else place


def model_frame(stack: Sequence[str]) -> Frame | None:
    """The innermost frame outside the framework, else the innermost of all; None without any."""
    match = _model_match(_parsed(stack))
    return None if match is None else _frame(match)


def place_lines(stack: Sequence[str], there: Sequence[str] = ()) -> list[str]:
    """The frame of `model_frame` as one line, and below it the one that led there, if that tells.

    A model is often a library's (`modeling_llama.py`); the line that the user can change is the
    innermost one outside all installed packages. Of a call that the benchmark makes too, `there` is
    its stack: where the line reads the same, the innermost line around it that does not. Without
    one, of a helper, the line that calls it: the helper's own may stand in both scripts.
    """
    return [" ".join(match[0].split()) for match in _place_matches(stack, there)]


def source_lines(stack: Sequence[str], there: Sequence[str] = ()) -> list[SourceLine]:
    """The same frames, taken apart."""
    return [_taken_apart(match) for match in _place_matches(stack, there)]


def telling_frame(
    stack: Sequence[str], there: Sequence[str] = (), *, line_alone: bool = False
) -> Frame | None:
    """The frame that a sentence names: the user's own that calls a helper, or the model's.

    A helper's line is named itself where one run has that `line_alone`.
    """
    matches = _place_matches(stack, there)
    if not matches:
        return None
    is_told = line_alone or _INSTALLED.search(matches[0][1]) is not None
    return _frame(matches[0] if is_told else matches[-1])


def lines_by_code(stacks: Iterable[str]) -> dict[tuple[str, str], int]:
    """On how many lines a run's stacks go through some code of a function, of "" through any."""
    parsed = _parsed([*{line for stack in stacks for line in stack.splitlines()}])
    places = {(_key(match), match[1], match[2]) for match in parsed if _code(match) != ""}
    return Counter(key for one, *_ in places for key in (one, (one[0], "")))


def is_line_alone(
    stack: Sequence[str], own: Mapping[tuple[str, str], int], others: Mapping[tuple[str, str], int]
) -> bool:
    """Whether the other run goes through the function that makes a call, not through its line.

    It may have the same code on fewer lines: then the line is alone, unless that is so of the line
    that calls the function, too. `own` and `others` are `lines_by_code` of both runs.
    """
    parsed = _parsed(stack)
    place = _model_match(parsed)
    if place is None or place[3].startswith("<") or _code(place) == "":
        return False  # another function without a name is no other run's
    key = _key(place)
    if key not in others:
        return (key[0], "") in others
    around = [_key(match) for match in _around(place, parsed)[:1]]
    return own[key] > others[key] and all(own.get(k, 0) <= others.get(k, 0) for k in around)


def _key(match: re.Match[str]) -> tuple[str, str]:
    return match[3].strip(), _code(match)


def line_there(
    stack: Sequence[str], there: Sequence[str], *, called_otherwise: bool
) -> SourceLine | None:
    """The benchmark's line of a call, where it reads otherwise than the problem's.

    Of a call that is `called_otherwise` it may be the user's own line that reads otherwise, and
    where none does, that one reads the same is told by the line itself: what is given comes from
    elsewhere.
    """
    ours, theirs = source_lines(stack, there), source_lines(there, stack)
    whole = called_otherwise or (bool(ours) and _INSTALLED.search(ours[0].file) is None)
    pairs = list(zip(ours, theirs, strict=False))[: None if whole else 1]
    for mine, other in pairs:
        if _are_other(mine.code, other.code):
            return other
    return theirs[0] if ours and theirs and called_otherwise else None


def _place_matches(stack: Sequence[str], there: Sequence[str]) -> list[re.Match[str]]:
    parsed = _parsed(stack)
    place = _model_match(parsed)
    if place is None:
        return []
    is_others = _others(frozenset(PACKAGES)).search(place[1]) is not None
    caller = None if is_others else _caller(place, parsed, _parsed(there))
    return [place] if caller is None else [place, caller]


def _caller(
    place: re.Match[str], parsed: Sequence[re.Match[str]], there: Sequence[re.Match[str]]
) -> re.Match[str] | None:
    """The line that led to a place, where it tells what that line does not."""
    if _INSTALLED.search(place[1]):
        return next((match for match in parsed if _INSTALLED.search(match[1]) is None), None)
    around, other = _around(place, parsed), _model_match(there)
    if other is not None:
        pairs = zip(around, _around(other, there), strict=False)
        return None if _read_otherwise(place, other) else _first_otherwise(pairs)
    if not around or place[3].strip() in _ENTERED:
        return None
    return None if _code(around[0]) == f"{place[3].strip()}()" else around[0]


def _first_otherwise(
    pairs: Iterable[tuple[re.Match[str], re.Match[str]]],
) -> re.Match[str] | None:
    """The first of lines in the same functions that reads otherwise."""
    for mine, other in pairs:
        if mine[3].strip() != other[3].strip():
            return None
        if _read_otherwise(mine, other):
            return mine
    return None


def _around(place: re.Match[str], parsed: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The user's own frames around a place, the nearest first."""
    others = _others(frozenset(PACKAGES))
    behind = parsed[parsed.index(place) + 1 :]
    return [m for m in behind if not _INSTALLED.search(m[1]) and not others.search(m[1])]


def _read_otherwise(mine: re.Match[str], other: re.Match[str]) -> bool:
    return _are_other(_code(mine), _code(other))


def _are_other(mine: str, other: str) -> bool:
    """Whether the code of two lines is not the same; of none that was recorded nothing is known."""
    return "" not in (mine, other) and mine != other


def _code(match: re.Match[str]) -> str:
    return " ".join(match[4].split())


def _frame(match: re.Match[str]) -> Frame:
    name = re.split(r"[\\/]", match[1])[-1]
    return Frame(f"{name}:{match[2]}", match[3].strip(), match[4].strip())


def _taken_apart(match: re.Match[str]) -> SourceLine:
    return SourceLine(match[1], int(match[2]), match[3].strip(), _code(match))


def _parsed(stack: Sequence[str]) -> list[re.Match[str]]:
    return [match for line in stack if (match := _FRAME.match(line)) is not None]


def _model_match(parsed: Sequence[re.Match[str]]) -> re.Match[str] | None:
    others = _others(frozenset(PACKAGES))
    own = (match for match in parsed if others.search(match[1]) is None)
    return next(own, parsed[0] if parsed else None)


@cache
def _others(packages: frozenset[str]) -> re.Pattern[str]:
    """Where the model is said in the framework's words; a model's own package is the user's."""
    return re.compile(f"{_in_packages((*packages, *RECORDERS))}|{_STANDARD_LIBRARY}")


def is_of_framework(frame: str) -> bool:
    """Whether a frame, or the file of one, is of an installed framework itself."""
    return _frameworks(frozenset(PACKAGES)).search(frame) is not None


@cache
def _frameworks(packages: frozenset[str]) -> re.Pattern[str]:
    return re.compile(_in_packages(packages))


def _in_packages(names: Iterable[str]) -> str:
    listed = "|".join(sorted(map(re.escape, names)))
    return rf"[\\/](?:site|dist)-packages[\\/](?:{listed})[\\/]"
