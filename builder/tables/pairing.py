"""Decides which folders or files a table compares, and how its files are called.

Two single files, ranks or steps pair whatever their numbers; the ranks of two steps pair in their
order, since a benchmark often ran on other devices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from builder.dump.reader import dump_file, is_debug_file
from builder.dump.sources import Source, SourceSet, find_sources
from builder.errors import DumpError, InputError
from builder.reasons import Reason
from builder.work.plan import Broken, Missing, PairPlan, plan_pairs
from msprobe_core.format import DEBUG_FILE, DUMP_FILE, parse_rank_dir

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The pairs, the name of each one's table without its time, and what only one side has.

    `of_files` tells that two files were given in place of folders; `broken` are pairs of which a
    side lost its values, `helpers` the folders of processes beside the ranks, which are left out.
    """

    pairs: tuple[PairPlan, ...]
    missing: tuple[Missing, ...]
    names: dict[Place, Path]
    of_files: bool
    broken: tuple[Broken, ...] = ()
    notes: tuple[Reason, ...] = ()
    helpers: tuple[Path, ...] = ()


def plan_tables(problem: Path, benchmark: Path) -> TablePlan:
    """Pair what lies below two paths; raises InputError where that cannot be done."""
    for path in (problem, benchmark):
        if not path.exists():
            raise DumpError(
                f"{path}: no such file or folder",
                f"give a {DUMP_FILE}, or the folder of a rank, a step or a whole dump",
            )
    if problem.is_file() != benchmark.is_file():
        file, folder = (problem, benchmark) if problem.is_file() else (benchmark, problem)
        raise InputError(
            f"{file} is a file and {folder} a folder", f"give two {DUMP_FILE} files or two folders"
        )
    if problem.is_file():
        return _plan_files(problem, benchmark)
    sides = find_sources(problem), find_sources(benchmark)
    for side in sides:
        _check_processes(side)
    helpers = [s.path for side in sides for s in side.sources if s.rank < 0]
    return replace(_plan_folders(*map(_ranks_alone, sides)), helpers=tuple(helpers))


def _plan_files(problem: Path, benchmark: Path) -> TablePlan:
    for name in (DUMP_FILE, DEBUG_FILE):
        if problem.name.endswith(name) and benchmark.name.endswith(name):
            pair = PairPlan(0, 0, problem, benchmark)
            return TablePlan((pair,), (), {(0, 0): Path(_stem(problem))}, of_files=True)
    raise InputError(
        f"{problem} against {benchmark}",
        f"give two files called {DUMP_FILE}, or two called {DEBUG_FILE}",
    )


def _plan_folders(problem: SourceSet, benchmark: SourceSet) -> TablePlan:
    plan = plan_pairs(problem, benchmark, _rank_map(problem, benchmark), {})
    folders = {source.path for source in problem.sources}
    names: dict[Place, Path] = {}
    for pair in plan.pairs:
        assert pair.problem in folders
        stem = _stem(dump_file(pair.problem)[1])
        tag = "" if problem.granularity == "rank" else f"_{pair.problem.name}"
        above = Path(f"step{pair.step}") if problem.granularity == "root" else Path()
        names[pair.step, pair.rank] = above / f"{stem}{tag}"
    return TablePlan(plan.pairs, plan.missing, names, False, plan.broken, plan.notes)


def _stem(file: Path) -> str:
    return "debug_compare_result" if is_debug_file(file) else "compare_result"


def _rank_map(problem: SourceSet, benchmark: SourceSet) -> dict[int, int]:
    """The ranks of both sides in their order, where they are numbered otherwise."""
    if problem.granularity != benchmark.granularity or problem.granularity == "rank":
        return {}
    ours, theirs = _numbers(problem), _numbers(benchmark)
    if len(ours) != len(theirs):
        raise InputError(
            f"{problem.path} has {len(ours)} ranks and {benchmark.path} {len(theirs)}",
            "compare runs of equally many ranks, or one rank's folder with another's",
        )
    return {} if ours == theirs else dict(zip(ours, theirs, strict=True))


def _numbers(dump: SourceSet) -> list[int]:
    return sorted({source.rank for source in dump.sources})


def _ranks_alone(dump: SourceSet) -> SourceSet:
    # Helper processes beside real ranks have negative numbers; no one asked for them.
    ranks = tuple(source for source in dump.sources if source.rank >= 0)
    return SourceSet(dump.path, dump.granularity, ranks)


def _check_processes(dump: SourceSet) -> None:
    by_step: dict[int, list[Source]] = {}
    for source in dump.sources:
        place = parse_rank_dir(source.path.name)
        if place is not None and place.kind == "proc" and source.rank >= 0:
            by_step.setdefault(source.step, []).append(source)
    for processes in by_step.values():
        if len(processes) > 1 and dump.granularity != "rank":
            raise InputError(
                f"{processes[0].path.parent}: {len(processes)} folders of processes without a rank "
                f"({processes[0].path.name}, {processes[1].path.name} …), and nothing tells which "
                "belong together",
                "give one of them on each side",
            )
