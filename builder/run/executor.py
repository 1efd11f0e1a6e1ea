"""Runs the pairs of a plan: one process per pair, some at a time, and none can stop the others.

No more at a time than memory takes. A pair has a process of its own even when it is alone: what it
read need not be taken down piece by piece.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Generic, Protocol, TypeVar

from builder.processes.interrupts import interrupts_held, leave_interrupts_to_parent
from builder.processes.lifeline import Lifeline
from builder.processes.own_imports import own_imports
from builder.processes.second_process import CAN_FORK
from builder.work.memory import affordable_workers, available_bytes
from builder.work.outcome import PairOutcome
from builder.work.phases import Phase, heard_by
from builder.work.plan import PairPlan

# Forking spares every pair the imports; Windows and macOS have no safe fork.
_CONTEXT: ForkContext | SpawnContext = (
    multiprocessing.get_context("fork") if CAN_FORK else multiprocessing.get_context("spawn")
)
Report = Callable[[PairOutcome], None]
# A pair entered a phase.
Watch = Callable[[PairPlan, Phase], None]
Outcome = TypeVar("Outcome", bound=PairOutcome, covariant=True)
_Made = TypeVar("_Made", bound=PairOutcome)


class PairWork(Protocol[Outcome]):
    """What is done with each pair; it travels to the process that does it."""

    def attempt(self, plan: PairPlan, cores: int) -> Outcome:
        """Do all of the work on a pair; what goes wrong is an outcome too."""

    def lost(self, plan: PairPlan, cause: str) -> Outcome:
        """The outcome of a pair whose process ended without one."""


class Executor(Protocol):
    """Runs the pairs of a plan somewhere; the entry point group `msprobe.executors` adds others.

    A pair that fails, or whose process is lost, is an outcome; none can stop the others.
    """

    def run(self, pairs: Sequence[PairPlan], work: PairWork[_Made], report: Report) -> list[_Made]:
        """Work on every pair and report each as it is ready."""


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """Processes of this machine, None for as many as there are cores.

    `watch` hears of each phase that a pair enters; `meanwhile` is done here once the first pairs
    are under way.
    """

    workers: int | None = None
    watch: Watch | None = None
    meanwhile: Callable[[], object] | None = None

    def run(self, pairs: Sequence[PairPlan], work: PairWork[_Made], report: Report) -> list[_Made]:
        """Work on every pair and report each as it is ready.

        A pair that fails becomes an outcome with its error; the outcomes come as they are ready.
        """
        cores = max(1, self.workers or _usable_cores())
        count = affordable_workers(pairs, min(cores, len(pairs)), available_bytes())
        share = max(1, cores // max(1, count))
        # A daemonic process, such as a pool's, may not have children.
        alone = multiprocessing.current_process().daemon
        if not alone and (CAN_FORK or count > 1):
            return _Processes(work, share, self.watch, self.meanwhile).run(pairs, report, count)
        with _no_collection():
            return [_reported(_work_here(p, work, share, self.watch), report) for p in pairs]


@dataclass(slots=True)
class _Running:
    process: BaseProcess
    plan: PairPlan
    answer: Connection
    lifeline: Lifeline


def _work_here(plan: PairPlan, work: PairWork[_Made], share: int, watch: Watch | None) -> _Made:
    with heard_by(None if watch is None else lambda phase: watch(plan, phase)):
        return work.attempt(plan, share)


def _usable_cores() -> int:
    # A container may have fewer than the machine.
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class _Processes(Generic[_Made]):
    """Runs pairs in processes of their own; each answers with its phases, then its outcome."""

    work: PairWork[_Made]
    share: int
    watch: Watch | None
    meanwhile: Callable[[], object] | None

    def run(self, pairs: Sequence[PairPlan], report: Report, workers: int) -> list[_Made]:
        meanwhile = self.meanwhile
        waiting = list(reversed(pairs))
        running: list[_Running] = []
        started: list[BaseProcess] = []  # those that may still have something to say
        outcomes: list[_Made] = []
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.append(self._start(waiting.pop(), started))
                if meanwhile is not None:
                    meanwhile()
                    meanwhile = None
                ready = wait([each.answer for each in running])
                for each in [each for each in running if each.answer in ready]:
                    outcome = self._next(each)
                    if outcome is not None:
                        running.remove(each)
                        started.remove(each.process)
                        outcomes.append(_reported(outcome, report))
        finally:
            for process in started:
                process.kill()
                process.join()
        return outcomes

    def _start(self, plan: PairPlan, started: list[BaseProcess]) -> _Running:
        receiver, sender = _CONTEXT.Pipe(duplex=False)
        lifeline = Lifeline(_CONTEXT)
        watched = self.watch is not None
        process = _CONTEXT.Process(
            target=_attempt, args=(plan, self.work, self.share, sender, lifeline, watched)
        )
        with interrupts_held(), own_imports():
            process.start()
            started.append(process)
        sender.close()
        lifeline.started()
        return _Running(process, plan, receiver, lifeline)

    def _next(self, running: _Running) -> _Made | None:
        """The outcome of a pair, or None where it only entered another phase."""
        try:
            said: _Made | Phase = running.answer.recv()
        except Exception:  # its end, wherever in a message it came: EOF, OSError, half a pickle
            running.process.join()
            code = running.process.exitcode or 0
            killed = f"killed by signal {-code} (out of memory?)"
            said = self.work.lost(running.plan, killed if code < 0 else f"ended with {code}")
        if isinstance(said, str):
            if self.watch is not None:
                self.watch(running.plan, said)
            return None
        # It has nothing left to do but to give its memory back, which nobody has to wait for.
        running.answer.close()
        running.lifeline.release()
        return said


def _attempt(
    plan: PairPlan,
    work: PairWork[PairOutcome],
    share: int,
    answer: Connection,
    lifeline: Lifeline,
    watched: bool,
) -> None:
    leave_interrupts_to_parent()
    lifeline.follow()
    with _no_collection(), heard_by(answer.send if watched else None):
        answer.send(work.attempt(plan, share))
    answer.close()


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


def _reported(outcome: _Made, report: Report) -> _Made:
    report(outcome)
    return outcome
