"""Changes of a recorded run: beside the run as it was, and alone where a command looks at one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from evaluation.all_clears import changes
from evaluation.all_clears.answers import Said, in_this_process, of_overflow, of_ranks, of_two
from evaluation.all_clears.changes import Place, drawn_change
from evaluation.all_clears.recorded import Files, Kind, recorded_run, write_run


def said_of_two(kind: Kind, numbers: Iterable[int], folder: Path, seed: int) -> Iterator[Said]:
    """What is said of runs of which one, in turn either, has a drawn change.

    First of runs without one, which must be an all-clear: else nothing is told by what follows.
    """
    files = recorded_run(kind)
    write_run(files, folder / "sound")
    write_run(files, folder / "like")
    with in_this_process():
        yield from _said(folder, "like", swapped=False)
        for number in numbers:
            told = _change(files, folder, [seed, number, len(kind)], changes.of_two_runs)
            for said in _said(folder, "changed", swapped=bool(number % 2)):
                yield replace(said, change=f"{kind} {number}: {told}")


def said_of_one(kind: Kind, numbers: Iterable[int], folder: Path, seed: int) -> Iterator[Said]:
    """What is said of one run with a change that its own ranks show, or that is not finite."""
    files = recorded_run(kind)
    write_run(files, folder / "sound")
    with in_this_process():
        for ask, chosen in ((of_ranks, changes.of_ranks), (of_overflow, changes.of_overflow)):
            yield from ask(folder / "sound", folder / "out")
            for number in numbers:
                told = _change(files, folder, [seed, number, len(kind), 1], chosen)
                for said in ask(folder / "changed", folder / "out"):
                    yield replace(said, change=f"{kind} {number}: {told}")


def _change(files: Files, folder: Path, seeds: list[int], chosen: Callable[[Place], bool]) -> str:
    """Write the run with a drawn change; unchanged files are those of the sound one."""
    change = drawn_change(files, np.random.default_rng(seeds), chosen)
    target = folder / "changed"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder / "sound", target)
    for name in files:
        if name not in change.files:
            (target / name).unlink()
    write_run({n: c for n, c in change.files.items() if _is_other(c, files.get(n))}, target)
    for empty in sorted(target.glob("*/*"), reverse=True):
        if not any(each.is_file() for each in empty.rglob("*")):
            shutil.rmtree(empty)
    for empty in target.iterdir():
        if not any(empty.iterdir()):
            empty.rmdir()
    return change.told


def _is_other(content: object, former: object) -> bool:
    if isinstance(content, np.ndarray) and isinstance(former, np.ndarray):
        return not np.array_equal(content, former)
    return content != former


def _said(folder: Path, name: str, *, swapped: bool) -> Iterator[Said]:
    sides = (folder / "sound", folder / name) if swapped else (folder / name, folder / "sound")
    yield from of_two(*sides, folder / "out")
    shutil.rmtree(folder / "out", ignore_errors=True)
