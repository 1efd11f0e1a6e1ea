"""The changelog is for users: short, and each entry leads to a page that is there."""

from __future__ import annotations

import re
from importlib import metadata

from tests.conftest import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
ENTRIES = [line for line in TEXT.splitlines() if line.startswith("- ")]


def test_it_is_of_this_version_and_short() -> None:
    assert f"## [{metadata.version('tb-graph-ascend')}]" in TEXT
    assert len(TEXT.splitlines()) <= 60
    assert re.findall(r"^### (\w+)$", TEXT, re.MULTILINE) == ["Added", "Changed", "Fixed"]


def test_every_entry_leads_to_its_page() -> None:
    assert len(ENTRIES) > 30
    for entry in ENTRIES:
        links = re.findall(r"\]\((docs/[^)#]+)(?:#([^)]+))?\)", entry)
        assert links, entry
        for page, anchor in links:
            text = (ROOT / page).read_text(encoding="utf-8")
            heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            slugs = {
                re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads
            }
            assert not anchor or anchor in slugs, entry
