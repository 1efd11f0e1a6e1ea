"""Turns the flow of one side into database rows, column by column."""

from __future__ import annotations

import numpy as np

from builder.flow.feeding import NOWHERE, Flow, Ints
from builder.flow.passages import Passages
from builder.write.node_rows import Full, Sparse
from builder.write.placement import Placed


def flow_columns(side: Placed, flow: Flow) -> tuple[Full, Sparse]:
    """One side's edges as full and sparse columns of the table `flow`."""
    ids = _ids(side)
    full: Full = {
        "value": (flow.value + side.value_base).tolist(),
        "consumer": ids[flow.consumer].tolist(),
        "producer": ids[flow.producer].tolist(),
        "exact": flow.exact.astype(np.int64).tolist(),
    }
    output = np.where(flow.output == NOWHERE, NOWHERE, flow.output + side.value_base)
    return full, {"output": output.tolist()}


def passage_columns(side: Placed, passages: Passages) -> tuple[Full, Sparse]:
    """One side's passages as full and sparse columns of the table `passage`."""
    ids = _ids(side)
    full: Full = {
        "consumer": ids[passages.consumer].tolist(),
        "producer": ids[passages.producer].tolist(),
        "told": passages.told.tolist(),
    }
    instead = np.where(passages.instead == NOWHERE, NOWHERE, ids[passages.instead])
    value = np.where(passages.value == NOWHERE, NOWHERE, passages.value + side.value_base)
    return full, {"instead": instead.tolist(), "value": value.tolist()}


def _ids(side: Placed) -> Ints:
    """The ids of a side's nodes in execution order."""
    return np.array([side.id_of(node) for node in side.tree.in_order], dtype=np.int64)
