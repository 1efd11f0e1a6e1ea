"""Records what each optimizer step takes and writes, by parameter name: gradient, before, after.

It stands beside `data` in dump.json, as the member `optimizer`: one entry a step, readers of the
older form pass it over. Where gradients were clipped since the step before, the entry says by what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

from msprobe_core.capture.entry import Entry, entry_text
from msprobe_core.capture.trace import Trace
from msprobe_core.torch.gradients import clipping
from msprobe_core.torch.gradients.clipping import Clip, ClipListener
from msprobe_core.torch.gradients.steps import Step
from msprobe_core.torch.gradients.taken import gradient_of, scaling_of, unscaled
from msprobe_core.torch.record.entries import guarded, untraced
from msprobe_core.values.text import quoted

Model = torch.nn.Module | Sequence[torch.nn.Module]
Named = list[tuple[str, torch.Tensor]]
_MOST_CLIPS = 64
"""Clippings of gradients that no step has taken yet: of a model that nobody trains, say."""


class OptimizerWatch(ClipListener):
    """Is told of the steps of all optimizers; an open entry waits for its step's end."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names: dict[int, str] = {}
        self._end: Callable[[], None] | None = None
        self._open: list[tuple[Step, Entry, Named]] = []
        self._clips: list[tuple[frozenset[int], Clip]] = []
        self._done: list[Entry] = []
        self._count: dict[str, int] = {}

    def find(self, model: Model) -> None:
        """Take the names of a model's parameters."""
        if self._trace.selection.takes_all:
            self._names = _names_of(model)

    def start(self) -> None:
        """Listen to clipping, where there are parameters to tell of."""
        if self._names and self._end is None:
            self._end = clipping.listen(self)

    def stop(self) -> None:
        """Listen no more."""
        if self._end is not None:
            self._end()
            self._end = None

    def text(self) -> str | None:
        """The entries as the text of a JSON object; None when no step was seen."""
        if not self._done:
            return None
        return "{" + ",\n".join(entry_text(entry) for entry in self._done) + "}"

    def takes(self, step: Step) -> None:
        """Record what a step computes with."""
        if self._names and step.is_of_training:
            self._trace.safely(_owner_of(step), self._begin, step)

    def ends(self, step: Step) -> None:
        """Record what a step has written."""
        if self._open:
            self._trace.safely(_owner_of(step), self._finish, step)

    def clipped(self, clip: Clip) -> None:
        """Called by the watch of clipping; its parameters are not held."""
        own = frozenset(id(parameter) for parameter in clip.parameters) & self._names.keys()
        if own:
            told = Clip([], clip.max_norm, clip.norm_type, clip.max_value)
            told.total_norm, told.factor = clip.total_norm, clip.factor
            self._clips = [*self._clips[1 - _MOST_CLIPS :], (own, told)]

    def _begin(self, step: Step) -> None:
        with untraced():
            updated = self._updated_by(step.optimizer)
            read = _taken(step, updated)
        number = self._count[_owner_of(step)] = self._count.get(_owner_of(step), -1) + 1
        entry = Entry(f"{_owner_of(step)}.{number}")
        guarded(self._trace, entry, '"input": {}', _fill, "input", read)
        guarded(self._trace, entry, '"parameters": {}', _fill, "parameters", updated)
        clips = self._clips_of(updated)
        if clips:
            guarded(self._trace, entry, '"clipping": {}', _fill_clips, clips)
        self._open.append((step, entry, updated))

    def _finish(self, step: Step) -> None:
        # Those above it have raised.
        while self._open:
            begun, entry, updated = self._open.pop()
            if begun is step:
                guarded(self._trace, entry, '"output": {}', _fill, "output", updated)
                if entry.parts:
                    self._done.append(entry)
                return

    def _updated_by(self, optimizer: torch.optim.Optimizer) -> Named:
        """The parameters that a step changes; those whose gradient cannot be read are reported."""
        updated: Named = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = self._names.get(id(parameter))
                if name is None:
                    continue
                has_gradient = self._trace.safely(f"gradient of {name}", _has_gradient, parameter)
                updated += [(name, parameter)] if has_gradient else []
        return updated

    def _clips_of(self, updated: Named) -> list[Clip]:
        """What has clipped the gradients of a step, and of no step after it."""
        own = {id(parameter) for _, parameter in updated}
        clips = [clip for numbers, clip in self._clips if numbers & own]
        left = [(numbers - own, clip) for numbers, clip in self._clips]
        self._clips = [(numbers, clip) for numbers, clip in left if numbers]
        return clips


def _owner_of(step: Step) -> str:
    return f"Optimizer.{type(step.optimizer).__name__}.step"


def _names_of(model: Model) -> dict[int, str]:
    if isinstance(model, torch.nn.Module):
        return {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        id(parameter): f"{index}.{name}"
        for index, part in enumerate(model)
        for name, parameter in part.named_parameters()
    }


def _has_gradient(parameter: torch.Tensor) -> bool:
    return gradient_of(parameter) is not None


def _taken(step: Step, updated: Named) -> Iterator[tuple[str, torch.Tensor]]:
    """One by one: what a fused step undoes the scale of is a copy."""
    scaling = scaling_of(step.optimizer)
    for name, parameter in updated:
        gradient = gradient_of(parameter)
        if gradient is not None:
            yield name, unscaled(gradient, scaling)


def _fill(
    trace: Trace, entry: Entry, role: str, values: Iterable[tuple[str, torch.Tensor]]
) -> None:
    entry.parts.append(f'"{role}": {{')
    for number, (name, tensor) in enumerate(values):
        entry.parts.append(f"{', ' if number else ''}{quoted(name)}: ")
        entry.parts.append(trace.book.record(tensor, f"{entry.name}.{role}", name))
    entry.parts.append("}")


def _fill_clips(trace: Trace, entry: Entry, clips: Sequence[Clip]) -> None:
    """The norm that clipped, the largest allowed, the factor; of further clippings with a number.

    A distributed norm is in parts, so that it has no value here.
    """
    entry.parts.append('"clipping": {')
    values = [
        (f"{name}.{number}" if number else name, value)
        for number, clip in enumerate(clips)
        for name, value in _numbers_of(clip)
    ]
    for position, (name, value) in enumerate(values):
        entry.parts.append(f"{', ' if position else ''}{quoted(name)}: ")
        trace.arguments.value(value, f"{entry.name}.clipping", name, entry.parts)
    entry.parts.append("}")


def _numbers_of(clip: Clip) -> Iterator[tuple[str, object]]:
    if clip.factor is not None:
        yield "total_norm", clip.total_norm
        yield "factor", clip.factor
    for name in ("max_norm", "norm_type", "max_value"):
        if getattr(clip, name) is not None:
            yield name, getattr(clip, name)
