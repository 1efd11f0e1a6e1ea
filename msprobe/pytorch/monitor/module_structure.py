"""What `print_struct` and `stack_info` write of a model's first step: shapes, and who calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from msprobe.pytorch.monitor.safely import safely
from msprobe_core.capture.stacks import StackBook
from msprobe_core.format.csv_table import CsvTable
from msprobe_core.torch.monitor.module_calls import ModuleCalls

Place = dict[str, dict[str, str]]


class StructureWatch:
    """Notes what goes into and out of all modules, and their gradients, until it is written."""

    def __init__(self) -> None:
        self._found: dict[str, Place] = {}
        self._calls = ModuleCalls()
        self._handles: list[Any] = []

    def follow(self, stage: int, model: nn.Module) -> None:
        """Follow a part of the model."""
        for name, module in model.named_modules():
            self._calls.after(module, partial(safely, self._forward, f"{stage}:{name}"))

    def close(self) -> None:
        """Let go of the model."""
        self._calls.close()
        while self._handles:
            self._handles.pop().remove()

    def write(self, folder: Path) -> Path:
        """Write what was seen and let go of the model. Raises OSError."""
        self.close()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "module_struct.json"
        path.write_text(json.dumps(self._found, indent=2), encoding="utf-8")
        return path

    def _forward(
        self,
        key: str,
        _: nn.Module,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        output: object,
    ) -> None:
        found = self._found.setdefault(key, {})
        found.setdefault("input", described([*args, *kwargs.values()]))
        found.setdefault("output", described(output))
        if "input_grad" not in found:
            self._watch_gradients(found, args, output)

    def _watch_gradients(self, found: Place, args: tuple[object, ...], output: object) -> None:
        """Gradients have the form of what they are gradients of; there are some when one comes."""
        outputs = output if isinstance(output, (tuple, list)) else (output,)
        sent, received = described(_with_gradients(args)), described(_with_gradients(outputs))

        def note(_: torch.Tensor) -> None:
            found.setdefault("input_grad", sent)
            found.setdefault("output_grad", received)

        for tensor in outputs:
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                self._handles.append(tensor.register_hook(note))
                return


class CallerWatch:
    """Notes once for each module where it is called, in the order in which they end."""

    def __init__(self) -> None:
        self._book = StackBook()
        self._stacks: dict[str, int] = {}
        self._calls = ModuleCalls()

    def follow(self, stage: int, model: nn.Module) -> None:
        """Follow a part of the model."""
        for name, module in model.named_modules():
            self._calls.after(module, partial(safely, self._note, f"{stage}:{name}"))

    def close(self) -> None:
        """Let go of the model."""
        self._calls.close()

    def write(self, folder: Path) -> Path | None:
        """Write what was seen and let go of the modules; None for nothing. Raises OSError."""
        self.close()
        if not self._stacks:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "stack_info.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            table = CsvTable(file)
            table.row(["module_name", "stack_info"])
            for name, number in self._stacks.items():
                frames = self._book.text(self._book.text_number(number))
                table.row([name, "".join(f"{frame} \n" for frame in frames)])
        return path

    def _note(self, name: str, *_: object) -> None:
        if name not in self._stacks:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and _is_of_hooks(frame):
                frame = frame.f_back
            self._stacks[name] = self._book.capture(frame, None, -1)


def described(value: object) -> dict[str, str]:
    """The form of what a module takes or gives: a tensor, or the kind and members of a list."""
    if isinstance(value, torch.Tensor):
        return {"config": "tensor", "tensor": _shape(value)}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        members = {str(place): _shape(each) for place, each in enumerate(value)}
        return {"config": f"{kind}[{len(value)}]", **members}
    if isinstance(value, Mapping):
        members = {str(key): _shape(each) for key, each in value.items()}
        return {"config": f"dict[{len(value)}]", **members}
    return {"config": _shape(value)}


def _with_gradients(values: Sequence[object]) -> tuple[object, ...]:
    """The tensors that get a gradient, None for all others."""
    return tuple(
        each if isinstance(each, torch.Tensor) and each.requires_grad else None for each in values
    )


def _shape(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"size={tuple(value.shape)}, dtype={value.dtype}"
    return str(type(value))


def _is_of_hooks(frame: FrameType) -> bool:
    """Frames of torch and of this package between a hook and the line that calls the module."""
    module = str(frame.f_globals.get("__name__", ""))
    return module.startswith(("torch.nn.modules.module", "msprobe.", "msprobe_core.", "contextlib"))
