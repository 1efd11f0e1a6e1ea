"""Why the tab is missing: each cause is made for real and named with its next step."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from builder import build
from builder.dump.inspection.check import Check
from tb_graph_ascend import logdir_checks as results
from tb_graph_ascend.logdir_checks import check_logdir


@pytest.fixture
def logdir(samples: Path, tmp_path: Path) -> Path:
    side = samples / "structure" / "bench"
    build(side, None, tmp_path / "out")
    return tmp_path / "out"


def problems(folder: Path) -> list[Check]:
    found = [check for check in check_logdir(folder) if check.state == "problem"]
    assert all(check.next_step for check in found)
    return found


def test_sound_folder_has_no_problem(logdir: Path) -> None:
    assert problems(logdir) == []


def test_empty_folder_names_the_command(tmp_path: Path) -> None:
    (check,) = problems(tmp_path)
    assert "tab stays hidden" in check.text
    assert f"-o {tmp_path}" in (check.next_step or "")


def test_wrong_name_is_named_and_renamed(logdir: Path) -> None:
    (file,) = logdir.glob("*.vis.db")
    stray = file.with_name(file.name.replace(".vis.db", ".db"))
    file.rename(stray)
    (logdir / "events.db").write_text("no database")
    first, second = problems(logdir)
    assert first.subject == str(stray)
    assert (first.next_step or "").startswith(f"mv {stray} ")
    assert first.next_step is not None
    assert first.next_step.endswith(str(file))
    assert second.subject == str(logdir)


@pytest.mark.parametrize("content", [b"", b"not SQLite at all", b"SQLite format 3\0" + b"x" * 500])
def test_file_that_is_no_result_is_a_problem(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.vis.db").write_bytes(content)
    (check,) = problems(tmp_path)
    assert check.subject.endswith("x.vis.db")


def test_unreadable_file_and_folder_are_problems(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = logdir.glob("*.vis.db")
    shut = logdir / "shut"
    shut.mkdir()
    if os.geteuid() == 0:  # root reads everything: the system's answers are given instead
        allowed = os.access
        monkeypatch.setattr(os, "access", lambda p, m: Path(p) != file and allowed(p, m))
        monkeypatch.setattr(results.os, "walk", _walk_that_fails_at(shut))
    else:
        file.chmod(0)
        shut.chmod(0)
    found = problems(logdir)
    shut.chmod(0o755)
    assert [check.subject for check in found] == [str(file), str(shut)]
    assert all("chmod" in (check.next_step or "") for check in found)


def _walk_that_fails_at(
    folder: Path,
) -> Callable[..., list[tuple[str, list[str], list[str]]]]:
    def walk(
        top: Path, onerror: Callable[[OSError], None]
    ) -> list[tuple[str, list[str], list[str]]]:
        onerror(PermissionError(13, "Permission denied", str(folder)))
        return [(str(top), [], [])]

    return walk
