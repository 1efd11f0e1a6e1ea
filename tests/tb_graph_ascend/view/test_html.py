"""The HTML report shows the findings, and shows hostile text as text."""

from __future__ import annotations

import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import builder
from builder import BuildOptions
from tb_graph_ascend.view.html import html_report


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(path: Path) -> Tags:
    tags = Tags()
    tags.feed(html_report(path))
    return tags


def test_the_report_stands_alone_and_names_the_suspect(samples: Path, tmp_path: Path) -> None:
    ours, theirs = samples / "statistics" / "problem", samples / "statistics" / "bench"
    path = builder.build(ours, theirs, tmp_path, BuildOptions(workers=1)).path
    tags = parsed(path)
    assert "Tensor.__mul__.0.forward" in tags.text
    assert "return getattr(s, s.n2)(y)" in tags.text or "y = y * 1.7" in tags.text
    assert {"script", "link", "img"} & tags.seen == set()


def test_a_hostile_name_is_text(samples: Path, tmp_path: Path) -> None:
    ours, theirs = samples / "statistics" / "problem", samples / "statistics" / "bench"
    path = builder.build(ours, theirs, tmp_path, BuildOptions(workers=1)).path
    hostile = "<script>alert(1)</script>"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE node SET name = ? WHERE name LIKE 'Tensor.__mul__.0.f%'", (hostile,)
        )
    connection.close()
    tags = parsed(path)
    assert hostile in tags.text
    assert "script" not in tags.seen


def test_equal_runs_are_said_to_be_equal(samples: Path, tmp_path: Path) -> None:
    side = samples / "statistics" / "bench"
    path = builder.build(side, side, tmp_path, BuildOptions(workers=1)).path
    text = parsed(path).text
    assert "No difference found; " in text
    assert "values have equal statistics (a permuted tensor would have them too)" in text
    assert builder.open(path).findings().findings == []
