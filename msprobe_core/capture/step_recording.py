"""One step's recording from its first `start` to its `step`: watching, files, the end.

It knows no framework: what sees the run is a `Watch`, which a framework hands in with its trace,
the files of its tensors and what saves values by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from msprobe_core.capture.output import StepOutput
from msprobe_core.capture.saved_values import SavedValues
from msprobe_core.capture.trace import Trace
from msprobe_core.config import Config
from msprobe_core.config.slices import Slice
from msprobe_core.format import SKETCH_VERSION
from msprobe_core.report import say
from msprobe_core.writer.step_files import Header


class CountedCalls(Protocol):
    """Watches some calls of a model alone; `start` and `stop` may alternate."""

    def is_for(self, model: Any, first: int, last: int) -> bool:
        """Whether this counts the calls of that model for that range: then it goes on counting."""
        ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Watch(Protocol):
    """All that sees the run of one step; `start` and `stop` may alternate."""

    def start(self, model: Any) -> None:
        """Watch from here on."""
        ...

    def stop(self) -> None:
        """Leave everything as it was before `start`, whatever of it fails."""
        ...

    def count_calls(self, model: Any, first: int, last: int) -> CountedCalls:
        """What watches those calls of the model alone, counted from 0; both ends are included."""
        ...

    def begin_single(self, module: Any, name: str) -> None:
        """Record one module by a name of the user's, and nothing else, until `end_single`."""
        ...

    def end_single(self) -> None:
        """Record everything again."""
        ...

    def place(self, model: Any, parallel: Mapping[str, object] | None) -> str | None:
        """Where the process stands among others, as JSON; None where nothing tells.

        Raises LifecycleError for what the user says of it.
        """
        ...

    def notes(self) -> Mapping[str, str]:
        """What dump.json says of the step beside its entries, as JSON by its key."""
        ...

    def forget(self) -> None:
        """The step has ended: hold nothing of it."""
        ...


class ValueFiles(Protocol):
    """The files of a step's tensors."""

    directory: Path
    count: int
    bytes: int

    def finish(self) -> None:
        """Write what was kept. Raises OSError as the file system does."""
        ...


@dataclass(frozen=True, slots=True)
class StepParts:
    """What a framework puts into the recording of a step."""

    trace: Trace
    watch: Watch
    files: ValueFiles
    saved: SavedValues


class StepRecording:
    """Records one step of this process into one directory."""

    def __init__(self, config: Config, step: int, output: StepOutput, parts: StepParts) -> None:
        self.config, self._step = config, step
        self.running = False
        self.notes: dict[str, str] = {}
        self.trace, self._output = parts.trace, output
        self._watch, self._files, self._saved = parts.watch, parts.files, parts.saved
        self._counted: CountedCalls | None = None

    @property
    def directory(self) -> Path:
        """Where the step is written."""
        return self._output.directory

    @property
    def failed(self) -> bool:
        """Whether the disk has ended the dump."""
        return self._output.failed

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The parts of tensors that are recorded in place of the whole, none for all."""
        return self.trace.book.slices

    @slices.setter
    def slices(self, parts: tuple[Slice, ...]) -> None:
        self.trace.book.slices = parts

    @property
    def entry_count(self) -> int:
        """How many entries the step has so far."""
        return self.trace.entry_count

    @property
    def saved_tensors(self) -> int:
        """How many tensor files the step has."""
        return self._files.count

    def start(
        self,
        model: Any,
        tokens: tuple[int, int] | None,
        parallel: Mapping[str, object] | None = None,
    ) -> None:
        """Watch the run; the model's modules at levels L0 and mix.

        With `tokens` only those calls of the model are recorded, counted from 0. `parallel` says
        where this process stands among others, if the user knows better than the framework.
        """
        place = self._watch.place(model, parallel)
        if place is not None:
            self.notes["parallel"] = place
        self.running = True
        if tokens is None:
            self._watch.start(model)
            return
        if self._counted is None or not self._counted.is_for(model, *tokens):
            self._counted = self._watch.count_calls(model, *tokens)
        self._counted.start()

    def stop(self) -> None:
        """Watch no longer and write what is finished; gradients are still recorded."""
        self._unwatch()
        if not self.config.async_dump:
            self.trace.safely("what is finished", self.trace.flush, False)

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Record one value by a name of the user's, and its gradient."""
        self._saved.save(variable, name, save_backward)

    def begin_single(self, module: Any, name: str) -> None:
        """Record one module alone until `end_single`."""
        self._watch.begin_single(module, name)

    def end_single(self) -> None:
        """Record everything again."""
        self._watch.end_single()

    def complete(self) -> None:
        """Write the rest, close the files as complete and say what was written."""
        if self.running:
            self.stop()
        self.trace.end()
        self._forget()
        if self.failed:
            return
        size = self._close_files()
        if not self.failed:
            say(
                f"step {self._step}: {self.trace.entry_count} entries, {size / 1e6:.1f} MB, "
                f"{self.trace.seconds_to_write:.2f} s to write, {self.directory}"
            )

    def discard(self) -> None:
        """Remove what a completed step has written."""
        self._output.discard()

    def abandon(self, reason: str) -> None:
        """Watch no longer and close the files as incomplete; never raises."""
        self._unwatch()
        self._output.abandon(reason)
        self.trace.end()
        self._forget()

    def leave(self) -> None:
        """In a process that was forked: watch no longer, write nothing; never raises."""
        self.trace.leave()
        self._unwatch()

    def _unwatch(self) -> None:
        """Leave everything, whatever of it fails: a hook that stays would be in the user's way."""
        if self._counted is not None:
            self.trace.safely("token_range", self._counted.stop)
        if self.running:
            self.running = False
            self._watch.stop()

    def _forget(self) -> None:
        self.trace.safely("gradients", self._watch.forget)
        self.trace.safely("saved values", self._saved.forget)

    def _close_files(self) -> int:
        if self.trace.recomputed:
            self.notes["recomputed"] = json.dumps(self.trace.recomputed)
        modes = self.trace.modes.text()
        if modes is not None:
            self.notes["modes"] = modes
        self.notes |= self._watch.notes()
        try:
            self._files.finish()
        except OSError as error:
            self._output.fail(error)
            return 0
        return self._output.complete(self.notes, self.trace.all_groups()) + self._files.bytes


def open_files(
    output: StepOutput, framework: str, config: Config, files: ValueFiles, *, has_flow: bool = False
) -> None:
    """Open the JSON files of a step. Raises OSError as the file system does.

    With `has_flow` there is a file of the calls that leave no values.
    """
    data_dir = str(files.directory) if config.task == "tensor" else None
    sketch = SKETCH_VERSION if config.sketch and config.summary_mode != "xor" else None
    header = Header(framework, config.task, config.level, data_dir, sketch, has_flow)
    output.open_files(header, config.extra_info)
