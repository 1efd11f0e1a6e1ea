"""Tensors that were read and that no recorded call has put out, and all that calls have put out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from builder.compare.columns import Columns
from builder.dump.forms import Form
from builder.flow.feeding import NOWHERE, Flow, Ints, innermost
from builder.flow.fingerprints import NO_PRINT
from builder.flow.form_roles import MADE, PARAMETER, READ, role_of
from builder.flow.made_of import Available, Tensor, nothing_yet, tensors_at
from builder.flow.passage_edges import Reading
from builder.flow.silent_calls import Calls, calls_of
from builder.match.tree import Tree


class OpenEnds(NamedTuple):
    """The calls, and what of the forward pass has no known maker.

    `wanted` are such tensors, with all who read them, the first first; `node` is where that began.
    """

    calls: Calls
    available: Available
    wanted: list[tuple[Tensor, list[Reading]]]


def open_ends(flow: Flow, columns: Columns, forms: list[Form]) -> OpenEnds:
    """What is known of one side before anything is looked for."""
    tree = flow.tree
    owners, begins = flow.owners, flow.begins
    owned, begun_at = owners.tolist(), begins.tolist()
    prints = flow.prints.numbers
    role = np.array([role_of(form) for form in forms], dtype=np.int64)[columns.forms]
    forward = np.array([node.direction == "forward" for node in tree.in_order], dtype=bool)[owners]
    usable = forward & (np.array(prints[:-1], dtype=np.int64) != NO_PRINT)
    calls = calls_of(tree, _leaves_a_tensor(tree, owners, columns, forms))

    def tensors(places: Ints) -> list[Tensor]:
        return list(tensors_at(places.tolist(), prints, owned, columns, forms))

    available = nothing_yet()
    made = np.flatnonzero(usable & (role == MADE))
    made = innermost(made, np.array(prints), owners, begins)
    for one in tensors(made[np.argsort(owners[made], kind="stable")]):
        if not one.counts:
            available.add(one)
    read = usable & (role == READ)
    read[flow.value] = False
    parameters = set(np.array(prints[:-1])[role == PARAMETER].tolist())
    wanted: dict[tuple[int, int], tuple[Tensor, list[Reading]]] = {}
    unmade = tensors(np.flatnonzero(read))
    for one in sorted(unmade, key=lambda one: (begun_at[one.node], -one.node)):
        if one.print not in parameters:
            begun = one._replace(node=begun_at[one.node])
            # What counts is alike in many places, and says nothing of them.
            key = (one.print, one.node if one.counts else NOWHERE)
            wanted.setdefault(key, (begun, []))[1].append(Reading(one.node, one.at))
    wanted |= _put_out_by_modules(flow, tensors)
    in_order = sorted(wanted.values(), key=lambda each: each[0].node)
    return OpenEnds(calls, available, in_order)


def _put_out_by_modules(
    flow: Flow, tensors: Callable[[Ints], list[Tensor]]
) -> dict[tuple[int, int], tuple[Tensor, list[Reading]]]:
    """What modules put out that no call inside put out, with its readers: it was made inside."""
    nodes = flow.tree.in_order
    of_modules = np.array([bool(node.children) for node in nodes], dtype=bool)[flow.producer]
    of_modules &= flow.output != NOWHERE
    readers: defaultdict[int, list[Reading]] = defaultdict(list)
    cells = (flow.output, flow.consumer, flow.value)
    for output, consumer, value in zip(*(each[of_modules].tolist() for each in cells), strict=True):
        if nodes[consumer].direction == "forward":
            readers[output].append(Reading(consumer, value))
    made = tensors(np.array(sorted(readers), dtype=np.int64))
    return {(one.print, one.node): (one, readers[one.at]) for one in made}


def _leaves_a_tensor(tree: Tree, owners: Ints, columns: Columns, forms: list[Form]) -> list[bool]:
    """By execution order, which nodes left a tensor."""
    tensors = np.array([form.is_tensor for form in forms], dtype=bool)[columns.forms]
    left = np.zeros(len(tree.in_order), dtype=bool)
    left[owners[tensors]] = True
    return list(left.tolist())
