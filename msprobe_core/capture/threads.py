"""What is going on in each thread: the running module calls and whether recording is on."""

from __future__ import annotations

import threading
from typing import Any

from msprobe_core.capture.entry import ModuleCall


class Local(threading.local):
    """State of one thread. `quiet` is above 0 inside a recorded call; `running` and `open` are
    the module calls in progress, outermost first; `borders` those of modules that are compiled in
    place.
    """

    def __init__(self) -> None:
        self.quiet = 0
        self.running: list[ModuleCall] = []
        self.open: list[Any] = []
        self.region: ModuleCall | None = None
        self.borders: list[Any] = []

    def parent(self) -> ModuleCall | None:
        """What a call that begins now belongs to."""
        return self.running[-1] if self.running else self.region


class ThreadState:
    """Holds the state of all threads. `muted` while `module_dump` records one module alone."""

    def __init__(self) -> None:
        self.begin()
        self.muted = False

    def begin(self) -> None:
        """Forget what threads were in: a recording may end in the middle of a module."""
        self.local = Local()
