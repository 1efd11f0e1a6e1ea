"""What the check of a call asks of the framework that recorded it; all else is the same for any.

Numbers cross this border as tensors of PyTorch on the CPU: inputs are drawn or read as such, a run
on a device hands its results back as such, and the reference in float64, its random rounding and
every verdict are PyTorch's. So a framework is four things: how its functions are found, how one
runs on its devices, which those are, and what each function is called in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from msprobe.acc_check.inputs import Inputs
from msprobe.acc_check.plan import Call, Record

Watch = Callable[[set[int]], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how a call runs: `wide` means in float64, whatever the format of its inputs."""

    device: str = "cpu"
    wide: bool = False
    compiled: bool = False
    autocast: torch.dtype | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """What is compared: `reference` None means float64 on the CPU.

    `shortens` are the units that the device rounds matrix and convolution inputs to in float32,
    `exponential` is how far its exponentials may lie, relative to them, if it approximates them.
    """

    device: Place
    reference: Place | None = None
    shortens: tuple[float, float] = (0.0, 0.0)
    exponential: float = 0.0
    seed: int = 1234


@dataclass(frozen=True, slots=True)
class Results:
    """What a run gave, on the CPU: outputs by their position, changed inputs by theirs, gradients.

    `gradients` has one element for each tensor among the inputs, None where there is none.
    `drew` says that the call took random numbers.
    """

    outputs: dict[str, Any]
    changed: dict[str, torch.Tensor]
    gradients: dict[str, torch.Tensor | None]
    drew: bool


@dataclass(frozen=True, slots=True)
class Words:
    """A call in PyTorch's words: what is known of its ties and its random numbers goes by them."""

    api: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class Operator(Protocol):
    """The function that a recorded call names."""

    def run(self, inputs: Inputs, place: Place, watch: Watch | None = None) -> Results:
        """Run once, on copies; `watch` gets the storages of the inputs of a run in float64.

        Raises whatever the call raises.
        """

    def words(self, inputs: Inputs) -> Words:
        """The call as PyTorch would write it."""


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework whose calls can be run; made in the process that runs them."""

    warm_up: Call
    """What makes it load its libraries, which it does with its first call."""
    find: Callable[[Call], Operator]
    """The operator of a call; raises NotReproducible where there is none, or no reference."""
    choose_pair: Callable[[Sequence[str], int, str, int], Pair]
    """The pair of a worker, by devices, which are given out in turn, its number, reference, seed.

    Without devices it is the first accelerator, on a machine that has none the CPU. Raises
    InputError for a device that is not there.
    """
    describe: Callable[[Pair], str]
    """One line: what is compared with what."""
    compile_operators: Callable[[], None]
    """What -j does; raises InputError where the device knows no such thing."""


def product_of_matrices(prefix: str, tensor: Record) -> Call:
    """A product of two matrices, forward and backward, as a framework records its `tensor`."""
    made = {"dtype": "Float32", "shape": [64, 64], **tensor}
    given = {**made, "Max": 1.0, "Min": -1.0}
    forward = {"input_args": [given, given], "input_kwargs": {}, "output": [made]}
    backward = {"input": [given], "output": [given, given]}
    return Call(f"{prefix}.matmul.0", prefix, "matmul", forward, backward)
