"""PyTorch, as the check of its calls asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msprobe.acc_check.devices import choose_pair, describe, set_jit
from msprobe.acc_check.framework import Operator, Pair, Place, Results, Watch, Words
from msprobe.acc_check.functions import Function, find_function
from msprobe.acc_check.inputs import Inputs
from msprobe.acc_check.plan import Call
from msprobe.acc_check.run import run

_TENSOR = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [64, 64]}
_GIVEN = {**_TENSOR, "Max": 1.0, "Min": -1.0, "requires_grad": True}


@dataclass(frozen=True, slots=True)
class TorchOperator:
    """A function of PyTorch's and the name that it goes by."""

    function: Function
    api: str

    def run(self, inputs: Inputs, place: Place, watch: Watch | None = None) -> Results:
        return run(self.function, self.api, inputs, place, watch)

    def words(self, inputs: Inputs) -> Words:
        return Words(self.api, inputs.args, inputs.kwargs)


class PyTorch:
    """A `Framework`."""

    # Torch loads its matrix library, its autograd engine and more with the first call.
    warm_up = Call(
        "Functional.linear.0",
        "Functional",
        "linear",
        {"input_args": [_GIVEN, _GIVEN], "input_kwargs": {}, "output": [_TENSOR]},
        {"input": [_GIVEN], "output": []},
    )

    def find(self, call: Call) -> Operator:
        return TorchOperator(find_function(call.prefix, call.api), call.api)

    def choose_pair(self, devices: Sequence[str], number: int, reference: str, seed: int) -> Pair:
        return choose_pair(devices, number, reference, seed)

    def describe(self, pair: Pair) -> str:
        return describe(pair)

    def compile_operators(self) -> None:
        set_jit(jit_compile=True)


PYTORCH = PyTorch()
