"""The picture of the rooms shows the imports as they are."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT


def test_picture_of_the_rooms_is_of_these_imports() -> None:
    drawn = subprocess.run(
        [sys.executable, "docs/draw_rooms.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kept = (ROOT / "docs" / "pictures" / "rooms.svg").read_text(encoding="utf-8")
    assert drawn.stdout == kept, "`make rooms` draws it anew"
