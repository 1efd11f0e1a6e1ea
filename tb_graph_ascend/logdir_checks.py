"""Checks of a log folder: why the tab is missing, or a file in it is not shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from builder.dump.inspection.check import Check, note, ok, problem
from builder.errors import DatabaseError
from builder.results.opening import format_of
from builder.series.contents import trend_contents
from builder.series.run import TrendError
from tb_graph_ascend.logdirs import SUFFIX, LogDirs

_SHOWN = 10
_MOST_FILES = 200_000
_SQLITE = b"SQLite format 3\0"


def check_logdir(folder: Path) -> Iterator[Check]:
    """Whether TensorBoard finds something to show below a folder."""
    logdirs = LogDirs([folder])
    files, runs = logdirs.files(), logdirs.runs()
    for file in files[:_SHOWN]:
        yield check_result(file.path)
    if len(files) > _SHOWN:
        yield note("results", f"{len(files) - _SHOWN} older files were not opened")
    for run in runs[:_SHOWN]:
        yield check_trends(run.path)
    if len(runs) > _SHOWN:
        yield note("trends", f"{len(runs) - _SHOWN} older ones were not opened")
    lost, near = _around(folder)
    for path in lost[:_SHOWN]:
        yield problem(str(path), "cannot be looked into", f"chmod u+rx {path}, or run as its owner")
    for path in near[:_SHOWN]:
        text = f"is a result file whose name does not end in {SUFFIX}, so it is not shown"
        yield problem(str(path), text, f"mv {path} {path.with_suffix('')}{SUFFIX}")
    if not files and not runs:
        yield problem(
            str(folder),
            f"no file *{SUFFIX} and no trends below it, so the tab stays hidden",
            f"msprobe graph_visualize -tp PROBLEM -gp BENCHMARK -o {folder}, or give --logdir "
            "the folder that you gave -o",
        )
    elif files and not os.access(folder, os.W_OK):
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


def check_trends(folder: Path) -> Check:
    """Whether a folder that `Trends` wrote can be shown."""
    try:
        found = trend_contents(folder)
    except TrendError as error:
        return problem(str(folder), error.message.removeprefix(f"{folder}: "), error.hint)
    if not found.steps:
        return problem(
            str(folder),
            "trends without any step",
            "look at the training's standard error; a step ends with trends.step(), with the next "
            "step or with trends.close()",
        )
    ranks, series = len(found.ranks), sum(found.series.values())
    return ok(str(folder), f"trends: {found.steps} steps, {ranks} ranks, {series} series")


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
