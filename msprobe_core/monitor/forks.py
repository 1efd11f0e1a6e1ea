"""What a forked process must leave to its parent: files, threads that it does not have, hooks."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Leaving(Protocol):
    """Something that a copy of this process must not go on with."""

    def leave(self) -> None:
        """Do nothing any more; take no lock and wait for nobody."""


_OPEN: WeakSet[Leaving] = WeakSet()


def leave_to_the_parent(owner: Leaving) -> None:
    """Have `owner.leave` called in every process that is forked from this one."""
    _OPEN.add(owner)


def _in_the_child() -> None:
    for owner in list(_OPEN):
        owner.leave()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_in_the_child)
