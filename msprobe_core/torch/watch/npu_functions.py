"""Records the fused functions of torch_npu as `NPU.<name>`: attention, norms, rotary embeddings.

Most are operators of `torch.ops.npu`, which announce themselves to the function mode by whatever
name they were imported. The others are functions of the module `torch_npu`; those are wrapped while
a recording is on.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.names.api_table import Api
from msprobe_core.torch.watch.calls import CallMode
from msprobe_core.torch.watch.custom_functions import recorded

PREFIX = "NPU"
NAMESPACE = "npu"
"""That of the operators in `torch.ops`."""
_NAMES = ("npu_", "_npu_")
_OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)


class NpuFunctions:
    """The functions of torch_npu, wrapped for the time of a recording where it is loaded."""

    def __init__(self, mode: CallMode) -> None:
        self._mode = mode
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap what torch_npu has, if the program has imported it."""
        module = sys.modules.get("torch_npu")
        if module is None or self._replaced:
            return
        for name, function in list(_functions(module)):
            own = recorded(self._mode, function, Api(PREFIX, name, True))
            self._replaced.put(module, name, own)

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()


def _functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What users call: named after the device, and no operator, which is seen anyway."""
    for name, member in vars(module).items():
        is_function = callable(member) and not inspect.isclass(member)
        if name.startswith(_NAMES) and is_function and not isinstance(member, _OPERATORS):
            yield name, member
