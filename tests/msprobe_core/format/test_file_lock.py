"""A lock excludes every other holder, in this process and in others, and is never stale."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from msprobe_core.format import file_lock
from msprobe_core.format.file_lock import LockedError, locked
from msprobe_core.format.whole_file import written_whole

SPAWN = multiprocessing.get_context("spawn")


def _add(path: Path, times: int) -> None:
    for _ in range(times):
        with locked(path):
            known = path.read_text(encoding="utf-8") if path.exists() else ""
            with written_whole(path) as beside:
                beside.write_text(known + "x", encoding="utf-8")


def _hold(path: Path, told: Connection) -> None:
    with locked(path):
        told.send("held")
        signal.pause()


def test_no_change_is_lost_between_processes_and_threads(tmp_path: Path) -> None:
    path = tmp_path / "shared.json"
    workers = [SPAWN.Process(target=_add, args=(path, 15)) for _ in range(2)]
    threads = [threading.Thread(target=_add, args=(path, 15)) for _ in range(2)]
    for each in (*workers, *threads):
        each.start()
    for each in (*workers, *threads):
        each.join()
    assert path.read_text(encoding="utf-8") == "x" * 60
    assert os.listdir(tmp_path) == ["shared.json"]  # noqa: PTH208


def test_lock_of_a_process_that_died_is_free_and_a_living_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "shared.json"
    ours, theirs = SPAWN.Pipe()
    holder = SPAWN.Process(target=_hold, args=(path, theirs))
    holder.start()
    assert ours.recv() == "held"
    with pytest.raises(LockedError, match=r"shared\.json"), locked(path, patience=0.0):
        pass
    holder.kill()
    holder.join()
    with locked(path, patience=0.0) as held:
        assert held
    (tmp_path / ".shared.json.lock").touch()  # what a machine that lost its power leaves
    with locked(path, patience=0.0) as held:
        assert held


def test_without_a_folder_that_takes_it_there_is_no_lock(tmp_path: Path) -> None:
    with locked(tmp_path / "missing" / "file") as held:
        assert not held


def test_a_mount_without_locks_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(file_lock, "_lock", refuse)
    with locked(tmp_path / "file") as held:
        assert held


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), written_whole(path) as beside:
        beside.write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    with pytest.raises(IsADirectoryError), written_whole(tmp_path) as beside:
        beside.write_text("x", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_at_once_mix_nothing(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with written_whole(path) as first, first.open("w", encoding="utf-8") as file:
        file.write("first ")
        with written_whole(path) as second:
            second.write_text("second", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "second"
        file.write("wins")
    assert path.read_text(encoding="utf-8") == "first wins"
