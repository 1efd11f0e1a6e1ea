"""Calls that leave no values: what they were given, and from whom, in place of numbers.

Their text goes to flow.json: arguments as in dump.json, in place of a tensor the value name of the
output that it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from msprobe_core.capture.entry import Entry
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.memory.unwritten import Overwritten
from msprobe_core.torch.record.process_groups import group_or_operation
from msprobe_core.torch.record.record_text import TORCH_SCALARS
from msprobe_core.values.arguments import ArgumentWriter, Enclosed, Fragment
from msprobe_core.values.text import quoted

NOBODY = '{"source": null}'
"""What stands for a tensor that no call put out, or whose memory is only filled."""


class _Sources:
    """Writes a tensor as who made it."""

    tensor_type: type = torch.Tensor
    scalars = TORCH_SCALARS

    def __init__(self, trace: MemoryTrace) -> None:
        self._trace = trace

    def record(self, tensor: torch.Tensor, path: str, key: object = None) -> str:
        maker = self._trace.book.maker_of(tensor)
        return NOBODY if maker is None else f'{{"source": {quoted(maker)}}}'

    @staticmethod
    def special(value: object) -> str | Enclosed | None:
        return NOBODY if isinstance(value, Overwritten) else group_or_operation(value)


class PassingCalls:
    """Writes the calls of one step that leave no values."""

    def __init__(self, trace: MemoryTrace) -> None:
        self._trace = trace
        self._writer = ArgumentWriter(_Sources(trace))

    def fill(self, entry: Entry, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Write the arguments of a call, as long as nothing of it has been written in place."""
        parts: list[Fragment] = ['"input_args": ']
        self._writer.sequence(args, "", parts)
        if kwargs:
            parts.append(', "input_kwargs": ')
            self._writer.mapping(kwargs, "", parts)
        entry.parts = parts

    def put_out(self, name: str, result: object) -> None:
        """Remember whose output the tensors of a result are."""
        book = self._trace.book
        if isinstance(result, torch.Tensor):
            book.put_out(result, f"{name}.output.0")
            return
        for path, tensor in _tensors(result, f"{name}.output"):
            book.put_out(tensor, path)


def _tensors(result: object, path: str) -> list[tuple[str, torch.Tensor]]:
    if isinstance(result, torch.Tensor):
        return [(path, result)]
    if not isinstance(result, (tuple, list)):
        return []
    return [each for at, one in enumerate(result) for each in _tensors(one, f"{path}.{at}")]
