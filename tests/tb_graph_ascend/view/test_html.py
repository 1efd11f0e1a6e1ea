"""The HTML report shows the findings, and shows hostile text as text."""

from __future__ import annotations

import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

import builder
from builder import BuildOptions
from msprobe.pytorch import PrecisionDebugger
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


class _Matched(nn.Module):
    """Draws one of two layers to the other: which, only gradients tell."""

    def __init__(self, *, first: bool) -> None:
        super().__init__()
        self.one, self.two, self.first = nn.Linear(8, 8), nn.Linear(8, 8), first

    def forward(self, x: Tensor) -> Tensor:
        one, two = self.one(x), self.two(x)
        apart = (one, two.detach()) if self.first else (one.detach(), two)
        return one.abs().mean() + two.abs().mean() + functional.mse_loss(*apart)


def test_a_cause_that_agrees_itself_has_the_score_of_what_it_leads_to(tmp_path: Path) -> None:
    def recorded(folder: Path, *, first: bool) -> Path:
        torch.manual_seed(0)
        model = _Matched(first=first)
        debugger = PrecisionDebugger(dump_path=str(folder), level="mix")
        with debugger.recording(model):
            model(torch.randn(16, 8)).backward()
        debugger.close()
        return folder

    ours, theirs = recorded(tmp_path / "a", first=True), recorded(tmp_path / "b", first=False)
    path = builder.build(ours, theirs, tmp_path / "o", BuildOptions(workers=1)).path
    first, *_ = builder.open(path).findings().findings
    assert (first.node.name, first.score) == ("Functional.mse_loss.0.forward", 0.0)
    assert re.search(r"mse_loss\.0\.forward\s+leads to 1\s", parsed(path).text)


def test_a_score_of_its_own_leads_nowhere(samples: Path, tmp_path: Path) -> None:
    ours, theirs = samples / "statistics" / "problem", samples / "statistics" / "bench"
    path = builder.build(ours, theirs, tmp_path, BuildOptions(workers=1)).path
    assert "leads to" not in parsed(path).text
