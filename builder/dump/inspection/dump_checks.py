"""Checks of a dump: why it is empty, what of it is lost, what was selected and is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from builder.dump.inspection import Inspection, inspect_dump
from builder.dump.inspection.check import Check, note, ok, problem
from builder.dump.inspection.inspect_dump import RankContents
from builder.errors import DumpError

_SHOWN = 5
NOTHING_RECORDED = (
    "check that the run uses this configuration, calls start() and step(), and that start() comes "
    "before the forward pass; engines end warm-up passes with step(dump=False), which keeps nothing"
)


class Selected(Protocol):
    """What a configuration selects to be recorded; the dumper's own has these fields."""

    @property
    def step(self) -> frozenset[int]: ...
    @property
    def rank(self) -> frozenset[int]: ...
    @property
    def list(self) -> tuple[str, ...]: ...
    @property
    def scope(self) -> tuple[str, ...]: ...


def check_dump(folder: Path, config: Selected | None = None) -> Iterator[Check]:
    """A dump, and with its configuration what was selected and is not there."""
    try:
        inspection = inspect_dump(folder)
    except DumpError as error:
        text = error.message.removeprefix(f"{folder}: ")
        yield problem(str(folder), text, _selection(config) or NOTHING_RECORDED)
        return
    yield ok(
        str(folder), f"{len(inspection.ranks)} (step, rank) folders, {inspection.entries:,} entries"
    )
    checks = [check for rank in inspection.ranks for check in _rank(rank, config)]
    yield from checks[:_SHOWN]
    if len(checks) > _SHOWN:
        yield note(str(folder), f"{len(checks) - _SHOWN} more of this kind", "msprobe inspect")
    if config is not None:
        yield from _unrecorded(inspection, config)


def _rank(rank: RankContents, config: Selected | None) -> Iterator[Check]:
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


def _why_empty(rank: RankContents, config: Selected | None) -> str:
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


def _unrecorded(inspection: Inspection, config: Selected) -> Iterator[Check]:
    steps, ranks = {r.step for r in inspection.ranks}, {r.rank for r in inspection.ranks}
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


def _selection(config: Selected | None) -> str | None:
    if config is None or not (config.step or config.rank):
        return None
    return (
        f"the configuration selects step {sorted(config.step) or 'all'}, rank "
        f"{sorted(config.rank) or 'all'}; record once with both empty to see which there are"
    )
