"""A folder stands for the newest result in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import builder
from builder.errors import DatabaseError
from builder.results.newest import newest_result, result_file
from msprobe.cli import main


def _built(samples: Path, out: Path) -> Path:
    runs = samples / "statistics"
    return builder.build(runs / "problem", runs / "bench", out).path


def test_the_last_written_one_counts(tmp_path: Path) -> None:
    for name, when in (("new.vis.db", 2), ("old.vis.db", 1), ("other.txt", 3)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (when, when))
    (tmp_path / "x.vis.db").mkdir()
    assert result_file(tmp_path) == tmp_path / "new.vis.db"


def test_of_one_time_the_name_tells(tmp_path: Path) -> None:
    for name in ("compare_1.vis.db", "compare_2.vis.db"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1, 1))
    assert result_file(tmp_path).name == "compare_2.vis.db"


def test_a_file_is_itself_and_a_folder_without_any_is_refused(tmp_path: Path) -> None:
    assert result_file(tmp_path / "missing") == tmp_path / "missing"
    with pytest.raises(DatabaseError, match=r"no \*\.vis\.db in this folder"):
        result_file(tmp_path)


def test_of_several_the_newest_counts(tmp_path: Path) -> None:
    for name, when in (("a.vis.db", 1), ("b.vis.db", 3), ("folder", 2)):
        file = tmp_path / name / "c.vis.db" if name == "folder" else tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
        os.utime(file, (when, when))
    given = [tmp_path / name for name in ("a.vis.db", "b.vis.db", "folder", "missing.vis.db")]
    assert newest_result(given) == tmp_path / "b.vis.db"
    assert newest_result([given[0], given[2]]) == tmp_path / "folder" / "c.vis.db"
    assert newest_result([given[3]]) == given[3]


def test_commands_take_the_folder(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _built(samples, tmp_path)
    assert builder.diagnose(tmp_path).database == path
    assert main(["diagnose", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: ")
    assert main(["diagnose", str(samples / "vis-db" / "ranks.vis.db"), str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: ")
    report = tmp_path / "report.html"
    assert main(["diagnose", str(tmp_path), "--html", str(report)]) == 0
    assert report.is_file()
    assert main(["confirm", str(tmp_path), "-o", str(tmp_path / "plan")]) == 0
