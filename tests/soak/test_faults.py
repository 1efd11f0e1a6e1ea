"""Faults and kills, a few of each; and the page that shows what the whole run found."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.soak import faults, kills, viewers
from tests.conftest import ROOT


def test_rank_that_fails_and_folder_that_vanishes(tmp_path: Path) -> None:
    assert faults.unreliable_logdir(tmp_path).lost == []


def test_full_disk(tmp_path: Path) -> None:
    outcome = faults.full_disk(tmp_path, 3_000)
    assert outcome.lost == []
    assert outcome.tried > 3


def test_clock_that_stands_still(tmp_path: Path) -> None:
    assert faults.clock_jump(tmp_path, 2).lost == []


def test_builder_that_is_killed(tmp_path: Path) -> None:
    outcome = kills.kill_builder(tmp_path, 2, 1_000)
    assert outcome.lost == []
    assert outcome.tried == 4


def test_dumper_that_is_killed(tmp_path: Path) -> None:
    outcome = kills.kill_dumper(tmp_path, 1)
    assert outcome.lost == []
    assert outcome.tried > 1


def test_viewers_are_answered(tmp_path: Path) -> None:
    outcome = viewers.view(tmp_path, 4, 3, 500)
    failures = [line for line in outcome.lost if "p95" not in line]  # no test of speed
    assert failures == []
    assert outcome.tried > 12


def test_page_says_that_nothing_was_lost() -> None:
    text = (ROOT / "docs" / "internals" / "reliability-measured.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \| (\d+) \| ", text, re.MULTILINE)
    assert len(rows) >= 13
    assert all(int(lost) == 0 and int(tried.replace(",", "")) > 0 for _, tried, lost in rows)
