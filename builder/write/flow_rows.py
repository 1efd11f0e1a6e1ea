"""Turns the flow of one side into database rows, column by column."""

from __future__ import annotations

import numpy as np

from builder.flow.feeding import NOWHERE, Flow
from builder.write.node_rows import Full, Sparse
from builder.write.placement import Placed


def flow_columns(side: Placed, flow: Flow) -> tuple[Full, Sparse]:
    """One side's edges as full and sparse columns of the table `flow`."""
    ids = np.array([side.id_of(node) for node in side.tree.in_order], dtype=np.int64)
    full: Full = {
        "value": (flow.value + side.value_base).tolist(),
        "consumer": ids[flow.consumer].tolist(),
        "producer": ids[flow.producer].tolist(),
        "exact": flow.exact.astype(np.int64).tolist(),
    }
    output = np.where(flow.output == NOWHERE, NOWHERE, flow.output + side.value_base)
    return full, {"output": output.tolist()}
