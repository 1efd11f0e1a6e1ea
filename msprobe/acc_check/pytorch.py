"""PyTorch, as the check of its calls asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from msprobe.acc_check.devices import choose_pair, compile_operators, describe
from msprobe.acc_check.framework import (
    Framework,
    Operator,
    Place,
    Results,
    Watch,
    Words,
    product_of_matrices,
)
from msprobe.acc_check.functions import Function, find_function
from msprobe.acc_check.inputs import Inputs
from msprobe.acc_check.plan import Call
from msprobe.acc_check.run import run


@dataclass(frozen=True, slots=True)
class TorchOperator:
    """A function of PyTorch's and the name that it goes by."""

    function: Function
    api: str

    def run(self, inputs: Inputs, place: Place, watch: Watch | None = None) -> Results:
        return run(self.function, self.api, inputs, place, watch)

    def words(self, inputs: Inputs) -> Words:
        return Words(self.api, inputs.args, inputs.kwargs)


def find(call: Call) -> Operator:
    """The function that a call names; raises NotReproducible where there is none."""
    return TorchOperator(find_function(call.prefix, call.api), call.api)


PYTORCH = Framework(
    product_of_matrices("Torch", {"type": "torch.Tensor", "requires_grad": True}),
    find,
    choose_pair,
    describe,
    compile_operators,
)
