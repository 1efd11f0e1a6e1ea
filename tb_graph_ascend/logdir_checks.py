"""Checks of a log folder: why the tab is missing, or a file in it is not shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from builder.dump.inspection.check import Check, note, ok, problem
from builder.errors import DatabaseError
from builder.results.opening import format_of
from tb_graph_ascend.logdirs import SUFFIX, LogDirs

_SHOWN = 10
_MOST_FILES = 200_000
_SQLITE = b"SQLite format 3\0"


def check_logdir(folder: Path) -> Iterator[Check]:
    """Whether TensorBoard finds something to show below a folder."""
    files = LogDirs([folder]).files()
    for file in files[:_SHOWN]:
        yield check_result(file.path)
    if len(files) > _SHOWN:
        yield note("results", f"{len(files) - _SHOWN} older files were not opened")
    lost, near = _around(folder)
    for path in lost[:_SHOWN]:
        yield problem(str(path), "cannot be looked into", f"chmod u+rx {path}, or run as its owner")
    for path in near[:_SHOWN]:
        text = f"is a result file whose name does not end in {SUFFIX}, so it is not shown"
        yield problem(str(path), text, f"mv {path} {path.with_suffix('')}{SUFFIX}")
    if not files:
        yield problem(
            str(folder),
            f"no file *{SUFFIX} below it, so the tab stays hidden",
            f"msprobe graph_visualize -tp PROBLEM -gp BENCHMARK -o {folder}, or give --logdir "
            "the folder that you gave -o",
        )
    elif not os.access(folder, os.W_OK):
        text = "is read-only: manual pairs are kept in the browser and not saved"
        yield note(str(folder), text, "make it writable to save them")


def check_result(path: Path) -> Check:
    """Whether one result file can be opened."""
    if not os.access(path, os.R_OK):
        return problem(str(path), "is not readable", f"chmod u+r {path}, or run as its owner")
    try:
        kind = format_of(path)
    except DatabaseError as error:
        return problem(str(path), error.message.removeprefix(f"{path}: "), error.hint)
    return ok(str(path), "a result file" + (" of msprobe's builder" if kind == "msprobe" else ""))


def _around(folder: Path) -> tuple[list[Path], list[Path]]:
    """Folders that cannot be listed, and results under another name."""
    lost: list[Path] = []
    near: list[Path] = []
    seen = 0
    walk = os.walk(folder, onerror=lambda error: lost.append(Path(str(error.filename))))
    for place, folders, names in walk:
        seen += len(names)
        if seen > _MOST_FILES:
            folders.clear()
        stray = [Path(place) / name for name in names if _may_be_result(name)]
        near += [path for path in stray if _is_sqlite(path)]
    return lost, near


def _may_be_result(name: str) -> bool:
    return not name.endswith(SUFFIX) and name.endswith((".db", ".vis", ".sqlite"))


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                return False
        format_of(path)
    except (OSError, DatabaseError):
        return False
    return True
