"""`SingleComparator`: what two runs saved with `SingleSave`, one table a tag."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from msprobe.config_check.sheet import Sheet
from msprobe.errors import CheckError
from msprobe.single_save.agreement import Array, agreement
from msprobe_core.format.regular_file import require_regular

HEADER = (
    "step",
    "rank",
    "micro_step",
    "id",
    "shape1",
    "shape2",
    "相同元素百分比(%)",
    "首个不匹配元素索引",
    "最大绝对误差",
    "最大相对误差",
    "误差在千分之一内元素占比(%)",
    "误差在百分之一内元素占比(%)",
)
_MISSING = "missing"
_NUMBERED = {name: re.compile(rf"{name}(\d+)$") for name in ("step", "rank", "micro_step")}


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where a value was saved; `micro_step` is -1 for what was saved without one."""

    step: int
    rank: int
    micro_step: int


class SingleComparator:
    """Compares two folders of `SingleSave`."""

    @staticmethod
    def compare(
        dir1: str,
        dir2: str,
        output_path: str = "./msprobe_compare_output",
        num_processes: int = 8,
    ) -> None:
        """Write `<tag>.xlsx` for each tag of either folder; `dir2` is the reference.

        A value, a step, a rank or a tag of one side only is a row whose other shape is `missing`.
        `num_processes` tags are compared at a time. Raises CheckError for a folder without saved
        values, for folders without a common tag and for an output that is no folder.
        """
        first, second, output = Path(dir1), Path(dir2), Path(output_path)
        tags = _tags(first), _tags(second)
        if not set(tags[0]) & set(tags[1]):
            raise CheckError(
                f"{first}, {second}: no tag is in both", "were they saved by one script?"
            )
        if output.exists() and not output.is_dir():
            raise CheckError(f"{output}: is a file", "give a folder for the tables")
        output.mkdir(parents=True, exist_ok=True)
        all_tags = sorted({**tags[0], **tags[1]})
        work = partial(_compare_tag, _data(first), _data(second), output)
        # Threads, for users' scripts have no `if __name__ == "__main__"` that processes would need.
        with ThreadPoolExecutor(max(1, min(num_processes, len(all_tags)))) as pool:
            for _ in pool.map(work, all_tags):
                pass


def _data(folder: Path) -> Path:
    """Users give the folder of the run, or `data` in it."""
    inner = folder / "data"
    return inner if inner.is_dir() else folder


def _tags(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise CheckError(f"{folder}: is no folder", "give the one that SingleSave wrote to")
    tags = {
        child.name: child
        for child in _data(folder).iterdir()
        if child.is_dir() and any(_NUMBERED["step"].match(step.name) for step in child.iterdir())
    }
    if not tags:
        raise CheckError(f"{folder}: holds no data/<tag>/step<n>", "give what SingleSave wrote to")
    return tags


def _compare_tag(first: Path, second: Path, output: Path, tag: str) -> None:
    from msprobe.config_check.workbook import write_workbook  # a run that saves needs no tables

    rows = list(_rows(_arrays(first / tag), _arrays(second / tag)))
    write_workbook(output / tag, [Sheet("Sheet1", HEADER, rows, "pass")])


def _arrays(folder: Path) -> dict[_Place, dict[str, Path]]:
    """Files by place and by what follows the tag in their name."""
    by_place: dict[_Place, dict[str, Path]] = {}
    for step, step_folder in _numbered(folder, "step"):
        for rank, rank_folder in _numbered(step_folder, "rank"):
            for micro, last in [(-1, rank_folder), *_numbered(rank_folder, "micro_step")]:
                files = sorted(last.glob("*.npy"), key=lambda file: _natural(file.stem))
                if files:
                    by_place[_Place(step, rank, micro)] = {file.stem: file for file in files}
    return by_place


def _numbered(folder: Path, name: str) -> Iterator[tuple[int, Path]]:
    children = sorted(folder.iterdir()) if folder.is_dir() else []
    for child in children:
        match = _NUMBERED[name].match(child.name)
        if match is not None and child.is_dir():
            yield int(match[1]), child


def _rows(
    first: dict[_Place, dict[str, Path]], second: dict[_Place, dict[str, Path]]
) -> Iterator[tuple[object, ...]]:
    for place in sorted(first.keys() | second.keys()):
        ours, theirs = first.get(place, {}), second.get(place, {})
        names = sorted({**ours, **theirs}, key=_natural)
        micro = place.micro_step if place.micro_step >= 0 else None
        for number, name in enumerate(names):
            measured = _measured(ours.get(name), theirs.get(name))
            yield place.step, place.rank, micro, number, *measured


def _measured(first: Path | None, second: Path | None) -> tuple[object, ...]:
    arrays = [None if file is None else _read(file) for file in (first, second)]
    if arrays[0] is None or arrays[1] is None:
        shapes = [_MISSING if array is None else str(list(array.shape)) for array in arrays]
        return (*shapes, *[None] * 6)
    measured = agreement(arrays[0], arrays[1])
    return (
        str(list(measured.shape1)),
        str(list(measured.shape2)),
        measured.equal,
        measured.first_mismatch,
        measured.max_absolute,
        measured.max_relative,
        measured.within_thousandth,
        measured.within_hundredth,
    )


# NumPy parses a file's header by `ast`, which several threads at a time may break in CPython 3.11
# (SystemError: AST constructor recursion depth mismatch). The elements are read outside of it.
_HEADERS = threading.Lock()


def _read(file: Path) -> Array:
    try:
        require_regular(file)
        with _HEADERS:
            array: Array = np.load(file, allow_pickle=False, mmap_mode="r")
        return array
    except (ValueError, OSError, EOFError) as error:
        raise CheckError(f"{file}: is no NumPy array ({error})", "save it again") from error


def _natural(name: str) -> list[tuple[int, int | str]]:
    return [(0, int(p)) if p.isdecimal() else (1, p) for p in re.split(r"(\d+)", name)]
