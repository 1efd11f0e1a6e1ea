"""One step's recording from its first `start` to its `step`: hooks on, hooks off, files written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mindspore import nn

from msprobe_core.capture.earlier_checksums import entry_of, read_checksums
from msprobe_core.capture.output import StepOutput
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook
from msprobe_core.capture.trace import Trace
from msprobe_core.config import Config
from msprobe_core.config.slices import Slice
from msprobe_core.errors import WriteError
from msprobe_core.format import SKETCH_VERSION, TENSOR_DIR
from msprobe_core.mindspore.record.array_book import ArrayBook, Saves, ValueOptions
from msprobe_core.mindspore.record.npy_files import NpyFiles
from msprobe_core.mindspore.watch.every_watch import Capture
from msprobe_core.mindspore.watch.model_calls import TokenRange
from msprobe_core.mindspore.watch.named_values import SavedValues
from msprobe_core.report import say
from msprobe_core.writer.step_files import Header


class MindSporeStepRecorder:
    """Records one step of this process into one directory. Raises OSError."""

    slices: tuple[Slice, ...] = ()

    def __init__(self, config: Config, step: int, rank: int | None, stacks: StackBook) -> None:
        self.config, self._step = config, step
        self.running = False
        self.notes: dict[str, str] = {}
        self._output = output = StepOutput(config.dump_path, step, rank)
        self._files = NpyFiles(output.directory / TENSOR_DIR, config.async_dump)
        selection = Selection(config)
        saves = _saves(config, selection, step, output.directory.name)
        options = value_options(config)
        book = ArrayBook(options, self._files, output.report, saves)
        self.trace = Trace(config, selection, book, stacks, output)
        data_dir = str(self._files.directory) if config.task == "tensor" else None
        sketch = SKETCH_VERSION if options.sketch else None
        header = Header("mindspore", config.task, config.level, data_dir, sketch)
        output.open_files(header, config.extra_info)
        self._capture = Capture(config, self.trace)
        self._tokens: TokenRange | None = None
        self._saved = SavedValues(self.trace, alone=config.level == "debug")

    @property
    def directory(self) -> Path:
        """Where the step is written."""
        return self._output.directory

    @property
    def failed(self) -> bool:
        """Whether the disk has ended the dump."""
        return self._output.failed

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
        """Watch the run; with `tokens` only those calls of the model, counted from 0."""
        self.running = True
        if tokens is None:
            self._capture.start(model)
            return
        assert isinstance(model, nn.Cell)
        if self._tokens is None:
            self._tokens = TokenRange(model, *tokens, self._capture, self.trace)
        self._tokens.start()

    def stop(self) -> None:
        """Watch no longer, and write what is finished; gradients are still recorded."""
        self._unwatch()
        if not self.config.async_dump:
            self.trace.safely("what is finished", self.trace.flush, False)

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Record one value by a name of the user's, and its gradient."""
        self._saved.save(variable, name, save_backward)

    def begin_single(self, module: Any, name: str) -> None:
        """Record one cell alone until `end_single`."""
        self._capture.begin_single(module, name)

    def end_single(self) -> None:
        """Record everything again."""
        self._capture.end_single()

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
        if self._tokens is not None:
            self.trace.safely("token_range", self._tokens.stop)
        if self.running:
            self.running = False
            self._capture.stop()

    def _forget(self) -> None:
        self.trace.safely("gradients", self._capture.forget)
        self.trace.safely("saved values", self._saved.forget)

    def _close_files(self) -> int:
        try:
            self._files.finish()
        except WriteError as error:
            self._output.fail(error)
            return 0
        return self._output.complete(self.notes, self.trace.all_groups()) + self._files.bytes


def value_options(config: Config) -> ValueOptions:
    """What a configuration asks to write of each tensor."""
    return ValueOptions(
        statistics=config.summary_mode != "xor",
        checksum=None if config.summary_mode == "statistics" else config.summary_mode,
        save=config.task == "tensor" and config.bench_path is None,
        flow=config.flow,
        sketch=config.sketch and config.summary_mode != "xor",
    )


def _saves(config: Config, selection: Selection, step: int, rank_dir: str) -> Saves | None:
    """Which values of a statistics dump are saved as tensors beside their records."""
    if config.tensor_list:
        return lambda path, _: selection.saves(entry_of(path))
    if config.bench_path is not None:
        earlier = read_checksums(config.bench_path, step, rank_dir, config.diff_nums)
        return None if earlier is None else earlier.differs
    return None
