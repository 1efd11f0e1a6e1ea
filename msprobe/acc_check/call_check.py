"""Checks one call: runs it on the device and on the reference, and judges every value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch

from msprobe.acc_check import chance, ties
from msprobe.acc_check.framework import Framework, Operator, Pair, Place, Results, Watch, Words
from msprobe.acc_check.inputs import Inputs, Source, make_inputs
from msprobe.acc_check.judge import (
    Judgement,
    Value,
    judge_floats,
    judge_form,
    judge_integers,
    judge_plain,
    rounded_between,
    worst,
)
from msprobe.acc_check.measures import measure
from msprobe.acc_check.plan import Call
from msprobe.acc_check.pytorch import PYTORCH
from msprobe.acc_check.rounding import CountTerms, RandomRounding, Rounding
from msprobe.acc_check.rows import BLANK, CallRow, ValueRow
from msprobe.acc_check.tolerance import COARSE, Deviation, call_format, unit
from msprobe.acc_check.values import NotReproducible

_WIDE = Place(wide=True)
_NARROW = (torch.bfloat16, torch.float16)
_NOT_THERE = ("not implemented for", "is not implemented", "not supported")


@dataclass(frozen=True, slots=True)
class Checked:
    """The row of a call, with what it was run on for whoever wants to keep it."""

    row: CallRow
    inputs: Inputs | None = None
    device: Results | None = None
    reference: Results | None = None


def check_call(call: Call, source: Source, pair: Pair, framework: Framework = PYTORCH) -> Checked:
    """Never raises for what a call does; every outcome is a row."""
    if call.skip is not None:
        return _skipped(call, call.skip)
    try:
        operator = framework.find(call)
        inputs = make_inputs(call, source)
    except NotReproducible as reason:
        return _skipped(call, str(reason))
    return _Run(call, operator, inputs, pair).checked()


class _Run:
    """One call, run on both sides."""

    def __init__(self, call: Call, operator: Operator, inputs: Inputs, pair: Pair) -> None:
        self._call, self._operator, self._inputs, self._pair = call, operator, inputs, pair

    @cached_property
    def _words(self) -> Words:
        return self._operator.words(self._inputs)

    def checked(self) -> Checked:
        counter = CountTerms()
        try:
            exact = self._on(_WIDE, lambda _: counter)
        except Exception as error:  # the row says why there is no reference
            return self._without_reference(error)
        try:
            device, place = self._on_device()
            reference = exact if self._pair.reference is None else self._on(self._pair.reference)
        except Exception as error:  # the row says what the device raised
            return self._raised(error)
        if exact.drew or device.drew:
            values = list(self._judge_chance(device, exact))
        else:
            deviation = self._deviation(exact, device, place, counter.found)
            values = list(self._judge(device, reference, deviation))
        return Checked(_call_row(self._call, values), self._inputs, device, reference)

    def _on(self, place: Place, watch: Watch | None = None, draw: int = 0) -> Results:
        torch.manual_seed(self._pair.seed + draw)
        return self._operator.run(self._inputs, place, watch)

    def _on_device(self) -> tuple[Results, Place]:
        """Under autocast where the recorded formats say that the call ran so."""
        place = self._pair.device
        narrow = self._inputs.expected[0] if self._inputs.expected else None
        try:
            results = self._on(place)
        except RuntimeError:
            if narrow not in _NARROW:
                raise
            results = None
        if narrow not in _NARROW or (results is not None and _first_dtype(results) == narrow):
            assert results is not None
            return results, place
        autocast = replace(place, autocast=narrow)
        again = self._on(autocast)
        if results is not None and _first_dtype(again) != narrow:
            return results, place
        return again, autocast

    def _deviation(
        self, exact: Results, device: Results, place: Place, terms: list[tuple[str, int]]
    ) -> Deviation:
        tensors = [*_tensors([*self._inputs.args, *self._inputs.kwargs.values()])]
        tensors += [each for each in device.outputs.values() if isinstance(each, torch.Tensor)]
        dtypes = [tensor.dtype for tensor in tensors]
        if place.autocast is not None:
            dtypes.append(place.autocast)
        shape = call_format(dtypes, shortens=self._pair.shortens)
        shape = replace(shape, exponential=self._pair.exponential)
        if place.autocast is not None:
            shape = replace(shape, add=shape.store)  # autocast rounds the inputs, too

        def sample(rounding: Rounding) -> Results:
            return self._on(_WIDE, partial(RandomRounding, rounding))

        return Deviation(exact, sample, shape, terms, self._pair.seed)

    # --- values --------------------------------------------------------------------------------

    def _judge(
        self, device: Results, reference: Results, deviation: Deviation
    ) -> Iterator[ValueRow]:
        for kind, direction, label in _KINDS:
            ours, theirs = getattr(device, kind), getattr(reference, kind)
            for number, path in enumerate(ours | theirs):
                shown = number if kind == "gradients" else path
                name = f"{self._call.name}.{direction}.{label}.{shown}"
                both = ours.get(path), theirs.get(path)
                if kind == "gradients" and both == (None, None):
                    yield ValueRow(name, "SKIP", "no gradient: this input does not need one")
                    continue
                yield _row(name, *both, self._value(kind, path, *both, deviation))

    def _value(
        self, kind: str, path: str, device: Value, reference: Value, deviation: Deviation
    ) -> Judgement:
        form = judge_form(device, reference)
        if form is not None:
            return form
        if not isinstance(device, torch.Tensor):
            return judge_plain(device, reference)
        if not (device.dtype.is_floating_point or device.dtype.is_complex):
            return self._integers(kind, device, reference)
        exact = getattr(deviation.exact, kind)[path]
        words = self._words
        if kind == "outputs" and ties.is_unordered(words.api, words.args, words.kwargs):
            device, reference, exact = (each.sort().values for each in (device, reference, exact))
        twice = self._pair.reference is not None
        for level in range(COARSE + 1):
            measured = deviation.of(kind, path, level)
            judged = judge_floats(device, reference, exact, measured, rounds_twice=twice)
            if judged.status == "pass":
                break
        return rounded_between(judged, device.dtype) if level == COARSE else judged

    def _integers(self, kind: str, device: torch.Tensor, reference: torch.Tensor) -> Judgement:
        words = self._words
        if kind == "outputs" and device.dtype != torch.bool and ties.chooses(words.api):
            return ties.judge_positions(words.api, words.args, words.kwargs, device, reference)
        return judge_integers(device, reference)

    def _judge_chance(self, device: Results, exact: Results) -> Iterator[ValueRow]:
        others = range(1, chance.REFERENCE_DRAWS)
        draws = [exact, *(self._on(_WIDE, draw=number) for number in others)]
        for kind, direction, label in _KINDS[:2]:
            for path, ours in getattr(device, kind).items():
                name = f"{self._call.name}.{direction}.{label}.{path}"
                theirs = [getattr(draw, kind).get(path) for draw in draws]
                yield _row(name, ours, theirs[0], self._chance(kind, ours, theirs), measured=False)

    def _chance(self, kind: str, device: Value, references: list[Value]) -> Judgement:
        form = judge_form(device, references[0])
        if form is not None:
            return form
        if not isinstance(device, torch.Tensor):
            return Judgement("pass", "drawn at random")
        words = self._words
        if kind == "outputs" and chance.is_dropout(words.api):
            epsilon = 2 * unit(device.dtype)
            return chance.judge_dropout(device, words.args, words.kwargs, epsilon)
        return chance.judge_draw(words.api, device, references)

    # --- calls that cannot be compared -----------------------------------------------------------

    def _without_reference(self, error: Exception) -> Checked:
        try:
            self._on_device()
        except Exception as ours:  # the row says that both raise
            return _skipped(self._call, f"it raises on both sides: {_said(ours)}")
        return _skipped(self._call, f"the reference cannot run it: {_said(error)}")

    def _raised(self, error: Exception) -> Checked:
        said = _said(error)
        if isinstance(error, NotImplementedError) or any(words in said for words in _NOT_THERE):
            return _skipped(self._call, f"the device has no such operator: {said}")
        row = CallRow(self._call.name, "error", BLANK, f"raises on the device: {said}")
        return Checked(row, self._inputs)


_KINDS = (
    ("outputs", "forward", "output"),
    ("changed", "forward", "input"),
    ("gradients", "backward", "output"),
)


def _skipped(call: Call, reason: str) -> Checked:
    return Checked(CallRow(call.name, "SKIP", "SKIP", reason))


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


def verdicts(name: str, values: Sequence[ValueRow]) -> tuple[str, str]:
    """Of the forward and the backward pass of a call: the worst of its values."""
    directions: dict[str, list[Any]] = {"forward": [], "backward": []}
    for row in values:
        directions[row.name.removeprefix(f"{name}.").partition(".")[0]].append(row.status)
    forward = worst(directions["forward"]) if directions["forward"] else "SKIP"
    return forward, worst(directions["backward"]) if directions["backward"] else BLANK


def _call_row(call: Call, values: list[ValueRow]) -> CallRow:
    forward, backward = verdicts(call.name, values)
    message = "" if values else "it returns nothing and changes nothing"
    return CallRow(call.name, forward, backward, message, values)


def _row(
    name: str, device: Value, reference: Value, judged: Judgement, *, measured: bool = True
) -> ValueRow:
    tensors = isinstance(device, torch.Tensor) and isinstance(reference, torch.Tensor)
    alike = tensors and device.shape == reference.shape
    measures: Mapping[str, float] = measure(device, reference) if alike and measured else {}
    return ValueRow(
        name,
        judged.status,
        judged.message,
        reference_dtype=_dtype(reference),
        device_dtype=_dtype(device),
        shape=str(tuple(device.shape)) if isinstance(device, torch.Tensor) else BLANK,
        measures=measures,
    )


def _dtype(value: object) -> str:
    if value is None:
        return BLANK
    return str(value.dtype) if isinstance(value, torch.Tensor) else type(value).__name__


def _first_dtype(results: Results) -> torch.dtype | None:
    values = [*results.outputs.values()]
    return values[0].dtype if values and isinstance(values[0], torch.Tensor) else None


def _tensors(tree: object) -> Iterator[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for each in tree:
            yield from _tensors(each)
    elif isinstance(tree, dict):
        for each in tree.values():
            yield from _tensors(each)
