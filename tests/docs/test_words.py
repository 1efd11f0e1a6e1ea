"""Pages, sentences of the page and of the program use the words of the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builder.claim_words import WORDS
from builder.finding_certainty import CERTAINTY_WORDS
from builder.reasons.rank_words import RANK_SENTENCES
from builder.reasons.reason_words import SENTENCES
from msprobe.cli.program import command_parsers
from tests.conftest import ROOT

DOCS = ROOT / "docs"
GLOSSARY = DOCS / "glossary.md"
# What only insiders say, and what the glossary calls it.
INSIDERS = {
    r"let(s|ting)? pass": "accept",
    r"(is|was|are) laid to": "is attributed to",
    r"led back": "traces back",
    r"go(es)? back (to (a cause|it|none)|through)": "traces back to",
    r"\bjudg(e|ed|es|ing)(?![./`-])": "compare, decide",
    r"told by": "inferred from",
    r"held against|holds? \w+( \w+)? against": "compare with",
    r"cries wolf": "false alarm",
}
PAGES = [
    *(page for page in sorted(DOCS.rglob("*.md")) if "zh" not in page.parts),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "tb_graph_ascend" / "frontend" / "src" / "i18n").glob("*en.ts")),
]


def insiders_in(text: str) -> list[str]:
    # Names of files, options and targets keep their words.
    plain = re.sub(r"`[^`\n]*`", "", text)
    return [found[0] for words in INSIDERS for found in re.finditer(words, plain)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_and_the_interface_use_plain_words(page: Path) -> None:
    assert insiders_in(page.read_text(encoding="utf-8")) == []


def test_sentences_and_commands_use_plain_words() -> None:
    told = [
        words.en
        for table in (SENTENCES, RANK_SENTENCES, CERTAINTY_WORDS)
        for words in table.values()
    ]
    told += WORDS["en"].values()
    told += [parser.format_help() for parser in command_parsers().values()]
    assert [text for text in told if insiders_in(text)] == []


def test_the_glossary_is_short_and_says_each_term_once() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\*", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(terms) == len(set(terms))
    assert 20 <= len(terms) <= 30
