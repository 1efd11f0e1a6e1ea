"""Findings that say the same of one parameter: a gradient, then its update, then the next step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from builder.ranks.checks.check_finding import CheckFinding
from builder.reasons import ReplicasDiffer, ReplicasUnlike
from msprobe_core.format import parse_entry

_PARAMETERS = "parameters."


@dataclass(frozen=True, slots=True)
class Repeated:
    """A finding, and the later ones of the same parameter along the same axis."""

    first: CheckFinding
    later: list[CheckFinding] = field(default_factory=list)


def with_repeats(findings: Iterable[CheckFinding]) -> list[Repeated]:
    """The findings in their order; those of a parameter that has been named stand with its first.

    A parameter whose copies came apart stays apart, so all but the first follow from it.
    """
    listed: list[Repeated] = []
    known: dict[tuple[str, str], Repeated] = {}
    for finding in findings:
        parameter = _parameter_of(finding)
        same = known.get((finding.axis, parameter)) if parameter else None
        if same is not None:
            same.later.append(finding)
            continue
        listed.append(Repeated(finding))
        if parameter:
            known[finding.axis, parameter] = listed[-1]
    return listed


def _parameter_of(finding: CheckFinding) -> str | None:
    """The name of the parameter whose copies differ; None of any other finding."""
    told = next(
        (r for r in finding.reasons if isinstance(r, ReplicasDiffer | ReplicasUnlike)), None
    )
    if told is None:
        return None
    entry = parse_entry(finding.node)
    if entry.prefix == "Optimizer":
        return entry.type_name
    if not told.value.startswith(_PARAMETERS):
        return None
    name = told.value.removeprefix(_PARAMETERS)
    return f"{entry.path}.{name}" if entry.path else name
