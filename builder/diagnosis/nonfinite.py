"""NaN and infinity that a call makes of finite inputs: named at once, before anything is judged."""

from __future__ import annotations

from builder.compare.statistics import nonfinite_state
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.ledger import Ledger
from builder.dump.forms import OUTPUT_ROLES
from builder.judge.overflow import is_exempt
from builder.match.tree import TreeNode
from builder.reasons import Reason


def unmatched_makes_nonfinite(facts: Facts, node: TreeNode) -> bool:
    """Whether a call without a partner makes NaN or Inf of finite inputs."""
    if is_exempt(node) or node.recomputed:
        return False
    values = facts.values
    return bool(_nonfinite_output(facts, node)[0]) and not any(
        nonfinite_state(values.records[index])
        for index in range(*node.values)
        if not values.keys[index].startswith("output")
    )


def open_nonfinite(facts: Facts, ledger: Ledger, node: TreeNode) -> Finding:
    """Name the call that makes NaN or Inf."""
    value, state = _nonfinite_output(facts, node)
    reason: Reason = {"code": "nonfinite_made", "value": value, "state": state}
    return ledger.open(node, "non_finite", reason, score=1.0)


def _nonfinite_output(facts: Facts, node: TreeNode) -> tuple[str, str]:
    values = facts.values
    for index in range(*node.values):
        key, state = values.keys[index], nonfinite_state(values.records[index])
        if state and key.startswith(OUTPUT_ROLES):
            return key, state
    return "", ""
