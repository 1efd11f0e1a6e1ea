"""Inspects a dump: which steps and ranks it has, what each holds, what is missing."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path

from builder.dump.inspection.first_nonfinite import NonFinite
from builder.dump.inspection.json_lines import outline
from builder.dump.inspection.scan import BrokenDumpError, Contents, decode_all, mapped, scan_part
from builder.dump.kernel_dump import read_kernels
from builder.dump.kernel_files import is_iteration
from builder.dump.sources import Source, find_sources
from builder.processes.own_imports import own_imports
from builder.processes.second_process import CAN_FORK
from msprobe_core.format import (
    CONSTRUCT_FILE,
    DEBUG_FILE,
    DUMP_FILE,
    ERROR_LOG,
    FLOW_FILE,
    STACK_FILE,
    TENSOR_DIR,
    values_file,
)

_PART = 1 << 25
_WORTH_PROCESSES = 1 << 27
_DATA_NAME = re.compile(rb'"data_name":\s*"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class RankContents:
    """One step of one rank; `problems` are sentences, empty when all is there."""

    step: int
    rank: int
    path: Path
    task: str | None
    level: str | None
    framework: str | None
    entries: int
    size: int
    tensor_files: int
    nonfinite: NonFinite | None
    problems: tuple[str, ...]
    is_broken: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """A dump as a whole; `ranks` are ordered by step, then rank."""

    path: Path
    granularity: str
    ranks: tuple[RankContents, ...]

    @property
    def entries(self) -> int:
        """The entries of all steps and ranks."""
        return sum(rank.entries for rank in self.ranks)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(rank.size for rank in self.ranks)

    @property
    def first_nonfinite(self) -> RankContents | None:
        """The step and rank that holds the first non-finite value."""
        return next((rank for rank in self.ranks if rank.nonfinite is not None), None)


_Scanned = Contents | BrokenDumpError | OSError


def inspect_dump(path: Path) -> Inspection:
    """Inspect a rank, a step or a whole dump; raises DumpError when there is none at the path."""
    dump = find_sources(path)
    graphs = {source for source in dump.sources if is_iteration(source.path)}
    others = [source for source in dump.sources if source not in graphs]
    contents = iter(_scan_files([values_file(source.path) for source in others]))
    ranks = [
        _describe_graph(source) if source in graphs else _describe(source, next(contents))
        for source in dump.sources
    ]
    return Inspection(path, dump.granularity, tuple(ranks))


def _scan_files(files: Sequence[Path]) -> list[_Scanned]:
    total = sum(file.stat().st_size for file in files if file.is_file())
    processes = len(os.sched_getaffinity(0)) if CAN_FORK and total >= _WORTH_PROCESSES else 1
    if processes == 1:
        return [_scan_file(file, None) for file in files]
    context = multiprocessing.get_context("fork")
    with own_imports(), ProcessPoolExecutor(processes, mp_context=context) as pool:
        return [_scan_file(file, pool) for file in files]


def _scan_file(file: Path, pool: ProcessPoolExecutor | None) -> _Scanned:
    try:
        text = mapped(file)
        place = outline(text)
        if place is None:
            return decode_all(text)
        starts = range(place.start, place.stop, _PART)
        work = partial(_scan_range, file)
        parts = list(map(work, starts) if pool is None else pool.map(work, starts))
    except (BrokenDumpError, OSError) as error:
        return error
    first = next((nonfinite for _, nonfinite in parts if nonfinite is not None), None)
    head = {key: value for key, value in place.shell.items() if key != "data"}
    return Contents(sum(count for count, _ in parts), first, head)


def _scan_range(file: Path, start: int) -> tuple[int, NonFinite | None]:
    text = mapped(file)
    place = outline(text)
    if place is None:
        raise BrokenDumpError("the file changed while it was read")
    return scan_part(text, place, start, min(start + _PART, place.stop))


def _describe(source: Source, scanned: _Scanned) -> RankContents:
    problems, is_broken = _missing_files(source.path), False
    file = values_file(source.path).name
    head: dict[str, object] = {}
    entries, nonfinite = 0, None
    if isinstance(scanned, Contents):
        head, entries, nonfinite = scanned.head, scanned.entries, scanned.nonfinite
        if "note" in head:
            problems.append(f"{file}: {head['note']}")
    elif not isinstance(scanned, FileNotFoundError):
        reason = scanned.strerror if isinstance(scanned, OSError) else scanned
        problems.append(f"{file}: {reason}")
        is_broken = True
    size, tensors = _sizes(source.path)
    if head.get("task") == "tensor":
        problems += _lost_tensors(source.path / file, tensors)
    task, level, framework = (_text(head.get(key)) for key in ("task", "level", "framework"))
    return RankContents(
        source.step,
        source.rank,
        source.path,
        task,
        level,
        framework,
        entries,
        size,
        len(tensors),
        nonfinite,
        tuple(problems),
        is_broken,
    )


def _describe_graph(source: Source) -> RankContents:
    """An iteration of a static graph, whose files are its values."""
    kernels = read_kernels(source.path)
    values = kernels.values
    files = [Path(file) for file in kernels.files.values()]
    lost, problems = kernels.broken, list[str]()
    if lost:
        problems.append(f"{len(lost)} of {len(files)} files cannot be read, first {lost[0]}")
    nonfinite = (
        NonFinite(name, f"{name}.{values.keys[at]}", "Max", str(record.Max))
        for name, (start, stop) in kernels.ranges.items()
        for at, record in enumerate(values.records[start:stop], start)
        if isinstance(record.Max, float) and not isfinite(record.Max)
    )
    return RankContents(
        source.step,
        source.rank,
        source.path,
        "tensor",
        "L2",
        kernels.framework,
        len(kernels.ranges),
        sum(file.stat().st_size for file in files),
        len(files),
        next(nonfinite, None),
        tuple(problems),
        False,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _missing_files(folder: Path) -> list[str]:
    file = values_file(folder).name
    others = () if file == DEBUG_FILE else (CONSTRUCT_FILE,)
    names = (file, STACK_FILE, *others)
    problems = [
        f"{name} is {'no regular file' if (folder / name).exists() else 'missing'}"
        for name in names
        if not (folder / name).is_file()
    ]
    if (folder / ERROR_LOG).is_file():
        problems.append(f"{ERROR_LOG} tells of values that could not be read")
    return problems


def _sizes(folder: Path) -> tuple[int, set[str]]:
    """Bytes of all files of a rank, and the names of its tensor files."""
    names = (DUMP_FILE, DEBUG_FILE, CONSTRUCT_FILE, STACK_FILE, FLOW_FILE, ERROR_LOG)
    size = sum((folder / n).stat().st_size for n in names if (folder / n).is_file())
    tensors: dict[str, tuple[int, int]] = {}
    if (folder / TENSOR_DIR).is_dir():
        with os.scandir(folder / TENSOR_DIR) as entries:
            for entry in entries:
                told = entry.stat(follow_symlinks=False)
                tensors[entry.name] = told.st_ino, told.st_size
    # A tensor that several values are has their names and one file.
    return size + sum(bytes_of for _, bytes_of in set(tensors.values())), set(tensors)


def _lost_tensors(dump: Path, there: set[str]) -> list[str]:
    named = {match[1].decode(errors="replace") for match in _DATA_NAME.finditer(mapped(dump))}
    lost = sorted(named - there)
    if not lost:
        return []
    return [f"{len(lost)} of {len(named)} tensor files are missing, first {lost[0]}"]
