"""Checksums of the integers that a model is fed: tokens, positions, sequence lengths.

They stand beside `data` in dump.json, as the member `inputs`: which samples a call has worked on,
whatever the statistics are. Equal rows have equal checksums on any rank and in any micro-batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from weakref import ref

import torch

from msprobe_core.torch.measure.checksum import crc32_of, crc32_of_rows
from msprobe_core.torch.measure.strided import has_memory

_INTEGERS = frozenset((torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8))
_MOST_ROWS = 256
_Known = tuple[ref[torch.Tensor], int, dict[str, object]]


def _has_integers(tensor: torch.Tensor) -> bool:
    return tensor.dtype in _INTEGERS and tensor.numel() > 0 and has_memory(tensor)


class IntegerInputs:
    """Collects them from the calls of modules that stand in no other call of a module."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, dict[str, object]]] = {}
        self._known: dict[int, _Known] = {}

    def note(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Take the integer tensors among the arguments of a call."""
        given = {**{str(place): value for place, value in enumerate(args)}, **kwargs}
        found = {
            key: self._described(value)
            for key, value in given.items()
            if type(value) is torch.Tensor and _has_integers(value)
        }
        if found:
            self._calls[name] = found

    def forget(self) -> None:
        """Let the tensors go."""
        self._known.clear()

    def text(self) -> str | None:
        """What was noted as the text of a JSON object; None without anything."""
        return json.dumps(self._calls) if self._calls else None

    def _described(self, tensor: torch.Tensor) -> dict[str, object]:
        known = self._known.get(id(tensor))
        version = -1 if tensor.is_inference() else tensor._version
        if known is not None and known[0]() is tensor and known[1] == version >= 0:
            return known[2]
        here = tensor if tensor.device.type == "cpu" else tensor.detach().cpu()
        described: dict[str, object] = {"shape": list(here.shape), "checksum": crc32_of(here)}
        if here.ndim > 1 and here.shape[0] <= _MOST_ROWS:
            described["rows"] = crc32_of_rows(here)
        # Every layer is given the same positions: they are read once.
        self._known[id(tensor)] = ref(tensor), version, described
        return described
