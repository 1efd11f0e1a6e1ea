"""A result as one page."""

from __future__ import annotations

from pathlib import Path

from builder import build
from tests.msprobe.conftest import Run


def test_says_which_page_it_wrote(run: Run, samples: Path, tmp_path: Path) -> None:
    side = samples / "statistics" / "bench"
    made = build(side, side, tmp_path).path
    done = run("page", made, "-o", tmp_path / "page.html")
    assert done.code == 0, done.err
    assert str(tmp_path / "page.html") in done.out
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_result_that_is_not_there_is_one_line(run: Run, tmp_path: Path) -> None:
    done = run("page", tmp_path / "none.vis.db", "-o", tmp_path / "page.html")
    assert done.code == 1
    assert "no such file" in done.err
    assert not (tmp_path / "page.html").exists()
