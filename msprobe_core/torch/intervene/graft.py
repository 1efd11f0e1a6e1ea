"""Lets calls of a run take their values from an earlier dump: the `graft` section.

Forward outputs, inputs and parameters are put in as the call runs. What a backward entry hands on
is put in by an identity before the call, whose own backward pass answers with the other gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from msprobe_core.config.graft_section import GraftConfig, Take
from msprobe_core.torch.intervene.dumped_values import DumpedValues, item

_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class _OtherGradient(torch.autograd.Function):
    """The value unchanged forwards, the gradient of the other dump backwards."""

    @staticmethod
    def forward(ctx: Any, own: torch.Tensor, answer: _Answer) -> Any:
        ctx.answer = answer
        return own.view_as(own)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return ctx.answer.to(gradients[0]), None


@dataclass(slots=True)
class _Answer:
    """The gradients that a backward entry of the other dump hands on; `place` is this input's."""

    values: DumpedValues
    saved: object
    path: str
    place: int | None

    def to(self, gradient: torch.Tensor) -> torch.Tensor:
        """The other gradient, or the own one where the other dump has none for this input."""
        if self.place is None:
            self.values.say(self.path, "is that of an inner step of the call; its own stays")
            return gradient
        saved = item(self.saved, self.place)
        loaded = self.values.load(gradient, saved, f"{self.path}.{self.place}")
        return gradient if loaded is None else loaded


class Graft:
    """Finds the values by the entry of this run; raises LifecycleError without a fit dump."""

    def __init__(self, config: GraftConfig, step: int, rank: int | None) -> None:
        number = step if config.step is None else config.step
        wanted = rank if config.rank is None else config.rank
        self.values = DumpedValues("graft", config.path, number, wanted, "tensor")
        self._asked: dict[str, list[tuple[torch.Tensor, _Answer]]] = {}
        self._takes: dict[str, list[Take]] = {}
        for take in config.take:
            self._takes.setdefault(take.at, []).append(take)

    @property
    def replaced(self) -> list[dict[str, object]]:
        """What was put in place of an own value, and whether the two were equal."""
        return self.values.replaced

    def concerns(self, entry: str) -> bool:
        """Whether a forward call or what belongs to it takes anything."""
        return any(name in self._takes for name in _entries_of(entry))

    def inputs(self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments:
        """The arguments that a call is to run on."""
        for take in self._takes.get(entry, ()):
            if take.what == "input":
                saved = self._saved(take)
                listed = saved.get("input_args")
                args = tuple(
                    self._argument(v, item(listed, n), f"{entry}.input.{n}")
                    for n, v in enumerate(args)
                )
                # Functions of torch pass on by keyword what they were given by position.
                given = dict(zip(kwargs, (listed or [])[len(args) :]))
                given |= saved.get("input_kwargs") or {}
                kwargs = {
                    k: self._argument(v, given.get(k), f"{entry}.input.{k}")
                    for k, v in kwargs.items()
                }
        for take in self._takes.get(_backward(entry), ()):
            args = self._with_gradients(entry, take, args)
        return args, kwargs

    def output(self, entry: str, args: tuple[Any, ...], result: Any) -> Any:
        """What a call is to return."""
        if not entry.startswith("Module."):
            self._find_places(entry, result)
        for take in self._takes.get(entry, ()):
            if take.what == "through":
                result = self._handed_through(entry, args, result)
            elif take.what == "output":
                result = self._output(take, args, result)
        return result

    def parameters(self, entry: str, path: str, module: torch.nn.Module) -> None:
        """Give a module its parameters and their gradients."""
        for take in self._takes.get(entry, ()):
            if take.what == "parameters":
                saved = self._saved(take).get("parameters") or {}
                for name, own in module._parameters.items():
                    if own is not None:
                        self._overwrite(own, saved.get(name), f"{entry}.parameters.{name}")
        kind = type(module).__name__
        for take in self._takes.get(f"Module.{path}.{kind}.parameters_grad.0", ()):
            saved = self._saved(take)
            for name, own in module._parameters.items():
                if own is not None and own.requires_grad:
                    self._answer(own, item(saved.get(name), 0), f"{take.at}.{name}")

    def _output(self, take: Take, args: tuple[Any, ...], result: Any) -> Any:
        saved = self._saved(take).get("output")
        path = f"{take.at}.output"
        if isinstance(result, torch.Tensor):
            if any(result is value for value in args):  # written in place: so is the other value
                self._overwrite(result, item(saved, 0), f"{path}.0")
                return result
            return self.values.put(result, item(saved, 0), f"{path}.0")
        listed = saved if isinstance(result, tuple) else item(saved, 0)
        return self.values.put(result, listed, path)

    def _handed_through(self, entry: str, args: tuple[Any, ...], result: Any) -> Any:
        own = next((value for value in args if isinstance(value, torch.Tensor)), None)
        if own is None or not isinstance(result, torch.Tensor) or own.shape != result.shape:
            self.values.say(entry, "has no input of the form of its output; it runs as it is")
            return result
        self.values.replaced.append({"value": f"{entry}.output.0", "through": True})
        return own

    def _with_gradients(self, entry: str, take: Take, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments behind identities; gradients of a module stand in its inputs' order."""
        saved = self._saved(take).get("output")
        asked: list[tuple[torch.Tensor, _Answer]] = []
        fresh: list[Any] = []
        for value in args:
            taken = value
            if isinstance(value, torch.Tensor) and value.requires_grad:
                answer = _Answer(self.values, saved, f"{take.at}.output", len(asked))
                taken = _OtherGradient.apply(value, answer)  # type: ignore[no-untyped-call]  # torch has no types there
                asked.append((taken, answer))
            fresh.append(taken)
        self._asked[entry] = asked
        return tuple(fresh)

    def _find_places(self, entry: str, result: Any) -> None:
        """Which of the gradients of a call is that of which input, by the graph itself.

        A call that computes in several steps records the gradients of the last one alone.
        """
        first = result[0] if isinstance(result, (tuple, list)) and result else result
        made = first.grad_fn if isinstance(first, torch.Tensor) else None
        steps = [step for step, _ in made.next_functions] if made is not None else []
        for value, answer in self._asked.pop(entry, []):
            answer.place = steps.index(value.grad_fn) if value.grad_fn in steps else None

    def _answer(self, parameter: torch.nn.Parameter, saved: object, path: str) -> None:
        def other(gradient: torch.Tensor) -> torch.Tensor:
            handle.remove()
            loaded = self.values.load(gradient, saved, path)
            return gradient if loaded is None else loaded

        handle = parameter.register_hook(other)

    def _overwrite(self, own: torch.Tensor, saved: object, path: str) -> None:
        loaded = self.values.load(own, saved, path)
        if loaded is not None:
            # Autograd knows of the write that this one corrects; a second would end its pass.
            own.data.copy_(loaded)

    def _argument(self, own: Any, saved: Any, path: str) -> Any:
        if not isinstance(saved, dict) or "data_name" in saved or "value" not in saved:
            return self.values.put(own, saved, path)
        value = saved["value"]
        if type(own) is not type(value) or own == value:
            return own
        self.values.replaced.append({"value": path, "own": own, "other": value})
        return value

    def _saved(self, take: Take) -> dict[str, Any]:
        record = self.values.entries.get(take.entry)
        if not isinstance(record, dict):
            self.values.say(take.entry, "is not in that dump; its own values stay")
            return {}
        return record


def _backward(entry: str) -> str:
    """The backward entry of a forward one: of modules the number stands behind the direction."""
    head, direction, number = entry.rpartition(".forward")
    return f"{head}.backward{number}" if direction else entry


def _entries_of(entry: str) -> tuple[str, ...]:
    gradients = entry.rpartition(".forward")[0] + ".parameters_grad.0"
    return entry, _backward(entry), gradients
