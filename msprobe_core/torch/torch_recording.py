"""What records one step of PyTorch, put together: its trace, its files, all that watches."""

from __future__ import annotations

from msprobe_core.capture.output import StepOutput
from msprobe_core.capture.saved_values import SavedValues
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook
from msprobe_core.capture.step_recording import StepParts, StepRecording, open_files
from msprobe_core.capture.value_options import ValueOptions, saves_value
from msprobe_core.config import Config
from msprobe_core.format import TENSOR_DIR
from msprobe_core.format.frameworks import PYTORCH
from msprobe_core.torch.intervene.graft import Graft
from msprobe_core.torch.intervene.isolation import Isolation
from msprobe_core.torch.levels.tensor_writer import TensorWriter
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.record.passing_calls import PassingCalls
from msprobe_core.torch.record.tensor_files import TensorFiles
from msprobe_core.torch.record.tensors import TensorBook
from msprobe_core.torch.torch_watch import TorchWatch
from msprobe_core.torch.watch.custom_functions import CustomApis

_WITHOUT_FLOW = ("overflow_check", "structure")
"""Tasks that write a part of the calls, or no values."""


def open_recording(
    config: Config,
    step: int,
    rank: int | None,
    stacks: StackBook,
    custom: CustomApis,
    isolation: Isolation | None = None,
    graft: Graft | None = None,
) -> StepRecording:
    """Begin a step. Raises OSError.

    With `isolation` some modules run on inputs of an earlier dump, with `graft` some calls take
    values of one.
    """
    output = StepOutput(config.dump_path, step, rank)
    files = TensorFiles(output.directory / TENSOR_DIR, config.async_dump)
    selection, options = Selection(config), ValueOptions.of(config)
    saves = saves_value(config, selection, step, output.directory.name)
    book = TensorBook(options, files, output.report, saves)
    trace = MemoryTrace(config, selection, book, stacks, output)
    is_asked = options.flow and config.extra_info and config.records_calls
    follows = is_asked and config.task not in _WITHOUT_FLOW
    if follows:
        trace.passing = PassingCalls(trace)
    open_files(output, PYTORCH.name, config, files, has_flow=follows)
    watch = TorchWatch(config, trace, custom, isolation, graft)
    saved = SavedValues(trace, TensorWriter(trace), alone=config.level == "debug")
    return StepRecording(config, step, output, StepParts(trace, watch, files, saved))
