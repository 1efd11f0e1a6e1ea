"""Tensors of zeros or ones alone: equal numbers say nothing of them, only shape and order do.

Gates that start at zero put out such, and so does a ReLU that lets nothing through.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from math import prod, sqrt
from typing import NamedTuple

import numpy as np

from builder.compare.columns import Columns
from builder.dump.forms import Form
from builder.flow.feeding import Flow, Ints, innermost
from builder.flow.form_roles import MADE, OTHER, PARAMETER, READ, role_of
from builder.flow.made_of import Shape, Tensor
from builder.flow.passage_edges import Reading

_NEAR = 8
_Kind = tuple[Shape, str, float]


def _node(one: Tensor) -> int:
    return one.node


def _kind(one: Tensor) -> _Kind:
    return one.shape, one.dtype, one.high


class Constants(NamedTuple):
    """What was put out, and what was read without a known maker, in the order of execution.

    The `print` of each is negative: equal ones share it with nothing else. `node` of what was read
    is where its reader began; `alike` has what was put out by shape, dtype and value.
    """

    made: list[Tensor]
    read: list[tuple[Tensor, Reading]]
    alike: dict[_Kind, list[Tensor]]

    def before(self, node: int) -> list[Tensor]:
        """The last few that were put out before a node."""
        stop = bisect_left(self.made, node, key=_node)
        return self.made[max(0, stop - _NEAR) : stop]

    def latest(self, like: Tensor) -> Tensor | None:
        """The latest that was put out before, of one value, shape and dtype."""
        same = self.alike.get(_kind(like), [])
        stop = bisect_left(same, like.node, key=_node)
        return same[stop - 1] if stop else None


def constants_of(flow: Flow, columns: Columns, forms: list[Form]) -> Constants:
    """The constant tensors of the forward pass, without parameters."""
    owners, begins = flow.owners, flow.begins
    high, low = columns.statistics.table[:2]
    kept = (high == low) & ((high == 0) | (high == 1))
    forward = np.array([node.direction == "forward" for node in flow.tree.in_order], dtype=bool)
    kept &= forward[owners]
    role = np.array([_role(form) for form in forms], dtype=np.int64)[columns.forms]
    parameters = {forms[at].shape for at in columns.forms[kept & (role == PARAMETER)].tolist()}
    read = kept & (role == READ)
    read[flow.value] = False

    def tensor(at: int, node: int) -> Tensor:
        form, value = forms[int(columns.forms[at])], float(high[at])
        shape: Shape = form.shape or ()
        norm = value * sqrt(prod(shape))
        return Tensor(at, -2 - at, node, shape, form.dtype or "", value, value, value, norm)

    made = _put_out(np.flatnonzero(kept & (role == MADE)), columns, owners, begins)
    wanted = [
        (tensor(at, int(begins[owners[at]])), Reading(int(owners[at]), at))
        for at in np.flatnonzero(read).tolist()
        if forms[int(columns.forms[at])].shape not in parameters
    ]
    wanted.sort(key=lambda each: each[0].node)
    put_out = [tensor(at, int(owners[at])) for at in made]
    alike: defaultdict[_Kind, list[Tensor]] = defaultdict(list)
    for one in put_out:
        alike[_kind(one)].append(one)
    return Constants(put_out, wanted, alike)


def _put_out(made: Ints, columns: Columns, owners: Ints, begins: Ints) -> list[int]:
    """What was put out, without modules whose calls inside put out the like; in order."""
    alike = columns.forms.astype(np.int64) * 2 + (columns.statistics.table[0] > 0)
    inside = innermost(made, alike, owners, begins)
    return [int(at) for at in inside[np.argsort(owners[inside], kind="stable")]]


def _role(form: Form) -> int:
    known = form.shape is not None and not form.is_integer
    return role_of(form) if known else OTHER
