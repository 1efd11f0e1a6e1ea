"""Takes a page of the documentation apart: files that it shows, commands, and their output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_FENCE = re.compile(
    r"^```(?P<language>\w+)?(?: title=\"(?P<title>[^\"]*)\")?[^\n]*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHELL = ("console", "sh", "bash", "shell")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; a `console` block with a title needs what a test has not."""

    page: Path
    line: int
    language: str
    title: str | None
    body: str

    @property
    def kind(self) -> Literal["commands", "elsewhere", "file", "text"]:
        """What is to be done with it."""
        if self.language == "console":
            return "commands" if self.title is None else "elsewhere"
        return "file" if self.title is not None else "text"

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command with the lines of output that are shown after it."""
        found: list[tuple[str, list[str]]] = []
        for line in self.body.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return found


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, match.start()) + 1,
            match["language"] or "text",
            match["title"],
            match["body"],
        )
        for match in _FENCE.finditer(text)
    ]
