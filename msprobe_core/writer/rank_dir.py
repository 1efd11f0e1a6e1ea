"""Where a process writes: `step<N>/rank<ID>` or `step<N>/proc<pid>`, made on first use.

A dump that is there already is moved aside, never overwritten.
"""

from __future__ import annotations

import os
from pathlib import Path

from msprobe_core.format import CONSTRUCT_FILE, DEBUG_FILE, DUMP_FILE, STACK_FILE, values_file

_FILES = (DUMP_FILE, DEBUG_FILE, CONSTRUCT_FILE, STACK_FILE)


def rank_dir_name(rank: int | None, unranked: str = "proc") -> str:
    """`rank<ID>`, or `proc<pid>` without a rank; graph dumps have `pid<pid>` there."""
    return f"{unranked}{os.getpid()}" if rank is None else f"rank{rank}"


def make_rank_dir(
    dump_path: str, step: int, rank: int | None, unranked: str = "proc"
) -> tuple[Path, Path | None]:
    """Create the directory of one step; also where an earlier dump in its place was moved to."""
    target = Path(dump_path) / f"step{step}" / rank_dir_name(rank, unranked)
    moved = _move_aside(target)
    target.mkdir(parents=True, exist_ok=True)
    return target, moved


def rename_to_rank(directory: Path, rank: int) -> Path:
    """Rename `proc<pid>` to `rank<ID>` once the rank is known; the directory's new path."""
    target = directory.with_name(rank_dir_name(rank))
    if target == directory:
        return directory
    _move_aside(target)
    directory.rename(target)
    dump = values_file(target)
    text = dump.read_text(encoding="utf-8")
    fresh = dump.with_suffix(".json.partial")
    fresh.write_text(text.replace(str(directory), str(target), 1), encoding="utf-8")
    fresh.replace(dump)
    return target


def _move_aside(target: Path) -> Path | None:
    if not any((target / name).exists() for name in _FILES):
        return None
    for count in range(1, 10_000):
        aside = target.with_name(f"{target.name}.previous{count}")
        if not aside.exists():
            target.rename(aside)
            return aside
    raise FileExistsError(f"{target}: 10,000 earlier dumps beside it; remove some")
