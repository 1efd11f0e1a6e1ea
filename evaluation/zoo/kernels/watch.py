"""Sees every operator that an experiment computes, below all that a dumper records.

Operators of the dumper itself are not counted, so that a place means the same with and without
one. What the optimizer computes is no place for a fault; controls round it otherwise as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.graph import increment_version
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from evaluation.zoo.experiment import Experiment

Phase = Literal["forward", "backward", "update"]
SMALLEST = 8  # elements: fewer have no columns, rows or tiles

# Neither arithmetic nor a move that a recorded call stands for: memory, random numbers, and views
# that do not say so.
_NO_KERNEL = frozenset(
    "detach lift_fresh _unsafe_view unsafe_split clone _to_copy copy_ _local_scalar_dense fill_ "
    "zero_ scalar_tensor bernoulli bernoulli_ native_dropout normal_ uniform_".split()
)
# The two factors of an operator that sums products over the last dimension of the first.
PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2)}
_MAKES_MEMORY = ("empty", "zeros", "ones", "full", "arange", "rand", "new_", "eye", "_foreach_zero")


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """The `nth` output of an operator in a phase of each step, counted from 0."""

    phase: Phase
    operator: str
    nth: int


class KernelWatch(TorchDispatchMode):
    """Hands each computed output to `computed`, which may write into it."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._updating = False
        self.step = -1
        self._follow(experiment)

    def computed(
        self,
        site: Site,
        kernel: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outputs: list[Tensor],
    ) -> None:
        """What a kernel has just written: its floating outputs of SMALLEST elements or more."""

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What to keep of the inputs of a kernel that may write over them."""
        return args, kwargs

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run an operator and look at what it computed."""
        kwargs = kwargs or {}
        if _reads_for_a_dumper() or not is_kernel(func):
            return func(*args, **kwargs)
        with torch._C.DisableTorchFunction():  # what is computed here is no call of the run
            kept = self.before(args, kwargs)
            result = func(*args, **kwargs)
            written = result
            if _writes_its_inputs(func, result):
                # Under a mode torch counts no version for these, as it does without one.
                written = args[0]
                increment_version(written)
            outputs = floating(written)
            if outputs:
                self.computed(self._site(func), func, *kept, outputs)
        return result

    def _site(self, func: Any) -> Site:
        name = func._schema.name.removeprefix("aten::")
        in_backward = torch._C._current_graph_task_id() != -1
        phase: Phase = "update" if self._updating else "backward" if in_backward else "forward"
        self._counts[phase, name] += 1
        return Site(phase, name, self._counts[phase, name] - 1)

    def _follow(self, experiment: Experiment) -> None:
        inputs = experiment.inputs

        def next_step(step: int) -> tuple[Tensor, ...]:
            self._counts.clear()
            self.step = step
            with _disable_current_modes():
                return inputs(step)

        experiment.inputs = next_step
        experiment.optimizer.register_step_pre_hook(lambda *_: self._set_updating(True))
        experiment.optimizer.register_step_post_hook(lambda *_: self._set_updating(False))

    def _set_updating(self, updating: bool) -> None:
        self._updating = updating


def is_kernel(func: Any) -> bool:
    """Whether an operator computes or moves elements into memory of its own or of an input."""
    schema = func._schema
    namespace, _, name = schema.name.partition("::")
    if namespace != "aten" or name in _NO_KERNEL or name.startswith(_MAKES_MEMORY):
        return False
    if name.endswith("_like"):
        return False
    aliases = [value.alias_info for value in schema.returns]
    return not any(alias is not None and not alias.is_write for alias in aliases)


def _writes_its_inputs(func: Any, result: Any) -> bool:
    return result is None and func._schema.name.endswith("_")


def _reads_for_a_dumper() -> bool:
    return bool(torch._C._is_torch_function_all_disabled())


def floating(value: Any) -> list[Tensor]:
    """The tensors of a result that a fault or another rounding can show in."""
    if isinstance(value, Tensor):
        return [value] if value.is_floating_point() and value.numel() >= SMALLEST else []
    if isinstance(value, (list, tuple)):
        return [tensor for inner in value for tensor in floating(inner)]
    return []
