"""Names the defaults in which two frameworks differ, where a difference begins at such a layer."""

from __future__ import annotations

from collections.abc import Iterable

from builder.diagnosis.finding import Finding
from builder.match.nodes import Matching
from builder.reasons import DefaultDiffers
from msprobe_core.format import framework_named
from msprobe_core.format.frameworks import PYTORCH


def name_defaults(matching: Matching, findings: Iterable[Finding]) -> None:
    """Add to findings across frameworks which defaults of their layer may explain them."""
    trees = (matching.problem, matching.benchmark)
    sides = [framework_named(tree.dump.framework) for tree in trees]
    own = next((side for side in sides if side.words is not None), None)
    if own is None or own.words is None or PYTORCH not in sides:
        return
    for finding in findings:
        entry = finding.node.entry
        if finding.kind != "introduced" or entry is None:
            continue
        for default in own.words.defaults.get(entry.type_name, ()):
            told = DefaultDiffers(
                default.what, default.own, own.display, default.pytorch, PYTORCH.display
            )
            finding.reasons.append(told)
