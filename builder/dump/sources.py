"""Finds the rank directories below the path a user gives: a rank, a step or a whole dump.

The real step and rank numbers survive at every granularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builder.dump.kernel_files import find_iterations, is_iteration
from builder.errors import DumpError
from msprobe_core.format import (
    CONSTRUCT_FILE,
    DEBUG_FILE,
    DUMP_FILE,
    FLOW_FILE,
    STACK_FILE,
    parse_rank_dir,
    parse_step_dir,
    values_file,
)

# What a rank's folder holds beside its tensors.
JSON_FILES = (DUMP_FILE, CONSTRUCT_FILE, STACK_FILE, FLOW_FILE, DEBUG_FILE)
# Beyond this, a number stands for a folder whose own number another folder of its place has.
TAKEN = 10**9
Granularity = Literal["rank", "step", "root"]


@dataclass(frozen=True, slots=True)
class Source:
    """One process's dump of one step.

    `has_values` tells whether their file is there, `has_places` whether construct.json is, which
    says where calls stand; single saved values stand nowhere.
    """

    step: int
    rank: int
    path: Path
    has_values: bool = True
    has_places: bool = True


@dataclass(frozen=True, slots=True)
class SourceSet:
    """All sources below one path; `granularity` tells what the path itself was."""

    path: Path
    granularity: Granularity
    sources: tuple[Source, ...]


def find_sources(path: Path) -> SourceSet:
    """List the rank directories of a dump, ordered by step and rank as numbers.

    Raises DumpError when the path is missing, a file, or holds no dump.
    """
    if not path.exists():
        raise DumpError(
            f"{path}: no such folder", "give a dump's folder, its step<N> or its rank<N>"
        )
    if not path.is_dir():
        raise DumpError(f"{path}: is a file", "give the folder that holds it")
    try:
        return _classify(path)
    except PermissionError as error:
        raise DumpError(f"{error.filename}: not readable", "check its permissions") from error


def looks_like_dump(folder: Path) -> bool:
    """Whether a folder is meant to be a dump, complete or not."""
    if is_rank_folder(folder):
        return True
    names = [child.name for child in folder.iterdir() if child.is_dir()]
    return any(parse_step_dir(name) is not None or parse_rank_dir(name) for name in names)


def outermost(rank: Path, top: Path) -> Path:
    """The whole dump that a rank's folder is part of; `step<N>/rank<N>` stand below it.

    It lies in `top` or is `top` itself.
    """
    step = rank.parent
    if rank == top or parse_rank_dir(rank.name) is None:
        return rank
    if step == top or parse_step_dir(step.name) is None:
        return step
    return step.parent


def _classify(path: Path) -> SourceSet:
    if is_rank_folder(path):
        step = parse_step_dir(path.absolute().parent.name) or 0
        return SourceSet(path, "rank", (_source(step, _own_rank(path), path),))
    ranks = _rank_sources(path, parse_step_dir(path.absolute().name) or 0)
    if ranks:
        return SourceSet(path, "step", ranks)
    steps = _numbered_apart(
        [(n, child) for child in path.iterdir() if (n := _step_number(child)) is not None]
    )
    sources = tuple(source for number, child in steps for source in _rank_sources(child, number))
    if not sources:
        return _kernel_sources(path)
    return SourceSet(path, "root", sources)


def _kernel_sources(path: Path) -> SourceSet:
    """The iterations that a framework has dumped of a static graph itself: each is a step."""
    found = find_iterations(path)
    if not found:
        raise DumpError(
            f"{path}: no dump in it",
            f"expected step<N>/rank<N>/{DUMP_FILE} below, or {DUMP_FILE} in it",
        )
    sources = tuple(Source(each.number, each.rank, each.path) for each in found)
    return SourceSet(path, "rank" if is_iteration(path) else "root", sources)


def _rank_sources(step_dir: Path, step: int) -> tuple[Source, ...]:
    numbered: list[tuple[int, Path]] = []
    processes: list[tuple[int, Path]] = []
    for child in step_dir.iterdir():
        rank = parse_rank_dir(child.name)
        if rank is None or not child.is_dir():
            continue
        listed = numbered if rank.kind == "rank" else processes
        listed.append((rank.number or 0, child))
    return tuple(
        _source(step, number, child)
        for number, child in sorted(
            [*_numbered_apart(numbered), *_number_processes(processes, bool(numbered))]
        )
    )


def _numbered_apart(folders: list[tuple[int, Path]]) -> list[tuple[int, Path]]:
    """Folders by their numbers, of which no two have one: `rank` beside `rank0`, `step01` beside
    `step1` are other places.

    The shortest name that has digits keeps the number. Another gets one that follows from its name
    alone, so that it finds its like in the other run, and that no step or rank has of its own.
    """
    apart: dict[int, Path] = {}
    for number, child in sorted(folders, key=lambda each: _plainest(each[1])):
        free = number
        while free in apart:
            free += TAKEN * max(1, len(child.name) - len(apart[number].name))
        apart[free] = child
    return sorted(apart.items())


def _plainest(folder: Path) -> tuple[bool, int, str]:
    return not folder.name[-1].isdigit(), len(folder.name), folder.name


def _source(step: int, rank: int, path: Path) -> Source:
    values = values_file(path)
    has_places = values.name == DEBUG_FILE or (path / CONSTRUCT_FILE).is_file()
    return Source(step, rank, path, values.is_file(), has_places)


def _number_processes(
    processes: list[tuple[int, Path]], beside_ranks: bool
) -> list[tuple[int, Path]]:
    # A pid says nothing across two runs, so processes count in their order; beside real ranks
    # they are helpers of the run and get negative numbers that no rank can have.
    ordered = [child for _, child in sorted(processes)]
    if beside_ranks:
        return [(-1 - index, child) for index, child in enumerate(ordered)]
    return list(enumerate(ordered))


def _step_number(path: Path) -> int | None:
    return parse_step_dir(path.name) if path.is_dir() else None


def _own_rank(path: Path) -> int:
    rank = parse_rank_dir(path.absolute().name)
    return (rank.number or 0) if rank is not None and rank.kind == "rank" else 0


def is_rank_folder(path: Path) -> bool:
    """Whether a folder holds the files of one process."""
    return any((path / name).is_file() for name in JSON_FILES)
