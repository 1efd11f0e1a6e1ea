"""What the ranks of one run contradict each other in, and those of another of its layout do not.

Two runs of one layout are compared rank by rank, which sees that a gradient differs and not that
it is a part of a sum on each rank. What the ranks say of each other tells that, and what they say
in both runs is how the program works.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat

import msgspec

from builder.dump.sources import SourceSet
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.checks.one_cause import (
    GRADIENT,
    PARAMETERS,
    cause_of,
    follows,
    kind_of,
    makes_unlike,
    told_value,
)
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
    CopiesScaledApart,
    GradientsScaledApart,
    OwnGradient,
    OwnGradientOver,
    UpdateLost,
)

_STEP = "optimizer"  # the node around what an optimizer does to all parameters
_MANY = 3
# What is said of parameters as optimizers find them.
_OF_PARAMETERS = (UpdateLost, CopiesApart)
# What is said of all gradients at once, at whatever parameter is the first.
_OF_STEP = (AllDividedTwice, ClippedApart, GradientsScaledApart)


@dataclass(frozen=True, slots=True)
class LoneConflict:
    """A finding about the ranks of one run alone; `names` are what it is about, by rank.

    The first of them that a rank's graph has is meant. `more` are parameters of which the same is
    true. It is `late` where it is about what an optimizer reads or writes, and `value` is what it
    is about. `shown` are the entries, by rank, that show it of any of the parameters. `updates` are
    the optimizer's calls, by rank, that work on all these parameters, or on any where it is about
    none.
    """

    found: CheckFinding
    names: dict[int, list[str]]
    more: tuple[str, ...] = ()
    late: bool = False
    shown: dict[int, frozenset[str]] = field(default_factory=dict)
    updates: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def is_of_gradients(self) -> bool:
        """Whether it is about gradients as an optimizer reads them."""
        return told_value(self.found) == GRADIENT

    @property
    def is_of_scale(self) -> bool:
        """Whether it is about numbers by which ranks scale what they have alike."""
        return any(isinstance(reason, CopiesScaledApart) for reason in self.found.reasons)

    @property
    def is_unreduced(self) -> bool:
        """Whether a gradient is what a rank's own pass gave: no value before it makes it so."""
        return any(isinstance(one, OwnGradient | OwnGradientOver) for one in self.found.reasons)

    @property
    def is_of_parameters(self) -> bool:
        """Whether it is about parameters as a step finds them, which the one before has left."""
        is_told = any(isinstance(reason, _OF_PARAMETERS) for reason in self.found.reasons)
        return is_told or told_value(self.found).startswith(PARAMETERS)

    def is_shown_by(self, kind: str, name: str, rank: int) -> bool:
        """Whether a finding of a rank is that the benchmark has another value of the parameter.

        Which call of its module reads the parameter says nothing: micro-batches share it.
        """
        is_named = _reader_of(name) in map(_reader_of, self.shown.get(rank, ()))
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
    return (finding.node, *kind_of(finding))


def _grouped(findings: list[CheckFinding], step: CheckedStep) -> Iterator[LoneConflict]:
    """One conflict for what one cause does to many parameters of the same ranks.

    What a parameter becomes of a gradient that ranks have unlike is no conflict of its own.
    """
    groups: dict[Hashable, list[CheckFinding]] = defaultdict(list)
    for number, finding in enumerate(findings):
        groups[cause_of(finding) or number].append(finding)
    names, told = _Names(step.run), set[str]()
    for own in groups.values():
        new = [each for each in own if _parameter_of(each) not in told]
        if new:
            parameters = [_parameter_of(each) for each in new]
            told.update(parameters)
            shown = names.of(new[0], of_step=names.are_most(new[0], len(new)))
            late, updates = names.is_late(new[0]), names.updates_of(set(parameters))
            every = _of_all([shown, *(names.of(each, of_step=False) for each in new[1:])])
            yield LoneConflict(new[0], shown, tuple(parameters[1:]), late, every, updates)


def _of_all(shown: Iterable[Mapping[int, Iterable[str]]]) -> dict[int, frozenset[str]]:
    """What shows any of several findings, by rank."""
    found: dict[int, set[str]] = defaultdict(set)
    for names in shown:
        for rank, own in names.items():
            found[rank].update(own)
    return {rank: frozenset(own) for rank, own in found.items()}


def _reader_of(name: str) -> str:
    """An entry's name without the number of its call."""
    return name.rpartition(".")[0]


def _without_followers(findings: list[CheckFinding]) -> list[CheckFinding]:
    """The findings, in the order of calls, without those that follow from an earlier one."""
    makers: list[CheckFinding] = []
    kept = []
    for finding in findings:
        if not any(follows(finding, maker) for maker in makers):
            kept.append(finding)
            makers += [finding] if makes_unlike(finding) else []
    return kept


def _parameter_of(finding: CheckFinding) -> str:
    """The parameter that a finding is about; its node where it is about none."""
    value = told_value(finding)
    is_named = finding.node.startswith(OPTIMIZER) or value.startswith(PARAMETERS)
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
        """By rank, the calls inside an optimizer's step that work on some parameters, or on any
        where it works on none of them.
        """
        found: dict[int, set[str]] = defaultdict(set)
        known = parameters.intersection(self._run.updates.values())
        for logical, parameter in self._run.updates.items():
            if not known or parameter in known:
                for rank, name in self._run.origin.get(logical, {}).items():
                    found[rank].add(name)
        return {rank: frozenset(names) for rank, names in found.items()}

    def is_late(self, finding: CheckFinding) -> bool:
        """Whether it is about a step of an optimizer, and not about what it found there."""
        is_update = finding.node.startswith((OPTIMIZER, _STEP))
        return is_update and told_value(finding) != "parameters.value"

    def _shown_by(self, finding: CheckFinding) -> Iterator[str]:
        if not finding.node.startswith(OPTIMIZER):
            yield finding.node
            yield from self._run.updates if finding.node == _STEP else ()
            return
        parameter = _parameter_of(finding)
        roles = ("parameters_grad.", "parameters.")
        if told_value(finding) == "parameters.value":
            roles = roles[::-1]
        for role in roles:
            for key, owner in zip(self._values.keys, self._values.owner, strict=True):
                if key.startswith(role) and parameter in names_of(owner, key):
                    yield owner
        yield from (call for call, own in self._run.updates.items() if own == parameter)
