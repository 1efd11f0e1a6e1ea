"""One step of a graph recording on disk: rows become entries, entries become files."""

from __future__ import annotations

import json
from collections.abc import Iterable

from msprobe_core.capture.output import StepOutput
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.trace import Trace
from msprobe_core.capture.value_options import ValueOptions
from msprobe_core.config import Config
from msprobe_core.format import SKETCH_VERSION, TENSOR_DIR
from msprobe_core.report import say
from msprobe_core.torch.graph.compilers import CompilerFacts
from msprobe_core.torch.graph.graph_entries import EntryMaker, Wants
from msprobe_core.torch.graph.log import Row
from msprobe_core.torch.graph.sites import OWNERS, STACKS
from msprobe_core.torch.record.tensor_files import TensorFiles
from msprobe_core.torch.record.tensors import TensorBook
from msprobe_core.writer.step_files import Header


class StepDump:
    """The files of one step. Raises OSError when their folder cannot be made.

    `unranked` begins the folder's name where the process has no rank.
    """

    def __init__(
        self,
        config: Config,
        step: int,
        rank: int | None,
        wants: Wants | None = None,
        unranked: str = "proc",
    ) -> None:
        self._step = step
        self.output = StepOutput(config.dump_path, step, rank, unranked)
        sketch = SKETCH_VERSION if config.sketch else None
        self.output.open_files(
            Header("pytorch", config.task, config.level, None, sketch), config.extra_info
        )
        selection = Selection(config)
        files = TensorFiles(self.output.directory / TENSOR_DIR, deferred=False)
        book = TensorBook(ValueOptions(), files, self.output.report)  # all was read before
        self.trace = Trace(config, selection, book, STACKS, self.output)
        self.notes: dict[str, str] = {}
        self._maker = EntryMaker(
            self.trace, OWNERS, wants or (lambda name: selection.wants(name, picked=False))
        )

    def write(
        self,
        rows: Iterable[Row],
        lost: int,
        errors: Iterable[tuple[str, Exception]],
        facts: CompilerFacts,
    ) -> set[int]:
        """Write all rows of the step and close the files; the owners that had a row."""
        self.trace.safely("the rows of a graph", self._maker.take, rows)
        self.trace.safely("the entries of a graph", self._maker.finish)
        for where, error in errors:
            self.trace.report(where, error)
        self.trace.end()
        capture = facts.describe()
        if lost:
            capture["lost"] = lost
        self.notes["capture"] = json.dumps(capture)
        size = self.output.complete(self.notes, self.trace.all_groups())
        if not self.output.failed:
            say(
                f"step {self._step}: {self.trace.entry_count} entries, {size / 1e6:.1f} MB, "
                f"{self.output.directory}"
            )
        return self._maker.seen
