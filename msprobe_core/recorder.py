"""One step's recording from its first `start` to its `step`: hooks on, hooks off, files written."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from msprobe_core.capture.api_table import build_table
from msprobe_core.capture.backward_runs import BackwardRuns
from msprobe_core.capture.calls import CallMode
from msprobe_core.capture.collectives import CollectiveWatch
from msprobe_core.capture.gradients import GradientWatch
from msprobe_core.capture.modules import Model, ModuleWatch
from msprobe_core.capture.regions import RegionWatch
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Entry, Trace, entry_text
from msprobe_core.config import Config
from msprobe_core.format import ERROR_LOG, TENSOR_DIR
from msprobe_core.report import say
from msprobe_core.values.tensors import TensorBook, ValueOptions
from msprobe_core.writer.rank_dir import make_rank_dir
from msprobe_core.writer.step_files import Header, StepFiles
from msprobe_core.writer.tensor_files import TensorFiles

_FLUSH_AT = 512


class StepRecorder:
    """Records one step of this process into one directory."""

    def __init__(self, config: Config, step: int, rank: int | None) -> None:
        self.config, self.step_number = config, step
        self.failed = False
        self.running = False
        self._seconds = 0.0
        self.directory, moved = make_rank_dir(config.dump_path, step, rank)
        if moved is not None:
            say(f"an earlier dump at {self.directory} was kept as {moved.name}")
        self._tensors = TensorFiles(self.directory / TENSOR_DIR)
        self.book = TensorBook(value_options(config), self._save, self.report)
        self.selection = Selection(config)
        self.trace = Trace(self.selection, self.book, config.extra_info, config.records_modules)
        data_dir = str(self._tensors.directory) if config.task == "tensor" else None
        header = Header(config.task, config.level, data_dir)
        self._files = StepFiles(self.directory, header, config.extra_info)
        self._flushes = 0
        self._capture: _Capture | None = None
        self.notes: dict[str, str] = {}

    def start(self, model: Model | None) -> None:
        """Enter hooks and modes; the model's modules are watched at levels L0 and mix."""
        if self._capture is None:
            self._capture = _Capture(self.config, self.trace)
        self._capture.start(model if self.config.records_modules else None)
        self.running = True

    def stop(self) -> None:
        """Leave hooks and modes and write what is finished; gradients are still recorded."""
        if self._capture is not None and self.running:
            self._capture.stop()
            self.running = False
        self.flush(last=False)

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
        groups = self.trace.all_groups() if self._flushes > 1 else None
        try:
            size = self._files.complete(self.notes, groups) + self._tensors.bytes
        except OSError as error:
            self.fail(error)
            return
        say(
            f"step {self.step_number}: {self.trace.entry_count} entries, "
            f"{size / 1e6:.1f} MB, {self._seconds:.2f} s to write, {self.directory}"
        )

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


class _Capture:
    """All that watches a run; entered and left as one."""

    def __init__(self, config: Config, trace: Trace) -> None:
        threads = ThreadState()
        gradients = GradientWatch(trace)
        self._regions = RegionWatch(threads, trace)
        self._mode: CallMode | None = None
        self._others: list[BackwardRuns | CollectiveWatch] = []
        if config.records_calls:
            table = build_table(config.risk_level)
            self._mode = CallMode(trace, table, threads, gradients, self._regions)
            self._others = [
                BackwardRuns(self._mode.enter_again, self._mode.leave),
                CollectiveWatch(trace, threads, self._regions, config.risk_level),
            ]
        self._modules = ModuleWatch(trace, threads, gradients, self._mode)

    def start(self, model: Model | None) -> None:
        if model is not None:
            self._modules.start(model)
        self._regions.start()
        for other in self._others:
            other.start()
        if self._mode is not None:
            self._mode.__enter__()

    def stop(self) -> None:
        if self._mode is not None:
            self._mode.leave()
        self._modules.stop()
        self._regions.stop()
        for other in self._others:
            other.stop()


def value_options(config: Config) -> ValueOptions:
    """What a configuration asks to write of each tensor."""
    return ValueOptions(
        statistics=config.summary_mode != "xor",
        checksum=None if config.summary_mode == "statistics" else config.summary_mode,
        save=config.task == "tensor" and config.bench_path is None,
        double=config.precision == "high",
    )
