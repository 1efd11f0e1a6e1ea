"""Runs a call on MindSpore's device: forward, and backward where it was recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore
import torch
from mindspore import Tensor, ops

from msprobe.acc_check.framework import Results
from msprobe.acc_check.inputs import Inputs
from msprobe.acc_check.run import leaf_paths, same_numbers
from msprobe_core.mindspore.record.arrays import array_of

Function = Callable[..., Any]
Gradients = dict[str, torch.Tensor | None]
_LARGEST_STATISTICS = 1 << 16


def run_on_device(function: Function, inputs: Inputs, seed: int) -> Results:
    """Run once on copies of the inputs; raises whatever the call raises."""
    mindspore.set_seed(seed % (1 << 32))
    call = _Call(function, inputs)
    gradients = call.with_gradients() if inputs.has_backward else call.without()
    outputs = dict(leaf_paths(call.output))
    return Results(
        outputs={path: _home(leaf) for path, leaf in outputs.items()},
        changed=_changed(inputs, call.handed, {id(leaf) for leaf in outputs.values()}),
        gradients=gradients,
        drew=False,
    )


class _Call:
    """One call; of its last run `output` is what came out and `handed` what went in, by path."""

    def __init__(self, function: Function, inputs: Inputs) -> None:
        self._function, self._inputs = function, inputs
        self._paths = {id(tensor): path for path, tensor in inputs.tensors()}
        self.handed: dict[str, Tensor] = {}
        self.output: Any = None

    def without(self) -> Gradients:
        """Run forward alone."""
        self._run(self._copies())
        return dict.fromkeys(self.handed)

    def with_gradients(self) -> Gradients:
        """Run, and send the recorded gradients of the outputs back to the inputs that need some.

        Twice: which outputs there are to send to is known once the call has run.
        """
        gradients = self.without()
        wanted = [path for path, tensor in self._inputs.tensors() if tensor.requires_grad]
        pairs = self._gradients_of_outputs()
        if not pairs or not wanted:
            return gradients
        copies = self._copies()

        def forward(*leaves: Tensor) -> Any:
            self._run({**copies, **dict(zip(wanted, leaves))})
            made = self._floating()
            kept = tuple(made[number] for number, _ in pairs)
            return kept if len(kept) > 1 else kept[0]

        sent = tuple(_moved(gradient) for _, gradient in pairs)
        back = ops.GradOperation(get_all=True, sens_param=True)(forward)
        found = back(*(copies[path] for path in wanted), sent if len(sent) > 1 else sent[0])
        several = found if isinstance(found, (tuple, list)) else (found,)
        return gradients | {path: _home(each) for path, each in zip(wanted, several)}

    def _run(self, tensors: dict[str, Tensor]) -> None:
        self.handed = tensors
        args = [self._filled(arg) for arg in self._inputs.args]
        kwargs = {key: self._filled(each) for key, each in self._inputs.kwargs.items()}
        self.output = self._function(*args, **kwargs)

    def _copies(self) -> dict[str, Tensor]:
        return {path: _moved(tensor) for path, tensor in self._inputs.tensors()}

    def _leaves(self) -> list[Tensor]:
        return [leaf for _, leaf in leaf_paths(self.output) if isinstance(leaf, Tensor)]

    def _floating(self) -> list[Tensor]:
        return [leaf for leaf in self._leaves() if _is_differentiable(leaf)]

    def _gradients_of_outputs(self) -> list[tuple[int, torch.Tensor]]:
        """What is sent, by the number of its floating output: by position, else in their order."""
        recorded, leaves, floating = self._inputs.gradients, self._leaves(), self._floating()
        if len(recorded) == len(leaves):
            found = [g for g, leaf in zip(recorded, leaves) if _is_differentiable(leaf)]
        else:
            found = [gradient for gradient in recorded if gradient is not None]
        return [
            (number, _fitting(gradient, leaf))
            for number, (gradient, leaf) in enumerate(zip(found, floating))
            if gradient is not None
        ]

    def _filled(self, value: object) -> object:
        """MindSpore's value of an argument: tuples for lists, its own names of formats."""
        if isinstance(value, torch.Tensor):
            return self.handed[self._paths[id(value)]]
        if isinstance(value, (list, torch.Size)):
            return tuple(self._filled(each) for each in value)
        if isinstance(value, dict):
            return {key: self._filled(each) for key, each in value.items()}
        return _format(value) if isinstance(value, torch.dtype) else value


def _fitting(gradient: torch.Tensor, output: Tensor) -> torch.Tensor:
    like = _home(output)
    fits = gradient.shape == like.shape
    return gradient.to(like.dtype) if fits else torch.ones_like(like)


def _changed(
    inputs: Inputs, handed: dict[str, Tensor], returned: set[int]
) -> dict[str, torch.Tensor]:
    """The inputs that the call wrote to; large ones are not looked at."""
    changed = {}
    for path, before in inputs.tensors():
        if id(handed[path]) in returned or before.numel() > _LARGEST_STATISTICS:
            continue
        now = _home(handed[path])
        if now.shape == before.shape and not same_numbers(before.detach(), now):
            changed[path] = now
    return changed


def _is_differentiable(leaf: Tensor) -> bool:
    return str(leaf.dtype).startswith(("Float", "BFloat", "Complex"))


def _moved(tensor: torch.Tensor) -> Tensor:
    """A tensor of MindSpore's with the same numbers in memory of its own."""
    plain = tensor.detach()
    if plain.dtype == torch.bfloat16:
        return Tensor(plain.float().numpy().copy(), _format(torch.bfloat16))
    return Tensor(plain.numpy().copy(), _format(plain.dtype))


def _home(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    array = array_of(value).copy()
    return torch.from_numpy(array).to(_torch_format(value.dtype))


def _format(dtype: torch.dtype) -> Any:
    """MindSpore's format of that name: `bool_` for bool, else the same."""
    name = str(dtype).removeprefix("torch.")
    return getattr(mindspore, "bool_" if name == "bool" else name)


def _torch_format(dtype: Any) -> torch.dtype:
    found: torch.dtype = getattr(torch, str(dtype).lower())
    return found
