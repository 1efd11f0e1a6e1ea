"""Runs a plan: one process per pair, up to a number at a time, and none can stop the others.

No more at a time than memory takes. A pair has a process of its own even when it is alone: what it
read need not be taken down piece by piece.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path

from builder.database.writer import Database
from builder.errors import BuilderError
from builder.interrupts import interrupts_held, leave_interrupts_to_parent
from builder.parallel import CAN_FORK
from builder.pipeline.early_store import EarlyStore
from builder.pipeline.memory import affordable_workers, available_bytes
from builder.pipeline.pair import Instructions, work_on
from builder.pipeline.plan import PairPlan
from builder.pipeline.store import PairOutcome, store, store_failure

# Forking spares every pair the imports; Windows and macOS have no safe fork.
_CONTEXT: ForkContext | SpawnContext = (
    multiprocessing.get_context("fork") if CAN_FORK else multiprocessing.get_context("spawn")
)
Report = Callable[[PairOutcome], None]


@dataclass(slots=True)
class _Running:
    process: BaseProcess
    plan: PairPlan
    answer: Connection


def run_pairs(
    pairs: Sequence[PairPlan], database: Database, instructions: Instructions, report: Report
) -> list[PairOutcome]:
    """Work on every pair and store it; a pair that fails becomes an outcome with its error."""
    cores = max(1, instructions.options.workers or _usable_cores())
    workers = affordable_workers(pairs, min(cores, len(pairs)), available_bytes())
    shared = replace(instructions, cores=max(1, cores // max(1, workers)))
    # A daemonic process, such as a pool's, may not have children.
    alone = multiprocessing.current_process().daemon
    if not alone and (CAN_FORK or workers > 1):
        return _run_in_processes(pairs, database, shared, report, workers)
    with _no_collection():
        return [_reported(_attempt(plan, database, shared), report) for plan in pairs]


def _usable_cores() -> int:
    # A container may have fewer than the machine.
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _run_in_processes(
    pairs: Sequence[PairPlan],
    database: Database,
    instructions: Instructions,
    report: Report,
    workers: int,
) -> list[PairOutcome]:
    waiting = list(reversed(pairs))
    running: list[_Running] = []
    started: list[BaseProcess] = []
    outcomes: list[PairOutcome] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_start(waiting.pop(), database, instructions, started))
            ready = wait([work.answer for work in running])
            for work in [work for work in running if work.answer in ready]:
                running.remove(work)
                outcomes.append(_reported(_collect(work, database), report))
    finally:
        for process in started:
            process.kill()
            process.join()
    return outcomes


def _start(
    plan: PairPlan, database: Database, instructions: Instructions, started: list[BaseProcess]
) -> _Running:
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_work, args=(plan, database.final, instructions, sender))
    with interrupts_held():
        process.start()
        started.append(process)
    sender.close()
    return _Running(process, plan, receiver)


def _work(plan: PairPlan, final: Path, instructions: Instructions, answer: Connection) -> None:
    leave_interrupts_to_parent()
    with _no_collection():
        answer.send(_attempt(plan, Database(final), instructions))
    answer.close()


def _collect(work: _Running, database: Database) -> PairOutcome:
    try:
        outcome = work.answer.recv()
        assert isinstance(outcome, PairOutcome)
    except EOFError:
        work.process.join()
        code = work.process.exitcode or 0
        cause = f"killed by signal {-code} (out of memory?)" if code < 0 else f"ended with {code}"
        outcome = store_failure(database, work.plan, f"{work.plan.problem}: worker {cause}")
    work.process.join()
    work.answer.close()
    return outcome


def _attempt(plan: PairPlan, database: Database, instructions: Instructions) -> PairOutcome:
    try:
        with EarlyStore(database, beside=instructions.cores > 1) as early:
            result = work_on(plan, instructions, early.begin)
            return store(database, result, instructions, early)
    except BuilderError as error:
        return store_failure(database, plan, str(error))
    except sqlite3.OperationalError as error:
        text = f"{database.final}: cannot be written ({error}); free space or choose another -o"
        return store_failure(database, plan, text)
    except Exception as error:  # one pair's defect must not take the others' results with it
        text = f"{plan.problem}: {type(error).__name__}: {error}; please report this"
        return store_failure(database, plan, text)


@contextmanager
def _no_collection() -> Iterator[None]:
    # Hundreds of thousands of records that all live on: collecting over them finds nothing and
    # costs a third of the time. A process of its own does not even take them down at its end.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _reported(outcome: PairOutcome, report: Report) -> PairOutcome:
    report(outcome)
    return outcome
