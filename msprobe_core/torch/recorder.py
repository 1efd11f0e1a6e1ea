"""One step's recording from its first `start` to its `step`: hooks on, hooks off, files written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch

from msprobe_core.capture.earlier_checksums import entry_of, read_checksums
from msprobe_core.capture.output import StepOutput
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook
from msprobe_core.config import Config
from msprobe_core.config.slices import Slice
from msprobe_core.errors import LifecycleError
from msprobe_core.format import SKETCH_VERSION, TENSOR_DIR
from msprobe_core.report import say
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.parallel import parallel_header
from msprobe_core.torch.record.passing_calls import PassingCalls
from msprobe_core.torch.record.record_maker import ValueOptions
from msprobe_core.torch.record.tensor_files import TensorFiles
from msprobe_core.torch.record.tensors import SavesFile, TensorBook
from msprobe_core.torch.watch import Capture
from msprobe_core.torch.watch.custom_functions import CustomApis
from msprobe_core.torch.watch.graft import Graft
from msprobe_core.torch.watch.isolation import Isolation
from msprobe_core.torch.watch.model_modules import Model
from msprobe_core.torch.watch.saved_values import SavedValues
from msprobe_core.torch.watch.token_range import TokenRange
from msprobe_core.writer.step_files import Header

_WITHOUT_FLOW = ("overflow_check", "structure")
"""Tasks that write a part of the calls, or no values."""


class TorchStepRecorder:
    """Records one step of this process into one directory. Raises OSError.

    With `isolation` some modules run on inputs of an earlier dump, with `graft` some calls take
    values of one.
    """

    def __init__(
        self,
        config: Config,
        step: int,
        rank: int | None,
        custom: CustomApis,
        stacks: StackBook,
        isolation: Isolation | None = None,
        graft: Graft | None = None,
    ) -> None:
        self.config, self._step = config, step
        self.running = False
        self.notes: dict[str, str] = {}
        self._output = output = StepOutput(config.dump_path, step, rank)
        self._tensors = TensorFiles(output.directory / TENSOR_DIR, config.async_dump)
        selection = Selection(config)
        saves = _saves_file(config, selection, step, output.directory.name)
        options = value_options(config)
        self._book = book = TensorBook(options, self._tensors, output.report, saves)
        self.trace = MemoryTrace(config, selection, book, stacks, output)
        data_dir = str(self._tensors.directory) if config.task == "tensor" else None
        sketch = SKETCH_VERSION if options.sketch else None
        is_asked = options.flow and config.extra_info and config.records_calls
        follows = is_asked and config.task not in _WITHOUT_FLOW
        if follows:
            self.trace.passing = PassingCalls(self.trace)
        header = Header("pytorch", config.task, config.level, data_dir, sketch, follows)
        output.open_files(header, config.extra_info)
        self._isolation, self._graft = isolation, graft
        self._capture = Capture(config, self.trace, custom, self._isolation, self._graft)
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
    def slices(self) -> tuple[Slice, ...]:
        """The parts of tensors that are recorded in place of the whole, none for all."""
        return self._book.slices

    @slices.setter
    def slices(self, parts: tuple[Slice, ...]) -> None:
        self._book.slices = parts

    @property
    def entry_count(self) -> int:
        """How many entries the step has so far."""
        return self.trace.entry_count

    @property
    def saved_tensors(self) -> int:
        """How many tensor files the step has."""
        return self._tensors.count

    def start(
        self,
        model: Model | None,
        tokens: tuple[int, int] | None,
        parallel: Mapping[str, object] | None = None,
    ) -> None:
        """Enter hooks and modes; the model's modules are watched at levels L0 and mix.

        With `tokens` only those calls of the model are recorded, counted from 0. `parallel` says
        where this process stands among others, if the user knows better than torch.
        """
        header = self._header(model, parallel)
        if header is not None:
            self.notes["parallel"] = header
        self.running = True
        if tokens is None:
            self._capture.start(model)
            return
        assert isinstance(model, torch.nn.Module)
        if self._tokens is None or not self._tokens.is_for(model, *tokens):
            start = partial(self._capture.start, model)
            self._tokens = TokenRange(model, *tokens, start, self._capture.stop, self.trace)
        self._tokens.start()

    def stop(self) -> None:
        """Leave hooks and modes and write what is finished; gradients are still recorded."""
        self._unwatch()
        if not self.config.async_dump:
            self.trace.safely("what is finished", self.trace.flush, False)

    def _unwatch(self) -> None:
        """Leave everything, whatever of it fails: a hook that stays would be in the user's way."""
        trace = self.trace
        if self._tokens is not None:
            trace.safely("token_range", self._tokens.stop)
        if self.running:
            self.running = False
            self._capture.stop()

    def save(self, variable: object, name: str, save_backward: bool) -> None:
        """Record one value by a name of the user's, and its gradient."""
        self._saved.save(variable, name, save_backward)

    def begin_single(self, module: torch.nn.Module, name: str) -> None:
        """Record one module alone until `end_single`."""
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

    def _forget(self) -> None:
        self.trace.safely("gradients", self._capture.forget)
        self.trace.safely("saved values", self._saved.forget)

    def _header(self, model: Model | None, parallel: Mapping[str, object] | None) -> str | None:
        try:
            return parallel_header(model, parallel)
        except LifecycleError:  # what the user gave
            raise
        except Exception as error:  # what his parameters raise must not reach his step
            self.trace.report("the axes of a parallel run", error)
            return None

    def _close_files(self) -> int:
        if self.trace.recomputed:
            self.notes["recomputed"] = json.dumps(self.trace.recomputed)
        if self._isolation is not None:
            self.notes["loaded"] = json.dumps(self._isolation.replaced)
        if self._graft is not None:
            self.notes["grafted"] = json.dumps(self._graft.replaced)
        self.notes |= self._capture.outermost.notes()
        if self._capture.compiled_calls:
            self.notes["compiled"] = json.dumps({"calls": self._capture.compiled_calls})
        optimizer = self._capture.optimizers.text()
        if optimizer is not None:
            self.notes["optimizer"] = optimizer
        try:
            self._tensors.finish()
        except OSError as error:
            self._output.fail(error)
            return 0
        return self._output.complete(self.notes, self.trace.all_groups()) + self._tensors.bytes


def value_options(config: Config) -> ValueOptions:
    """What a configuration asks to write of each tensor."""
    return ValueOptions(
        statistics=config.summary_mode != "xor",
        checksum=None if config.summary_mode == "statistics" else config.summary_mode,
        save=config.task == "tensor" and config.bench_path is None,
        double=config.precision == "high",
        flow=config.flow,
        sketch=config.sketch and config.summary_mode != "xor",
        rows=config.rows,
    )


def _saves_file(config: Config, selection: Selection, step: int, rank_dir: str) -> SavesFile | None:
    """Which values of a statistics dump are saved as tensors beside their records."""
    if config.tensor_list:
        return lambda path, _: selection.saves(entry_of(path))
    if config.bench_path is not None:
        earlier = read_checksums(config.bench_path, step, rank_dir, config.diff_nums)
        return None if earlier is None else earlier.differs
    return None
