"""The table of families names tests that exist, and each of them once."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_family_is_held_by_tests() -> None:
    section = (
        (ROOT / "docs" / "internals" / "reliability-measured.md")
        .read_text()
        .partition("## Families")[2]
    )
    rows = re.findall(r"^\| [^|]+ \| `(tests/[^`]+)` \| [^|]+ \|$", section, re.MULTILINE)
    assert len(rows) == len(set(rows)) > 20
    for row in rows:
        content = (ROOT / row).read_text()
        assert "def test_" in content or "TRIALS" in content, row
