"""What records one step of MindSpore, put together: its trace, its files, all that watches."""

from __future__ import annotations

from msprobe_core.capture.output import StepOutput
from msprobe_core.capture.saved_values import SavedValues
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook
from msprobe_core.capture.step_recording import StepParts, StepRecording, open_files
from msprobe_core.capture.trace import Trace
from msprobe_core.capture.value_options import ValueOptions, saves_value
from msprobe_core.config import Config
from msprobe_core.format import TENSOR_DIR
from msprobe_core.format.frameworks import MINDSPORE
from msprobe_core.mindspore.levels.array_writer import ArrayWriter
from msprobe_core.mindspore.mindspore_watch import MindSporeWatch
from msprobe_core.mindspore.record.array_book import ArrayBook
from msprobe_core.mindspore.record.npy_files import NpyFiles


def open_recording(config: Config, step: int, rank: int | None, stacks: StackBook) -> StepRecording:
    """Begin a step. Raises OSError."""
    output = StepOutput(config.dump_path, step, rank)
    files = NpyFiles(output.directory / TENSOR_DIR, config.async_dump)
    selection = Selection(config)
    saves = saves_value(config, selection, step, output.directory.name)
    book = ArrayBook(ValueOptions.of(config), files, output.report, saves)
    trace = Trace(config, selection, book, stacks, output)
    open_files(output, MINDSPORE.name, config, files)
    watch = MindSporeWatch(config, trace)
    saved = SavedValues(trace, ArrayWriter(trace), alone=config.level == "debug")
    return StepRecording(config, step, output, StepParts(trace, watch, files, saved))
