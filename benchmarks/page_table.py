"""Measured tables in pages of the documentation, each between two marks with its name."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

_START, _END = "<!-- {} -->", "<!-- end of {} -->"


def put_table(page: Path, name: str, head: str, titles: Sequence[str], rows: Iterable[str]) -> None:
    """Replace what stands between a page's marks by a line, titles of columns and rows.

    Raises SystemExit where the page has no such marks.
    """
    start, end = _START.format(name), _END.format(name)
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(start)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{page}: has no {start} … {end}; add them where the table belongs")
    lines = [head, "", f"| {' | '.join(titles)} |", "|" + "---|" * len(titles), *rows]
    page.write_text(f"{before}{start}\n{chr(10).join(lines)}\n{end}{after}", encoding="utf-8")


def measured_with_torch() -> str:
    """The day, and the versions of torch and Python, as a table's first line begins."""
    import torch

    return (
        f"Measured on {time.strftime('%Y-%m-%d')} with torch {torch.__version__} on Python "
        f"{platform.python_version()}"
    )
