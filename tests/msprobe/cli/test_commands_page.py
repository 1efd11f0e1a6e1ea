"""docs/commands.md is what the program says of itself."""

from __future__ import annotations

import re

from msprobe.cli.commands_page import PAGES, commands_page
from msprobe.cli.program import COMMANDS, command_parsers
from tests.conftest import ROOT

DOCS = ROOT / "docs"


def test_the_page_is_current() -> None:
    kept = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert kept == commands_page(), "python -m msprobe.cli.commands_page > docs/commands.md"


def test_every_option_stands_on_the_page() -> None:
    page = commands_page()
    for name, parser in command_parsers().items():
        part = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        shown = set(re.findall(r"`(--?[\w-]+)`", part))
        said = set(re.findall(r"(?:^| )  ?(--?[\w-]+)", parser.format_help(), re.MULTILINE))
        assert said - {"-h", "--help", "--debug"} <= shown, name


def test_every_command_has_a_page_that_is_there() -> None:
    names = [command.__name__.rpartition(".")[2] for command in COMMANDS]
    assert sorted(PAGES) == sorted(names)
    assert all((DOCS / page.partition("#")[0]).is_file() for page in PAGES.values())
