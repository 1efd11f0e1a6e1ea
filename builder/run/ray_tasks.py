"""Runs pairs as tasks of a Ray cluster, or of one that is started on this machine for them.

A task whose worker dies is given to another one by Ray itself, so what a task does must bear being
done twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from builder.errors import InputError
from builder.run.executor import PairWork, Report
from builder.work.memory import pair_bytes
from builder.work.outcome import PairOutcome
from builder.work.plan import PairPlan
from msprobe_core.format.installation import install_command

_Made = TypeVar("_Made", bound=PairOutcome)
# How often Ray starts a task again whose worker was lost.
RETRIES = 3


@dataclass(frozen=True, slots=True)
class RayTasks:
    """One Ray task a pair: a core, and the memory that the pair is expected to take.

    RAY_ADDRESS names the cluster; without it a running one of this machine is used, or started.
    `workers` limits how many tasks are asked for at a time, None for as many as the cluster takes.
    """

    workers: int | None = None

    def run(self, pairs: Sequence[PairPlan], work: PairWork[_Made], report: Report) -> list[_Made]:
        """Work on every pair and report each as it is ready.

        Raises InputError when Ray is not installed or its cluster cannot be reached.
        """
        ray = _ray()
        is_ours = not ray.is_initialized()
        if is_ours:
            _connect(ray, self.workers)
        try:
            return self._run(ray, pairs, work, report)
        finally:
            if is_ours:
                ray.shutdown()

    def _run(
        self, ray: ModuleType, pairs: Sequence[PairPlan], work: PairWork[_Made], report: Report
    ) -> list[_Made]:
        attempt = ray.remote(max_retries=RETRIES)(_attempt)
        shared = ray.put(work)
        waiting = list(reversed(pairs))
        running: dict[Any, PairPlan] = {}
        outcomes: list[_Made] = []
        while waiting or running:
            while waiting and len(running) < (self.workers or len(pairs)):
                plan = waiting.pop()
                # More than a node has would wait for ever; the pair fails by itself instead.
                most = _largest_node(ray)
                task = attempt.options(num_cpus=1, memory=min(pair_bytes(plan), most))
                running[task.remote(shared, plan)] = plan
            done, _ = ray.wait(list(running), num_returns=1)
            for each in done:
                outcomes.append(_collect(ray, each, running.pop(each), work))
                report(outcomes[-1])
        return outcomes


def _attempt(work: PairWork[PairOutcome], plan: PairPlan) -> PairOutcome:
    return work.attempt(plan, 1)


def _collect(ray: ModuleType, task: object, plan: PairPlan, work: PairWork[_Made]) -> _Made:
    try:
        outcome: _Made = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        return work.lost(plan, f"raised {type(error.cause).__name__}: {error.cause}")
    except ray.exceptions.RayError as error:
        first = " ".join(str(error).split())
        return work.lost(plan, f"of Ray was lost {RETRIES + 1} times ({first[:200]})")
    return outcome


def _largest_node(ray: ModuleType) -> int:
    nodes = [node["Resources"].get("memory", 0) for node in ray.nodes() if node["Alive"]]
    return int(max(nodes, default=0))


def _ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise InputError(
            f"--executor ray: {error}", f"on all hosts: {install_command('ray')}"
        ) from error
    return ray  # type: ignore[no-any-return]  # a module without types


def _connect(ray: ModuleType, workers: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "warning"}
    try:
        if "RAY_ADDRESS" in os.environ:
            ray.init(**quiet)
            return
        try:
            ray.init(address="auto", **quiet)
        except ConnectionError:  # none runs here
            ray.init(num_cpus=workers, include_dashboard=False, **quiet)
    except Exception as error:  # Ray raises whatever its cluster does
        raise InputError(f"Ray: {error}", "check RAY_ADDRESS and that the cluster is up") from error
