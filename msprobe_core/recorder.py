"""One step's recording from its first `start` to its `step`: hooks on, hooks off, files written."""

from __future__ import annotations

import json
import shutil
import time
from functools import partial

import torch

from msprobe_core.capture import Capture
from msprobe_core.capture.custom import CustomApis
from msprobe_core.capture.isolation import Isolation
from msprobe_core.capture.modules import Model
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook
from msprobe_core.capture.token_range import TokenRange
from msprobe_core.capture.trace import Entry, Trace, entry_text
from msprobe_core.config import Config
from msprobe_core.format import ERROR_LOG, TENSOR_DIR
from msprobe_core.report import say
from msprobe_core.values.judging import entry_of, read_checksums
from msprobe_core.values.tensors import Judge, TensorBook, ValueOptions
from msprobe_core.writer.rank_dir import make_rank_dir
from msprobe_core.writer.step_files import Header, StepFiles
from msprobe_core.writer.tensor_files import TensorFiles


class StepRecorder:
    """Records one step of this process into one directory."""

    def __init__(
        self,
        config: Config,
        step: int,
        rank: int | None,
        custom: CustomApis,
        stacks: StackBook,
    ) -> None:
        self.config, self.step_number = config, step
        self.failed = False
        self.running = False
        self._seconds = 0.0
        self.directory, moved = make_rank_dir(config.dump_path, step, rank)
        if moved is not None:
            say(f"an earlier dump at {self.directory} was kept as {moved.name}")
        self._tensors = TensorFiles(self.directory / TENSOR_DIR, config.async_dump)
        self.book = TensorBook(value_options(config), self._save, self.report)
        self.selection = Selection(config)
        self.book.judge = self._judge()
        nested = config.records_modules
        self.trace = Trace(self.selection, self.book, stacks, config.extra_info, nested)
        if not config.async_dump:
            self.trace.write = partial(self.flush, last=False)
        data_dir = str(self._tensors.directory) if config.task == "tensor" else None
        header = Header(config.task, config.level, data_dir)
        self._files = StepFiles(self.directory, header, config.extra_info)
        self._flushes = 0
        self._capture: Capture | None = None
        self._tokens: TokenRange | None = None
        self._custom = custom
        self._isolation = isolation_of(config, step, rank)
        self.notes: dict[str, str] = {}

    def start(self, model: Model | None, tokens: tuple[int, int] | None) -> None:
        """Enter hooks and modes; the model's modules are watched at levels L0 and mix.

        With `tokens` only those calls of the model are recorded, counted from 1.
        """
        if self._capture is None:
            self._capture = Capture(self.config, self.trace, self._custom, self._isolation)
        capture = self._capture
        self.running = True
        if tokens is None:
            capture.start(model)
            return
        assert isinstance(model, torch.nn.Module)
        if self._tokens is None:
            start = partial(capture.start, model)
            self._tokens = TokenRange(model, *tokens, start, capture.stop)
        self._tokens.start()

    def stop(self) -> None:
        """Leave hooks and modes and write what is finished; gradients are still recorded."""
        if self._tokens is not None:
            self._tokens.stop()
        if self._capture is not None and self.running:
            self._capture.stop()
            self.running = False
        if not self.config.async_dump:
            self.flush(last=False)

    @property
    def capture(self) -> Capture | None:
        """What watches the run, once it was started."""
        return self._capture

    @property
    def saved_tensors(self) -> int:
        """How many tensor files the step has."""
        return self._tensors.count

    def flush(self, last: bool) -> None:
        """Write the entries that are finished. A disk that fails ends the dump, not the run."""
        if self.failed:
            return
        began = time.perf_counter()
        entries, parents = self.trace.take(last)
        if entries or parents:
            self._flushes += 1
            try:
                groups = self.trace.group_stacks(entries)
                self._files.append(self._texts(entries), parents, groups)
            except OSError as error:
                self.fail(error)
        self._seconds += time.perf_counter() - began

    def complete(self) -> None:
        """Write the rest, close the files as complete and say what was written."""
        if self.running:
            self.stop()
        self.flush(last=True)
        self.trace.closed = True
        self.book.forget_records()
        if self.failed:
            return
        if self.trace.recomputed:
            self.notes["recomputed"] = json.dumps(self.trace.recomputed)
        if self._isolation is not None:
            self.notes["loaded"] = json.dumps(self._isolation.replaced)
        groups = self.trace.all_groups() if self._flushes > 1 else None
        try:
            self._tensors.finish()
            size = self._files.complete(self.notes, groups) + self._tensors.bytes
        except OSError as error:
            self.fail(error)
            return
        say(
            f"step {self.step_number}: {self.trace.entry_count} entries, "
            f"{size / 1e6:.1f} MB, {self._seconds:.2f} s to write, {self.directory}"
        )

    def _judge(self) -> Judge | None:
        """Which values of a statistics record are saved as tensors beside it."""
        config = self.config
        if config.tensor_list:
            return lambda path, _: self.selection.saves(entry_of(path))
        if config.bench_path is not None:
            name = self.directory.name
            earlier = read_checksums(config.bench_path, self.step_number, name, config.diff_nums)
            return None if earlier is None else earlier.differs
        return None

    def _texts(self, entries: list[Entry]) -> list[str]:
        # A structure dump has names and stacks only.
        return [entry_text(entry) for entry in entries] if self.selection.values else []

    def discard(self) -> None:
        """Remove what a completed step has written."""
        shutil.rmtree(self.directory, ignore_errors=True)
        if not any(self.directory.parent.iterdir()):
            self.directory.parent.rmdir()

    def fail(self, error: OSError) -> None:
        """End the dump of this process after a disk error; the run goes on."""
        if self.failed:
            return
        self.failed = True
        self.trace.closed = True
        say(f"{self.directory}: {error.strerror or error}; dumping has ended, the run goes on")
        try:
            self._files.abandon()
        except OSError:
            return  # the same disk; it has been said

    def report(self, path: str, error: BaseException) -> None:
        """Note a value that could not be read, in one line of the error log."""
        if isinstance(error, OSError):
            self.fail(error)
            return
        text = " ".join(str(error).split())
        try:
            with (self.directory / ERROR_LOG).open("a", encoding="utf-8") as log:
                log.write(f"{path}: {type(error).__name__}: {text}\n")
        except OSError as failure:
            self.fail(failure)

    def _save(self, tensor: object, path: str) -> str:
        return self._tensors.save(tensor, path)  # type: ignore[arg-type]


def value_options(config: Config) -> ValueOptions:
    """What a configuration asks to write of each tensor."""
    return ValueOptions(
        statistics=config.summary_mode != "xor",
        checksum=None if config.summary_mode == "statistics" else config.summary_mode,
        save=config.task == "tensor" and config.bench_path is None,
        double=config.precision == "high",
    )


def isolation_of(config: Config, step: int, rank: int | None) -> Isolation | None:
    """The `load` section at work, None without one. Raises LifecycleError."""
    return None if config.load is None else Isolation(config.load, step, rank)
