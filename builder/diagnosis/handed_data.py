"""What a step may hand to the next as its data, as the state that an environment is left in."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from builder.diagnosis.attribution import Attribution
from builder.diagnosis.facts import Facts


def handed_data(facts: Facts, known: Attribution) -> frozenset[Hashable]:
    """The fingerprints of values that differ, and are of a format and size that data of the step
    have: what no call made and the forward pass reads.

    Only dumps tell of these that say who made what is read.
    """
    paired, in_order = facts.paired, facts.comparison.matching.problem.in_order
    nodes = facts.comparison.pairs.node
    read = np.flatnonzero(~np.array(paired.is_output) & paired.tensors[0]).tolist()
    records = {row: paired.ours[row] for row in read}
    if all(record.source is None for record in records.values()):
        return frozenset()
    fed = {
        (record.dtype, record.shape)
        for row, record in records.items()
        if record.source is record.through is None and not record.requires_grad
        if in_order[int(nodes[row])].phase == "forward"
    }
    differing = np.flatnonzero(facts.is_divergent).tolist()
    forms = ((row, paired.ours[row]) for row in differing)
    rows = [row for row, record in forms if (record.dtype, record.shape) in fed]
    return known.keys_of(rows) - {None}
