"""Checks of a dump and of the configuration that wrote it: why is it empty, or has no graph?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from builder.errors import DumpError
from msprobe.doctor.check import Check, note, ok, problem
from msprobe.inspection import Inspection, inspect_dump
from msprobe.inspection.inspect_dump import RankContents

if TYPE_CHECKING:
    from msprobe_core.config import Config

_SHOWN = 5
_NEVER = (
    "check that the run uses this configuration, calls start() and step(), and that start() comes "
    "before the forward pass; engines end warm-up passes with step(dump=False), which keeps nothing"
)


def check_config(file: Path, dump: Path | None = None) -> Iterator[Check]:
    """A configuration file, and its dump: the given one, or the one that it names."""
    from msprobe_core.config import read_config
    from msprobe_core.errors import ConfigError

    try:
        config = read_config(file)
    except ConfigError as error:
        text, _, mend = str(error).rpartition("; ")
        yield problem(str(file), text or mend, mend)
        return
    yield ok(str(file), f"task {config.task}, level {config.level}, dump_path {config.dump_path}")
    yield from _level(config)
    folder = dump or Path(config.dump_path)
    if not folder.is_dir():
        yield _no_folder(folder)
        return
    yield from check_dump(folder, config)


def check_dump(folder: Path, config: Config | None = None) -> Iterator[Check]:
    """A dump, and with its configuration what was selected and is not there."""
    try:
        found = inspect_dump(folder)
    except DumpError as error:
        text = str(error).removeprefix(f"{folder}: ").partition("; ")[0]
        yield problem(str(folder), text, _selection(config) or _NEVER)
        return
    yield ok(str(folder), f"{len(found.ranks)} (step, rank) folders, {found.entries:,} entries")
    checks = [check for rank in found.ranks for check in _rank(rank, config)]
    yield from checks[:_SHOWN]
    if len(checks) > _SHOWN:
        yield note(str(folder), f"{len(checks) - _SHOWN} more of this kind", "msprobe inspect")
    if config is not None:
        yield from _unrecorded(found, config)


def _no_folder(folder: Path) -> Check:
    parent = next(each for each in folder.absolute().parents if each.is_dir())
    if not os.access(parent, os.W_OK):
        mend = f"choose another dump_path or chmod u+w {parent}"
        return problem(str(folder), f"cannot be made: {parent} is not writable", mend)
    return problem(str(folder), "nothing has been dumped there", _NEVER)


def _level(config: Config) -> Iterator[Check]:
    if config.level == "L1":
        text = "level L1 records calls without modules: its graph is flat"
        yield note("level", text, 'set "level": "mix" for modules')
    if config.dump_enable is False:
        yield problem("dump_enable", "is false: nothing is recorded", "set it true, or remove it")


def _rank(rank: RankContents, config: Config | None) -> Iterator[Check]:
    where = str(rank.path)
    for text in rank.problems:
        yield _said(where, text)
    if rank.is_broken or "dump.json is missing" in rank.problems:
        return
    if rank.task == "structure":
        return
    if not rank.entries:
        yield problem(where, "no entry was recorded", _why_empty(rank, config))


def _said(where: str, text: str) -> Check:
    if "did not complete" in text:
        return problem(where, text, "what is there can be used; look why the process ended")
    if text.startswith(("construct.json", "stack.json")):
        return note(where, text, 'set "extra_info": true to get it')
    if "error_info" in text:
        return note(where, text, "read it; the other values are complete")
    return problem(where, text, "dump again, or copy the folder again with all its files")


def _why_empty(rank: RankContents, config: Config | None) -> str:
    if config is not None and (config.list or config.scope):
        names = ", ".join([*config.list, *config.scope])
        return f"no entry matched {names}; record once without list and scope and copy its names"
    if rank.task == "overflow_check":
        return "nothing overflowed, which is good; use task statistics to record all"
    if rank.level == "L0":
        return "give start(model=…) the module that runs; level L0 records nothing else"
    if rank.level == "debug":
        return "call debugger.save(value, name) between start() and stop()"
    return "start() and stop() must enclose the forward pass; graph mode and compiled calls run by"


def _unrecorded(found: Inspection, config: Config) -> Iterator[Check]:
    steps, ranks = {r.step for r in found.ranks}, {r.rank for r in found.ranks}
    lost_steps, lost_ranks = sorted(config.step - steps), sorted(config.rank - ranks)
    if lost_steps:
        yield problem(
            "step",
            f"{lost_steps} selected and not recorded; there are {sorted(steps)}",
            "steps count from 0 with each step(), warm-up passes included; let the run go on, or "
            "select others",
        )
    if lost_ranks:
        yield problem(
            "rank",
            f"{lost_ranks} selected and not recorded; there are {sorted(ranks)}",
            "select ranks of this run; a run of one process without torch.distributed needs []",
        )


def _selection(config: Config | None) -> str | None:
    if config is None or not (config.step or config.rank):
        return None
    return (
        f"the configuration selects step {sorted(config.step) or 'all'}, rank "
        f"{sorted(config.rank) or 'all'}; record once with both empty to see which there are"
    )
