"""The page's message types are those that the server's OpenAPI document gives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "build_backend"))

import page_messages  # noqa: E402


@pytest.mark.skipif(not (ROOT / "node_modules").is_dir(), reason="npm ci has not run here")
def test_written_types_are_up_to_date(tmp_path: Path) -> None:
    page_messages.write_messages(tmp_path / "messages.ts")
    fresh = (tmp_path / "messages.ts").read_text(encoding="utf-8")
    assert page_messages.WRITTEN.read_text(encoding="utf-8") == fresh, "run `make messages`"


def test_the_page_has_the_sentences_of_reasons_that_the_builder_has() -> None:
    for file, fresh in page_messages.page_files().items():
        assert file.read_text(encoding="utf-8") == fresh, "run `make messages`"


def test_the_page_has_the_words_of_an_all_clear_that_the_builder_has() -> None:
    for language, file in page_messages.WORDED.items():
        fresh = page_messages.claim_texts(language)
        assert file.read_text(encoding="utf-8") == fresh, "run `make messages`"
