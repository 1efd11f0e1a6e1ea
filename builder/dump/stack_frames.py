"""Reads the frames of a recorded stack: `File /job/model.py, line 14, in forward, y = f(x)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from msprobe_core.format.frameworks import PACKAGES

_FRAME = re.compile(r'^\s*File "?(.+?)"?, line (\d+), in ([^,\n]+),?\s*(.*)$', re.DOTALL)
RECORDERS = ("msprobe", "msprobe_core")
_STANDARD_LIBRARY = r"[\\/]lib[\\/]python3\.\d+[\\/](?!site-packages)"
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python3")


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
    if match is None:
        return None
    name = re.split(r"[\\/]", match[1])[-1]
    return Frame(f"{name}:{match[2]}", match[3].strip(), match[4].strip())


def place_lines(stack: Sequence[str]) -> list[str]:
    """The frame of `model_frame` as one line, and below it the user's own where that is another.

    A model is often a library's (`modeling_llama.py`); the line that the user can change is the
    innermost one outside all installed packages.
    """
    return [" ".join(match[0].split()) for match in _place_matches(stack)]


def source_lines(stack: Sequence[str]) -> list[SourceLine]:
    """The same frames, taken apart."""
    return [
        SourceLine(match[1], int(match[2]), match[3].strip(), " ".join(match[4].split()))
        for match in _place_matches(stack)
    ]


def line_there(
    stack: Sequence[str], there: Sequence[str], *, called_otherwise: bool
) -> SourceLine | None:
    """The benchmark's line of a call, where it reads otherwise than the problem's.

    Of a call that is `called_otherwise` it may be the user's own line that reads otherwise, and
    where none does, that one reads the same is told by the line itself: what is given comes from
    elsewhere.
    """
    ours, theirs = source_lines(stack), source_lines(there)
    pairs = list(zip(ours, theirs, strict=False))[: None if called_otherwise else 1]
    for mine, other in pairs:
        if "" not in (mine.code, other.code) and mine.code != other.code:
            return other
    return theirs[0] if ours and theirs and called_otherwise else None


def _place_matches(stack: Sequence[str]) -> list[re.Match[str]]:
    parsed = _parsed(stack)
    place = _model_match(parsed)
    own = next((match for match in parsed if _INSTALLED.search(match[1]) is None), None)
    return [match for match in (place, own if own is not place else None) if match is not None]


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
