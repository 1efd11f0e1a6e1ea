"""Known flow through the silent calls that reshape or cut it on its way."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from builder.compare.columns import Columns
from builder.dump.forms import Form
from builder.flow.feeding import NOWHERE, Bools, Flow, Ints
from builder.flow.made_of import Shape
from builder.flow.passage_edges import Reading
from builder.flow.shared_runs import Unmade
from builder.flow.silent_runs import SilentRuns


class ReshapedFlow:
    """The edges of one side of which a value speaks, with what they read and what was put out."""

    def __init__(self, flow: Flow, columns: Columns, forms: list[Form], silent: SilentRuns) -> None:
        self._flow, self._silent = flow, silent
        self._shapes: list[Shape] = [form.shape or () for form in forms]
        self._kinds, self._sizes = columns.forms, columns.statistics.size
        self._stops = np.searchsorted(silent.calls.order, flow.begins[flow.consumer])
        self._outputs: dict[int, int] = {}

    def lead(self, unmade: Unmade) -> None:
        """Lead edges through the calls that reshape them, not through those of others."""
        parts = self._parts()
        kept = self._may_pass()
        flow = self._flow
        cells = (flow.value, flow.consumer, flow.producer, flow.output, self._stops)
        for value, consumer, producer, output, stop in zip(
            *(each[kept].tolist() for each in cells), strict=True
        ):
            to = Reading(consumer, value)
            ways = self._shapes[self._kinds[output]], self._shapes[self._kinds[value]]
            if self._sizes[value] < self._sizes[output]:
                run = self._silent.cut_after(producer, stop, several=len(parts[output]) > 1)
                run = unmade.leave(run, to, stop, ways)
            else:
                run = self._views(producer, to, stop, unmade, ways)
            if self._silent.claim(run, (producer, output)):
                self._silent.lead([producer], run, to, False, instead=producer)

    def _views(
        self, producer: int, to: Reading, stop: int, unmade: Unmade, ways: tuple[Shape, Shape]
    ) -> list[int]:
        run = self._silent.views_after(producer, stop)
        is_reshaped = ways[0] != ways[1]
        # Of a call that puts out several, a cast may be of another output.
        alone = unmade.is_alone(to) and self._puts_out_one(producer)
        if alone and (not run or run[-1] + 1 != stop):
            run = self._silent.casts_between(producer, stop) or run
        whole = bool(run) and run[-1] + 1 == stop
        if is_reshaped and not run:
            run = self._silent.views_before(stop)
        return unmade.leave(run, to, stop, ways) if is_reshaped or whole else []

    def _puts_out_one(self, producer: int) -> bool:
        # One call may put out thousands of parts, and is asked for each of them.
        known = self._outputs.get(producer)
        if known is None:
            keys = self._flow.tree.dump.values.keys
            values = range(*self._flow.tree.in_order[producer].values)
            known = self._outputs[producer] = sum(keys[at].startswith("output") for at in values)
        return known == 1

    def _parts(self) -> defaultdict[int, set[int]]:
        """Of what was cut, by its index, the fingerprints of the parts that were read."""
        flow, prints = self._flow, self._flow.prints.numbers
        cut = self._is_cut()
        parts: defaultdict[int, set[int]] = defaultdict(set)
        for value, output in zip(flow.value[cut].tolist(), flow.output[cut].tolist(), strict=True):
            parts[output].add(prints[value])
        return parts

    def _is_cut(self) -> Bools:
        flow = self._flow
        known = flow.output != NOWHERE
        return np.asarray(known & (self._sizes[flow.value] < self._sizes[flow.output]))

    def _may_pass(self) -> Bools:
        """Edges of the forward pass with silent calls behind the producer or before the reader."""
        flow, calls = self._flow, self._silent.calls
        forward = np.array([node.direction == "forward" for node in flow.tree.in_order], dtype=bool)
        silent = np.array([*calls.silent, False])
        after: Ints = np.searchsorted(calls.order, flow.producer, side="right")
        passes = silent[after] & (after < self._stops)
        passes |= silent[self._stops - 1] & (self._stops > 0)
        return np.asarray((flow.output != NOWHERE) & forward[flow.consumer] & passes)
