"""What recording asks of a framework: the protocols that `msprobe_core.torch` fulfils.

Nothing in this room imports a framework; the debugger hands one in.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from msprobe_core.capture.stacks import StackBook
from msprobe_core.config import Config
from msprobe_core.config.slices import Slice
from msprobe_core.values.arguments import Records


class ValueBook(Records, Protocol):
    """Makes the records of one step. `abnormal` is set by a value that is not finite; `side` tells
    which part of an entry is being written.
    """

    abnormal: bool
    side: Literal["input", "output"] | None
    slices: tuple[Slice, ...]
    """The parts of tensors that are recorded in place of the whole, none for all."""

    @property
    def has_pending(self) -> bool:
        """Whether numbers of some record still lie on a device."""
        ...

    def read_back(self) -> None:
        """Fetch all numbers that lie on devices."""
        ...

    def written(self, value: object) -> None:
        """Note that a tensor, or those in a container, may just have been written."""
        ...

    def forget_all(self) -> None:
        """Hold nothing of the step any more."""
        ...


class StepRecorder(Protocol):
    """One step of this process, from its first `start` to its end."""

    notes: dict[str, str]
    slices: tuple[Slice, ...]
    """The parts of tensors that are recorded in place of the whole, none for all."""
    running: bool

    @property
    def directory(self) -> Path: ...

    @property
    def failed(self) -> bool:
        """Whether the disk has ended the dump."""
        ...

    @property
    def entry_count(self) -> int: ...

    @property
    def saved_tensors(self) -> int: ...

    def start(
        self,
        model: Any,
        tokens: tuple[int, int] | None,
        parallel: Mapping[str, object] | None = None,
    ) -> None:
        """Watch the run; with `tokens` only those calls of the model, counted from 0.

        `parallel` says where the process stands among others.
        """
        ...

    def stop(self) -> None:
        """Watch no longer, and write what is finished."""
        ...

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Record one value by a name of the user's."""
        ...

    def begin_single(self, module: Any, name: str) -> None:
        """Record one module alone until `end_single`."""
        ...

    def end_single(self) -> None:
        """Record everything again."""
        ...

    def complete(self) -> None:
        """Write the rest and close the files."""
        ...

    def discard(self) -> None:
        """Remove what was written."""
        ...

    def abandon(self, reason: str) -> None:
        """Watch no longer and close the files as incomplete; never raises."""
        ...

    def leave(self) -> None:
        """In a process that was forked: watch no longer, write nothing; never raises."""
        ...


class Framework(Protocol):
    """A framework as the debugger and its lifecycle see it."""

    def close(self) -> None:
        """Take off what stays on a model between steps."""
        ...

    def rank(self) -> int | None:
        """The rank of this process, None when it has none (yet)."""
        ...

    def is_module(self, value: object) -> bool:
        """Whether a value is a module whose calls can be counted and recorded."""
        ...

    def open_step(
        self, config: Config, step: int, rank: int | None, stacks: StackBook
    ) -> StepRecorder:
        """Begin a step. Raises OSError when its folder cannot be made."""
        ...
