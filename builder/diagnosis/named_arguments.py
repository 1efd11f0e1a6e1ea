"""Says beside the position of an argument what the signature of its call names it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET

from builder.diagnosis.finding import Finding
from builder.match.nodes import Matching
from builder.match.tree import TreeNode
from builder.operators.argument_names import argument_name
from builder.reasons import ArgumentDiffers, Explained, Reason
from msprobe_core.format import framework_named
from msprobe_core.format.frameworks import PYTORCH


def name_arguments(matching: Matching, findings: Iterable[Finding]) -> None:
    """Name the arguments that findings tell by number; only PyTorch's signatures are known."""
    trees = (matching.problem, matching.benchmark)
    if any(framework_named(tree.dump.framework) is not PYTORCH for tree in trees):
        return
    for finding in findings:
        finding.reasons[:] = [_named(reason, finding.node) for reason in finding.reasons]


def _named(reason: Reason, node: TreeNode) -> Reason:
    """The reason with the name of its argument, where it is about one that has a name."""
    if not isinstance(reason, ArgumentDiffers | Explained):
        return reason
    at = UNSET if isinstance(reason, ArgumentDiffers) else reason.at
    name = argument_name(node.name if at is UNSET else at, reason.value)
    return reason if name is None else msgspec.structs.replace(reason, argument=name)
