"""Lines of text in the slide: how wide they are, where they break and where they end."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from unicodedata import east_asian_width

SANS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', "
    "'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
INK, QUIET = "#1b222d", "#59626f"


@dataclass(frozen=True, slots=True)
class Style:
    """How a line of text looks; `most` characters of it have room."""

    size: int
    colour: str = INK
    bold: bool = False
    mono: bool = False
    anchor: str = "start"
    most: int = 200


def text_line(x: float, y: float, text: str, style: Style) -> str:
    """A line of text, cut where it would leave its place."""
    shown = cut(text, style.most)
    weight = ' font-weight="700"' if style.bold else ""
    family = f' font-family="{MONO}"' if style.mono else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{style.size}" fill="{style.colour}" '
        f'text-anchor="{style.anchor}"{weight}{family} '
        f'xml:space="preserve">{escape(_printable(shown))}</text>'
    )


def fitting(text: str, largest: int, most: int, *, quiet: bool = False) -> Style:
    """As large as leaves a long line whole, down to 34 of 60; `most` characters fit the largest."""
    size = max(34 * largest // 60, min(largest, largest * most // max(1, width_of(text))))
    room = most * largest // size
    return Style(size, colour=QUIET if quiet else INK, bold=not quiet, most=room)


def width_of(text: str) -> int:
    """In characters; those of Chinese take the room of two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def wrapped(text: str, most: int, lines: int = 3) -> list[str]:
    """Lines broken between words; the last is cut where it is drawn."""
    first = cut(text, most)
    if first == text or lines == 1:
        return [text]
    at = max(text.rfind(" ", 0, len(first)), 0)
    # Chinese breaks anywhere; a blank near the start would leave the line empty.
    at = at if at > len(first) // 2 else len(first) - 1
    return [text[:at], *wrapped(text[at:].lstrip(), most, lines - 1)]


def cut(text: str, most: int) -> str:
    """At most so many characters; those of Chinese take the room of two."""
    room = most
    for place, character in enumerate(text):
        room -= 2 if east_asian_width(character) in "WF" else 1
        if room < 0:
            return text[: max(0, place - 1)] + "…"
    return text


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
