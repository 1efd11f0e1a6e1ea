"""What the ranks of one run contradict each other in, and those of another of its layout do not.

Two runs of one layout are compared rank by rank, which sees that a gradient differs and not that
it is a part of a sum on each rank. What the ranks say of each other tells that, and what they say
in both runs is how the program works.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import repeat

import msgspec

from builder.dump.sources import SourceSet
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.checks.self_check import CheckedStep, check_steps
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.told import OPTIMIZER, names_of
from builder.ranks.layout.coordinates import Sizes
from builder.ranks.placement.copies import are_copies
from builder.ranks.placement.mixtures import groups_along
from builder.reasons import (
    AllDividedTwice,
    ClippedApart,
    CopiesApart,
    GradientsScaledApart,
    PartAdded,
    PartBent,
    RankReason,
    SumOfPeersUsed,
    UnlikeAdded,
    UpdateLost,
)
from builder.reasons.reason import value_of

_STEP = "optimizer"  # the node around what an optimizer does to all parameters
_MANY = 3
_PARAMETERS, _GRADIENT, _UPDATED = "parameters.", "input.gradient", "output.value"
# What is said of a part of a sum that the forward pass reads as if it were the sum.
_PARTS = (SumOfPeersUsed, PartAdded, PartBent)
# What is said of parameters as optimizers find them.
_OF_PARAMETERS = (UpdateLost, CopiesApart)
# What is said of all gradients at once, at whatever parameter is the first.
_OF_STEP = (AllDividedTwice, ClippedApart, GradientsScaledApart)


@dataclass(frozen=True, slots=True)
class LoneConflict:
    """A finding about the ranks of one run alone; `names` are what it is about, by rank.

    The first of them that a rank's graph has is meant. `more` are parameters of which the same is
    true. It is `late` where it is about what an optimizer reads or writes, and `value` is what it
    is about. `updates` are the optimizer's calls, by rank, that work on all these parameters.
    """

    found: CheckFinding
    names: dict[int, list[str]]
    more: tuple[str, ...] = ()
    late: bool = False
    updates: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def is_of_gradients(self) -> bool:
        """Whether it is about gradients as an optimizer reads them."""
        return _value_of(self.found) == _GRADIENT

    @property
    def is_of_parameters(self) -> bool:
        """Whether it is about parameters as a step finds them, which the one before has left."""
        is_told = any(isinstance(reason, _OF_PARAMETERS) for reason in self.found.reasons)
        return is_told or _value_of(self.found).startswith(_PARAMETERS)

    def is_shown_by(self, kind: str, name: str, rank: int) -> bool:
        """Whether a finding of a rank is that the benchmark has another value of the parameter."""
        is_named = name in self.names.get(rank, ())
        return self.is_of_parameters and kind == "parameter_differs" and is_named

    @property
    def calls(self) -> frozenset[str]:
        """The calls that it is about: its own, and those that its reasons name."""
        told = (text for reason in self.found.reasons for text in msgspec.structs.astuple(reason))
        return frozenset((self.found.node, *(text for text in told if isinstance(text, str))))


def lone_conflicts(problem: SourceSet, benchmark: SourceSet) -> list[LoneConflict]:
    """The conflicts of the first step of the problem in which the benchmark's ranks agree.

    What ranks hold unlike, the steps behind it hold unlike as well. Those of a kind are one.

    Raises InputError for a layout that the ranks do not fit, DumpError for one that cannot be read.
    """
    usual: dict[int, set[Hashable]] | None = None
    for each in check_steps(problem, Sizes()):
        if each.checked.findings:
            usual = _usual(benchmark) if usual is None else usual
            known = usual.get(each.step, set())
            own = [finding for finding in each.checked.findings if _said(finding) not in known]
            if own:
                return list(_grouped(_without_followers(own), each))
    return []


def _usual(benchmark: SourceSet) -> dict[int, set[Hashable]]:
    """By step, what the ranks of the benchmark say of each other."""
    return {
        each.step: {_said(finding) for finding in each.checked.findings}
        for each in check_steps(benchmark, Sizes())
    }


def _said(finding: CheckFinding) -> tuple[Hashable, ...]:
    return (finding.node, *_kind_of(finding))


def _kind_of(finding: CheckFinding) -> tuple[Hashable, ...]:
    """What a finding says, whatever numbers it gives."""
    return (finding.check, finding.axis, tuple(map(_code_of, finding.reasons)))


def _code_of(reason: RankReason) -> tuple[str, str | None]:
    return type(reason).__name__, value_of(reason)


def _grouped(findings: list[CheckFinding], step: CheckedStep) -> Iterator[LoneConflict]:
    """One conflict for what one cause does to many parameters of the same ranks.

    What a parameter becomes of a gradient that ranks have unlike is no conflict of its own.
    """
    groups: dict[Hashable, list[CheckFinding]] = defaultdict(list)
    for number, finding in enumerate(findings):
        groups[_cause_of(finding) or number].append(finding)
    names, told = _Names(step.run), set[str]()
    for own in groups.values():
        new = [each for each in own if _parameter_of(each) not in told]
        if new:
            parameters = [_parameter_of(each) for each in new]
            told.update(parameters)
            shown = names.of(new[0], of_step=names.are_most(new[0], len(new)))
            late, updates = names.is_late(new[0]), names.updates_of(set(parameters))
            yield LoneConflict(new[0], shown, tuple(parameters[1:]), late, updates)


def _without_followers(findings: list[CheckFinding]) -> list[CheckFinding]:
    """The findings without gradients, and what they update, that ranks of an axis hold unlike as
    they compute unlike.

    A replica that differs, or a part of a sum that is read as the whole, makes what is computed
    with it another on each rank, and so every gradient that is made of that.
    """
    unlike: set[str] = set()
    kept = []
    for finding in findings:  # in the order of calls: an optimizer's stand last
        is_replica, value = finding.check == "replica", _value_of(finding)
        if is_replica and value in (_GRADIENT, _UPDATED) and finding.axis in unlike:
            continue
        kept.append(finding)
        is_of_replica = is_replica and value.startswith(_PARAMETERS)
        reads_parts = any(isinstance(reason, _PARTS) for reason in finding.reasons)
        if is_of_replica or reads_parts:
            unlike.add(finding.axis)
    return kept


def _cause_of(finding: CheckFinding) -> Hashable | None:
    """What findings of one cause have alike; None for one that stands for itself.

    One cause are parameters that ranks hold unlike or update alike wrongly, whichever they are, and
    sums of unlike parameters: from the first collective that is out of step all others are.
    """
    said, value = _kind_of(finding), _value_of(finding)
    if finding.node.startswith(OPTIMIZER):
        return (*said, finding.ranks)
    if value.startswith(_PARAMETERS) and finding.check == "replica":
        return (*said[:2], finding.ranks)
    if any(isinstance(reason, UnlikeAdded) for reason in finding.reasons):
        return (*said, finding.ranks)
    return None


def _parameter_of(finding: CheckFinding) -> str:
    """The parameter that a finding is about; its node where it is about none."""
    value = _value_of(finding)
    is_named = finding.node.startswith(OPTIMIZER) or value.startswith(_PARAMETERS)
    return next(names_of(finding.node, value), finding.node) if is_named else finding.node


class _Names:
    """What ranks call that which a finding is about: an optimizer's parameters have no call."""

    def __init__(self, run: LogicalRun) -> None:
        self._run, self._values = run, RunValues(run)
        self._copies: dict[tuple[str, tuple[int, ...]], int] = {}

    def are_most(self, found: CheckFinding, count: int) -> bool:
        """Whether so many are most of the parameters that the ranks of a finding have alike.

        One or two may be all that a layout leaves whole, and are no step.
        """
        if found.axis not in AXIS_NAMES or count < _MANY:
            return False
        key = (found.axis, found.ranks)
        if key not in self._copies:
            self._copies[key] = sum(map(self._are_copies, repeat(found), self._parameters()))
        return 0 < self._copies[key] < 2 * count

    def _parameters(self) -> Iterator[int]:
        """What optimizers found as parameters."""
        for index, key in enumerate(self._values.keys):
            if key == "parameters.value" and self._values.owner[index].startswith(OPTIMIZER):
                yield index

    def _are_copies(self, found: CheckFinding, index: int) -> bool:
        """Whether a parameter is one and the same on all ranks of a finding."""
        groups = groups_along(self._values, index, found.axis).values()
        own = [[r for rank, r in group.items() if rank in found.ranks] for group in groups]
        return any(len(group) > 1 and are_copies(group) for group in own)

    def of(self, finding: CheckFinding, *, of_step: bool) -> dict[int, list[str]]:
        """By rank, the entries that show it, the best first; those of the optimizer's whole step
        where it is about no single parameter.
        """
        found: dict[int, list[str]] = defaultdict(list)
        is_late = self.is_late(finding)
        whole = is_late and (of_step or any(isinstance(r, _OF_STEP) for r in finding.reasons))
        for rank in finding.ranks if whole else ():
            found[rank].append(_STEP)
        for logical in self._shown_by(finding):
            for rank, name in self._run.origin.get(logical, {}).items():
                found[rank].append(name)
        return dict(found) or {rank: [finding.node] for rank in finding.ranks}

    def updates_of(self, parameters: set[str]) -> dict[int, frozenset[str]]:
        """By rank, the calls inside an optimizer's step that work on some parameters."""
        found: dict[int, set[str]] = defaultdict(set)
        for logical, parameter in self._run.updates.items():
            if parameter in parameters:
                for rank, name in self._run.origin.get(logical, {}).items():
                    found[rank].add(name)
        return {rank: frozenset(names) for rank, names in found.items()}

    def is_late(self, finding: CheckFinding) -> bool:
        """Whether it is about a step of an optimizer, and not about what it found there."""
        is_update = finding.node.startswith((OPTIMIZER, _STEP))
        return is_update and _value_of(finding) != "parameters.value"

    def _shown_by(self, finding: CheckFinding) -> Iterator[str]:
        if not finding.node.startswith(OPTIMIZER):
            yield finding.node
            yield from self._run.updates if finding.node == _STEP else ()
            return
        parameter = _parameter_of(finding)
        roles = ("parameters_grad.", "parameters.")
        if _value_of(finding) == "parameters.value":
            roles = roles[::-1]
        for role in roles:
            for key, owner in zip(self._values.keys, self._values.owner, strict=True):
                if key.startswith(role) and parameter in names_of(owner, key):
                    yield owner
        yield from (call for call, own in self._run.updates.items() if own == parameter)


def _value_of(finding: CheckFinding) -> str:
    return next(filter(None, map(value_of, finding.reasons)), "")
