"""What is open, as a link and a request write it: `12` opens a node, `12a` all below it, `-12`
closes it, `f12` unfolds the run that begins at it. Later tokens go before earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Change = Literal["open", "open_all", "close", "unfold"]
_TOKEN = r"(?:[f-]?[0-9]{1,18}|[0-9]{1,18}a)"
PATTERN = rf"^(?:{_TOKEN}(?:\.{_TOKEN})*)?$"
"""What a text must look like."""


@dataclass(frozen=True, slots=True)
class Opening:
    """One token: what happens to which node, by its id."""

    change: Change
    node: int


def parse_openness(text: str) -> Sequence[Opening]:
    """The tokens of a text of PATTERN."""
    return [_token(token) for token in text.split(".")] if text else []


def _token(token: str) -> Opening:
    if token.startswith("-"):
        return Opening("close", int(token[1:]))
    if token.startswith("f"):
        return Opening("unfold", int(token[1:]))
    if token.endswith("a"):
        return Opening("open_all", int(token[:-1]))
    return Opening("open", int(token))
