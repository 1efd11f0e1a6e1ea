"""The picture of the rooms shows the imports as they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

POLICIES = "builder.diagnosis.policies"
CORE = ("builder.diagnosis", f"{POLICIES}.by_excess", f"{POLICIES}.by_scores")


@pytest.mark.parametrize(("packages", "picture"), [((), "rooms.svg"), (CORE, "core.svg")])
def test_picture_of_the_rooms_is_of_these_imports(packages: tuple[str, ...], picture: str) -> None:
    command = [sys.executable, "docs/draw_rooms.py", *packages]
    drawn = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    kept = (ROOT / "docs" / "pictures" / picture).read_text(encoding="utf-8")
    assert drawn.stdout == kept, "`make rooms` draws it anew"
