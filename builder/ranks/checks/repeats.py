"""Findings of one cause stand with its first: the same of other parameters, and what follows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.checks.one_cause import cause_of, follows, makes_unlike
from builder.reasons import ReplicasDiffer, ReplicasUnlike
from msprobe_core.format import parse_entry

_PARAMETERS = "parameters."


@dataclass(frozen=True, slots=True)
class Repeated:
    """A finding, and the later ones that it explains.

    `later` are those of the same parameter along the same axis, `alike` say the same of others of
    its step, `behind` are copies that differ since it made what is computed differ.
    """

    first: CheckFinding
    later: list[CheckFinding] = field(default_factory=list)
    alike: list[CheckFinding] = field(default_factory=list)
    behind: list[CheckFinding] = field(default_factory=list)


def with_repeats(findings: Iterable[CheckFinding]) -> list[Repeated]:
    """The findings in their order, each with those of its cause.

    A parameter whose copies came apart stays apart, so all but the first follow from it.
    """
    known = _Known()
    for finding in findings:
        known.add(finding)
    return known.listed


class _Known:
    """The findings so far, by what later ones may have alike with them."""

    def __init__(self) -> None:
        self.listed: list[Repeated] = []
        self._by_parameter: dict[tuple[str, str], Repeated] = {}
        self._by_cause: dict[Hashable, Repeated] = {}
        self._makers: list[Repeated] = []

    def add(self, finding: CheckFinding) -> None:
        """Put a finding with the first of its cause, or behind all others."""
        parameter = _parameter_of(finding)
        same = self._by_parameter.get((finding.axis, parameter)) if parameter else None
        if same is not None:
            same.later.append(finding)
            return
        first = self._explained(finding)
        if first is None:
            first = Repeated(finding)
            self.listed.append(first)
            self._makers += [first] if makes_unlike(finding) else []
            if (cause := cause_of(finding)) is not None:
                self._by_cause[finding.step, cause] = first
        if parameter:
            self._by_parameter[finding.axis, parameter] = first

    def _explained(self, finding: CheckFinding) -> Repeated | None:
        """The first of the cause of a finding, which notes it; None where it is the first."""
        maker = next((one for one in self._makers if follows(finding, one.first)), None)
        if maker is not None:
            maker.behind.append(finding)
            return maker
        cause = cause_of(finding)
        if cause is None:
            return None
        first = self._by_cause.get((finding.step, cause))
        if first is not None:
            first.alike.append(finding)
        return first


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
