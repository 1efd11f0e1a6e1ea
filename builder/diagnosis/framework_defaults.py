"""Names the defaults in which two frameworks differ, where a difference begins at such a layer."""

from __future__ import annotations

from collections.abc import Iterable

from builder.diagnosis.finding import Finding
from builder.match.frameworks.defaults import DEFAULTS
from builder.match.nodes import Matching
from builder.reasons import DefaultDiffers


def name_defaults(matching: Matching, findings: Iterable[Finding]) -> None:
    """Add to findings across frameworks which defaults of their layer may explain them."""
    if not matching.across_frameworks:
        return
    for finding in findings:
        entry = finding.node.entry
        if finding.kind != "introduced" or entry is None:
            continue
        for default in DEFAULTS.get(entry.type_name, ()):
            told = DefaultDiffers(default.what, default.mindspore, default.pytorch)
            finding.reasons.append(told)
