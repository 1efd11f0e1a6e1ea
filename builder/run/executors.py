"""Finds an executor by its name: those that are here, and those that other packages bring."""

from __future__ import annotations

from importlib.metadata import entry_points

from builder.errors import InputError
from builder.run.executor import Executor, LocalProcesses

GROUP = "msprobe.executors"


def executor_named(name: str, workers: int | None) -> Executor:
    """The executor of a name; `workers` limits how many pairs it runs at a time.

    Entry points of the group name something that is called with the number of workers. Raises
    InputError for a name that nothing has, and for one whose package is not installed.
    """
    if name == "local":
        return LocalProcesses(workers)
    if name == "ray":
        from builder.run.ray_tasks import RayTasks

        return RayTasks(workers)
    others = {point.name: point for point in entry_points(group=GROUP)}
    if name not in others:
        listed = ", ".join(["local", "ray", *sorted(others)])
        raise InputError(f"{name}: no such executor", f"choose one of {listed}")
    executor: Executor = others[name].load()(workers)
    return executor
