"""One run of the pre-check: plan, processes, tables; taken up again where a former one stopped."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msprobe.acc_check.plan import Plan, Selection, read_plan
from msprobe.acc_check.pool import Pool
from msprobe.acc_check.rows import CallRow, Tables, timestamp
from msprobe.acc_check.settings import read_settings
from msprobe.acc_check.standards import Standard
from msprobe.acc_check.worker import Setup


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    dump: Path
    folder: Path = Path()
    save_error_data: bool = False
    jit_compile: bool = False
    devices: tuple[str, ...] = ()
    reference: str = "float64"
    resumed: Path | None = None
    without_repetitions: bool = False
    config: Path | None = None
    processes: int = 1
    seed: int = 1234
    seconds: float = 300.0
    standard: Standard = "rounding"


@dataclass(slots=True)
class Outcome:
    """What a run did; `not_right` are calls with a warning or an error, in the order of running."""

    tables: Tables
    pair: str
    planned: int
    resumed: int
    seconds: float = 0.0
    done: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    not_right: list[CallRow] = field(default_factory=list)
    unknown_names: tuple[str, ...] = ()
    error_data: Path | None = None


Progress = Callable[[int, int, CallRow], None]


def run_check(options: Options, progress: Progress | None = None) -> Outcome:
    """Check every call of a dump that has no row yet; raises BuilderError."""
    settings = read_settings(options.config)
    selection = Selection(settings.white, settings.black, options.without_repetitions)
    plan = read_plan(options.dump, selection)
    stamp = timestamp()
    resumed = None if options.resumed is None else Tables.resume(options.resumed, settings.decimals)
    finished = set() if resumed is None else resumed.finished()
    calls = [call for call in plan.calls if call.name not in finished]
    folder = options.folder if resumed is None else resumed.result.parent
    error_data = (settings.error_data or folder) / f"ut_error_data{stamp}"
    kept = error_data if options.save_error_data else None
    pool = Pool(_setup(options, plan, kept), _processes(options, len(calls)), options.seconds)
    try:
        pair = pool.pair  # a device that cannot be used leaves no tables behind
        tables = resumed or Tables.create(folder, stamp, settings.decimals)
        outcome = Outcome(tables, pair, len(plan.calls), len(plan.calls) - len(calls))
        outcome.unknown_names = _without_calls(plan, settings.white)
        outcome.error_data = kept
        started = time.monotonic()
        for row in pool.rows(calls):
            tables.append(row)
            _count(outcome, row)
            if progress is not None:
                progress(outcome.done, len(calls), row)
        outcome.seconds = time.monotonic() - started
    finally:
        pool.close()
    return outcome


def _setup(options: Options, plan: Plan, error_data: Path | None) -> Setup:
    return Setup(
        devices=options.devices,
        reference=options.reference,
        seed=options.seed,
        standard=options.standard,
        tensors=plan.tensors,
        error_data=error_data,
        jit_compile=options.jit_compile,
        framework=plan.framework,
    )


def _processes(options: Options, calls: int) -> int:
    return max(1, min(options.processes, calls))


def _count(outcome: Outcome, row: CallRow) -> None:
    outcome.done += 1
    status = "SKIP" if row.forward == "SKIP" else "pass"
    for bad in ("warning", "error"):
        if bad in (row.forward, row.backward):
            status = bad
    outcome.statuses[status] += 1
    if status in ("warning", "error"):
        outcome.not_right.append(row)


def _without_calls(plan: Plan, names: tuple[str, ...]) -> tuple[str, ...]:
    recorded = {call.api for call in plan.calls}
    return tuple(name for name in names if name not in recorded)
