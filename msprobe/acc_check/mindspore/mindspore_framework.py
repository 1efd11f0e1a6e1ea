"""MindSpore, as the check of its calls asks for it: its devices against PyTorch on the CPU.

The reference is PyTorch's and not MindSpore's own in float64, so that a formula that is wrong in
every format is found as well, and calls that MindSpore has no kernel for on the CPU have one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import torch

from msprobe_core.mindspore.requirements import check_requirements

check_requirements()
os.environ.setdefault("GLOG_v", "4")  # what a call logs while it fails is told by its exception

import mindspore

from msprobe.acc_check.framework import (
    Framework,
    Operator,
    Pair,
    Place,
    Results,
    Watch,
    Words,
    product_of_matrices,
)
from msprobe.acc_check.inputs import Inputs
from msprobe.acc_check.mindspore.device_choice import (
    compile_operators,
    is_of_mindspore,
    open_pair,
)
from msprobe.acc_check.mindspore.device_functions import find_function, make_primitive
from msprobe.acc_check.mindspore.device_run import Function, run_on_device
from msprobe.acc_check.mindspore.meanings import meaning_of
from msprobe.acc_check.mindspore.primitives import primitive_of
from msprobe.acc_check.mindspore.words import Meaning
from msprobe.acc_check.plan import Call
from msprobe.acc_check.run import run

_NO_KERNEL = ("unregistered", "Not found op", "Create kernelmod for op", "Unsupported op [")


@dataclass(frozen=True, slots=True)
class MindSporeOperator:
    """A function of MindSpore's, and what computes the same in PyTorch."""

    function: Function
    meaning: Meaning

    def run(self, inputs: Inputs, place: Place, watch: Watch | None = None) -> Results:
        if is_of_mindspore(place):
            return self._on_device(inputs)
        reference = run(self._in_torch(inputs), self.meaning.api, inputs, place, watch)
        return _with_zeros(reference, inputs)

    def _on_device(self, inputs: Inputs) -> Results:
        """Raises NotImplementedError for a missing kernel, else RuntimeError without a trace."""
        try:
            return run_on_device(self.function, inputs, seed=torch.initial_seed())
        except Exception as error:  # MindSpore raises what it likes, with the trace of its own code
            said = str(error).partition("\n---")[0].strip()
            if any(words in said for words in _NO_KERNEL):
                raise NotImplementedError(said) from error
            raise RuntimeError(f"{type(error).__name__}: {said}") from error

    def words(self, inputs: Inputs) -> Words:
        return self.meaning.words(inputs.args, inputs.kwargs)

    def _in_torch(self, inputs: Inputs) -> Function:
        """With the results that were recorded.

        Some calls of MindSpore give the largest elements where PyTorch's give their positions too.
        """

        def reference(*args: Any, **kwargs: Any) -> Any:
            result = self.meaning.function(*args, **kwargs)
            both = isinstance(result, tuple) and len(result) == 2
            return result[0] if both and len(inputs.expected) == 1 else result

        return reference


def find(call: Call) -> Operator:
    """The function that a call names; raises NotReproducible where it or its meaning is unknown."""
    if call.prefix == "Primitive":
        primitive = primitive_of(call)
        return MindSporeOperator(make_primitive(primitive), primitive.meaning)
    function = find_function(call.prefix, call.api)
    return MindSporeOperator(function, meaning_of(call.prefix, call.api))


def describe(pair: Pair) -> str:
    """One line: what is compared with what."""
    kind = "float64" if pair.reference is None else "the call's own format"
    ours = f"{pair.device.device} of MindSpore {mindspore.__version__}"
    return f"{ours} against PyTorch {torch.__version__} on the CPU in {kind}"


def _with_zeros(results: Results, inputs: Inputs) -> Results:
    """With zeros for inputs that nothing depends on, as MindSpore gives them."""
    gradients = dict(results.gradients)
    for path, tensor in inputs.tensors():
        if tensor.requires_grad and gradients.get(path) is None and path in gradients:
            gradients[path] = torch.zeros_like(tensor, requires_grad=False)
    return replace(results, gradients=gradients)


MINDSPORE = Framework(
    product_of_matrices("Mint", {"type": "mindspore.Tensor"}),
    find,
    open_pair,
    describe,
    compile_operators,
)
