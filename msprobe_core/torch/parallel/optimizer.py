"""Records what each optimizer step takes and writes, by parameter name: gradient, before, after.

It stands beside `data` in dump.json, as the member `optimizer`: one entry a step, readers of the
older form pass it over. Where gradients were clipped since the step before, the entry says by what;
where the step updates shares of parameters, which elements these are.
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
from msprobe_core.torch.parallel.parameter_parts import Model, ParameterNames, Piece
from msprobe_core.torch.record.entries import guarded, untraced
from msprobe_core.values.text import quoted

Updated = list[tuple[Piece, torch.Tensor]]
_MOST_CLIPS = 64
"""Clippings of gradients that no step has taken yet: of a model that nobody trains, say."""


class OptimizerWatch(ClipListener):
    """Is told of the steps of all optimizers; an open entry waits for its step's end."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = ParameterNames()
        self._end: Callable[[], None] | None = None
        self._open: list[tuple[Step, Entry, Updated]] = []
        self._clips: list[tuple[frozenset[int], Clip]] = []
        self._done: list[Entry] = []
        self._count: dict[str, int] = {}

    def find(self, model: Model) -> None:
        """Take the names of a model's parameters."""
        if self._trace.selection.takes_all:
            self._names = ParameterNames(model)

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
        pieces = zip(clip.parameters, self._names.pieces_of(clip.parameters))
        own = frozenset(id(parameter) for parameter, known in pieces if known)
        if own:
            told = Clip([], clip.max_norm, clip.norm_type, clip.max_value)
            told.total_norm, told.factor = clip.total_norm, clip.factor
            told.count = len(clip.parameters)
            self._clips = [*self._clips[1 - _MOST_CLIPS :], (own, told)]

    def _begin(self, step: Step) -> None:
        with untraced():
            updated = self._updated_by(step.optimizer)
            read = _taken(step, updated)
        number = self._count[_owner_of(step)] = self._count.get(_owner_of(step), -1) + 1
        entry = Entry(f"{_owner_of(step)}.{number}")
        guarded(self._trace, entry, '"input": {}', _fill, "input", read)
        guarded(self._trace, entry, '"parameters": {}', _fill, "parameters", _values(updated))
        shares = [piece for piece, _ in updated if piece.is_share]
        if shares:
            guarded(self._trace, entry, '"shares": {}', _tell_shares, shares)
        clips = self._clips_of(updated)
        if clips:
            guarded(self._trace, entry, '"clipping": {}', _fill_clips, clips)
        self._open.append((step, entry, updated))

    def _finish(self, step: Step) -> None:
        # Those above it have raised.
        while self._open:
            begun, entry, updated = self._open.pop()
            if begun is step:
                guarded(self._trace, entry, '"output": {}', _fill, "output", _values(updated))
                if entry.parts:
                    self._done.append(entry)
                return

    def _updated_by(self, optimizer: torch.optim.Optimizer) -> Updated:
        """The parameters that a step changes; those whose gradient cannot be read are reported."""
        updated: Updated = []
        listed = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for parameter, pieces in zip(listed, self._names.pieces_of(listed)):
            if pieces:
                name = pieces[0].name
                has_gradient = self._trace.safely(f"gradient of {name}", _has_gradient, parameter)
                updated += [(piece, parameter) for piece in pieces if has_gradient]
        return updated

    def _clips_of(self, updated: Updated) -> list[Clip]:
        """What has clipped the gradients of a step, and of no step after it."""
        own = {id(parameter) for _, parameter in updated}
        clips = [clip for numbers, clip in self._clips if numbers & own]
        left = [(numbers - own, clip) for numbers, clip in self._clips]
        self._clips = [(numbers, clip) for numbers, clip in left if numbers]
        return clips


def _owner_of(step: Step) -> str:
    return f"Optimizer.{type(step.optimizer).__name__}.step"


def _has_gradient(parameter: torch.Tensor) -> bool:
    return gradient_of(parameter) is not None


def _taken(step: Step, updated: Updated) -> Iterator[tuple[str, torch.Tensor]]:
    """One by one: what a fused step undoes the scale of is a copy."""
    scaling = scaling_of(step.optimizer)
    for piece, parameter in updated:
        gradient = gradient_of(parameter)
        if gradient is not None:
            yield piece.name, piece.of(unscaled(gradient, scaling))


def _values(updated: Updated) -> Iterator[tuple[str, torch.Tensor]]:
    for piece, parameter in updated:
        yield piece.name, piece.of(parameter)


def _tell_shares(trace: Trace, entry: Entry, shares: Sequence[Piece]) -> None:
    """By name the first element of a share, how many it has, and how many the parameter has."""
    places = (
        f'{quoted(p.name)}: {{"type": "slice", "value": [{p.offset}, {p.length}, {p.whole}]}}'
        for p in shares
    )
    entry.parts.append(f'"shares": {{{", ".join(places)}}}')


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
    for name in ("max_norm", "norm_type", "max_value", "count"):
        if getattr(clip, name) is not None:
            yield name, getattr(clip, name)
