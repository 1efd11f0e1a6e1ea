"""Keeps what a call that is not right was run with and gave, one .pt file a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from msprobe.acc_check.call_check import Checked
from msprobe.acc_check.framework import Results


def save_error_data(checked: Checked, folder: Path) -> None:
    """Write `<call>.<forward|backward>.<input|output.bench|output.device>.<i>.pt` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensor in _values(checked):
        torch.save(tensor.detach(), folder / f"{checked.row.name}.{name}.pt")


def _values(checked: Checked) -> Iterator[tuple[str, torch.Tensor]]:
    inputs = checked.inputs
    if inputs is not None:
        yield from _named("forward.input", dict(enumerate(inputs.args)) | inputs.kwargs)
        yield from _named("backward.input", dict(enumerate(inputs.gradients)))
    for side, results in (("bench", checked.reference), ("device", checked.device)):
        if results is not None:
            yield from _results(side, results)


def _results(side: str, results: Results) -> Iterator[tuple[str, torch.Tensor]]:
    yield from _named(f"forward.output.{side}", results.outputs)
    yield from _named(f"backward.output.{side}", dict(enumerate(results.gradients.values())))


def _named(prefix: str, values: Mapping[Any, object]) -> Iterator[tuple[str, torch.Tensor]]:
    for key, value in values.items():
        if isinstance(value, torch.Tensor):
            yield f"{prefix}.{key}", value
        elif isinstance(value, list):
            yield from _named(f"{prefix}.{key}", dict(enumerate(value)))
