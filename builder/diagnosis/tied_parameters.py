"""Says of findings that modules share a parameter in one run alone.

Modules that share one hold one gradient, the sum of what all of them return. Where the other run
has a parameter for each, equal as the weights may be, each holds its own part. A dump says which
parameters are shared, or equal numbers of weights and gradients do whose parts add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.statistics import Floats
from builder.diagnosis.finding import Finding
from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.evidence.distances import ESTIMATED
from builder.evidence.linear_projections import length, projections, rounding_of_sums
from builder.match.tree import TreeNode
from builder.reasons import ArgumentDiffers, Introduced, Reason, TiedHere, TiedThere, value_of

_Side: TypeAlias = Literal[0, 1]
_SIDES: tuple[_Side, _Side] = (0, 1)
_TOLD: tuple[type[TiedHere], type[TiedThere]] = (TiedHere, TiedThere)
GRADIENT, _WEIGHT = "parameters_grad.", "parameters."
_SHOWN = 3  # names of a longer list


class _Held(NamedTuple):
    """The gradient of a module's parameter in one entry; `names` are what the runs call it.

    `key` is what the module of the problem run calls it.
    """

    node: TreeNode
    row: int
    key: str
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Tie:
    """Holders of one parameter on a `side`; the other run has `count` parameters instead."""

    side: _Side
    holders: Sequence[_Held]
    count: int

    @property
    def reason(self) -> TiedHere | TiedThere:
        """What is said of each holder."""
        names = list(dict.fromkeys(one.names[self.side] for one in self.holders))
        return _TOLD[self.side](first_names(names), self.count)

    @property
    def more(self) -> int:
        """How many parameters the problem run has more."""
        return (1 - self.count) if self.side == 0 else self.count - 1


def say_tied(comparison: Comparison, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those of parameters that one run alone shares with that as their reason.

    Without those of a call that only reads as many parameters more or fewer.
    """
    if not any(_may_tell(finding) for finding in findings):
        return list(findings)
    ties = list(_ties(comparison))
    told = {(one.node.owner, one.key): tie.reason for tie in ties for one in tie.holders}
    said = [finding for finding in findings if _says(finding, told)]
    return _without_counts(findings, _more(ties), said[0]) if said else list(findings)


def first_names(names: Sequence[str]) -> str:
    """The first few names of a list as a sentence tells them."""
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def tied_names(comparison: Comparison) -> set[str]:
    """What either run calls the parameters that one run alone shares."""
    return {name for tie in _ties(comparison) for one in tie.holders for name in one.names}


def _may_tell(finding: Finding) -> bool:
    told = finding.node.holds_gradients or finding.kind == "parameter_differs"
    return told and finding.side == "problem"


def _says(finding: Finding, told: Mapping[tuple[str, str], Reason]) -> bool:
    """Give a finding of a holder's gradient, or of its weight, what is told of that parameter.

    A weight that was another from the start differs first of all: what it is shared with follows.
    """
    value = value_of(finding.reasons[0]) or ""
    reason = told.get((finding.node.owner, value.partition(".")[2]))
    if reason is None or not _may_tell(finding):
        return False
    if not finding.node.holds_gradients:
        finding.reasons.insert(1, reason)
    elif isinstance(finding.reasons[0], Introduced):  # it has no inputs that could agree
        finding.reasons[0] = reason
    else:
        finding.reasons.insert(0, reason)
    return True


def _without_counts(findings: Sequence[Finding], more: int, cause: Finding) -> list[Finding]:
    """All findings but those of lists of gradients that are longer by so many: `cause` has them."""
    kept = []
    for finding in findings:
        if not _counts(finding, more):
            kept.append(finding)
            continue
        cause.carriers += [finding.node, *finding.carriers]
        cause.propagated_to = len(cause.carriers)
    return kept


def _counts(finding: Finding, more: int) -> bool:
    """Whether all that differs is that a call behind the gradients reads so many values more."""
    first = finding.reasons[0]
    if not isinstance(first, ArgumentDiffers) or finding.node.phase != "after":
        return False
    counts = (first.problem or "", first.benchmark or "")
    is_count = first.value.startswith("len(") and all(count.isdigit() for count in counts)
    return is_count and int(counts[0]) - int(counts[1]) == more


def _more(ties: Sequence[_Tie]) -> int:
    """How many parameters the problem run has more; a tie shows in each micro-batch."""
    return sum({tie.reason: tie.more for tie in ties}.values())


def _ties(comparison: Comparison) -> Iterator[_Tie]:
    """The parameters that are shared in one run and not in the other."""
    held = list(_held(comparison))
    runs = _run_of(comparison, 0), _run_of(comparison, 1)
    ids = [[run.identity(one) for one in held] for run in runs]
    sums = _sums_of(comparison, [one.row for one in held])
    for side, other in (_SIDES, _SIDES[::-1]):
        groups: defaultdict[Hashable, list[int]] = defaultdict(list)
        for at, identity in enumerate(ids[side]):
            groups[identity].append(at)
        for own in groups.values():
            parts = list({ids[other][at]: at for at in own}.values())
            holders = [held[at] for at in own]
            if len(parts) > 1 and (
                runs[side].declares(holders)
                or (runs[side].may_share(holders) and sums.add_up(side, parts))
            ):
                yield _Tie(side, holders, len(parts))


def _held(comparison: Comparison) -> Iterator[_Held]:
    """The gradients that both runs have of parameters of modules."""
    order, pairs = comparison.matching.problem.in_order, comparison.pairs
    theirs = comparison.matching.benchmark.dump.values.keys
    gradients = np.array([node.holds_gradients for node in order], dtype=bool)
    for row in np.flatnonzero(gradients[pairs.node] & (pairs.benchmark >= 0)).tolist():
        node, key = order[pairs.node[row]], comparison.keys[row].removeprefix(GRADIENT)
        partner = comparison.matching.partner[node]
        other = theirs[pairs.benchmark[row]].removeprefix(GRADIENT)
        yield _Held(node, row, key, (parameter_name(node, key), parameter_name(partner, other)))


def parameter_name(node: TreeNode, key: str) -> str:
    """What a run calls the parameter of a module whose gradient a node holds below a key."""
    return f"{node.entry.path}.{key}" if node.entry is not None else key


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """What tells of gradients whether they add up: of each side their projections and norms."""

    projections: tuple[Floats, Floats]
    norms: tuple[Floats, Floats]
    rounding: Floats

    def add_up(self, side: _Side, parts: Sequence[int]) -> bool:
        """Whether gradients of the run that shares nothing add up to the one of the other run.

        None of them is that gradient itself, as where equal modules of one run read what differs.
        Of statistics without a sketch no more is asked than that their norms may add up so.
        """
        whole, own = self.projections[side][parts], self.projections[1 - side][parts]
        norms, rounding = self.norms[1 - side][parts], self.rounding[parts]
        longest = self.norms[side][parts[0]]
        apart = np.maximum(np.abs(longest - norms), [length(each) for each in own - whole])
        is_sum = length(own.sum(axis=0) - whole[0]) <= rounding.sum()
        is_within = longest <= norms.sum() + rounding.sum()
        return bool(is_sum and is_within and ((apart > rounding) & (norms > rounding)).all())


def _sums_of(comparison: Comparison, rows: Sequence[int]) -> _Sums:
    numbers = np.array(rows, dtype=np.int64)
    ours, theirs = (projections(comparison, side, numbers) for side in _SIDES)
    norms, others = (each.table[3][numbers] for each in comparison.statistics)
    return _Sums((ours, theirs), (norms, others), ESTIMATED * rounding_of_sums(comparison, numbers))


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run's dump says of its parameters.

    `tied` has the first of the names of each that is declared to be shared, `updated` the names
    that its optimizers write: each is a parameter. `weights` are what modules read, by name.
    """

    records: Sequence[Record]
    side: _Side
    tied: Mapping[str, str]
    updated: frozenset[str]
    weights: Mapping[str, Hashable]

    def declares(self, holders: Sequence[_Held]) -> bool:
        """Whether the dump itself says that some holders share their parameter."""
        return all(one.names[self.side] in self.tied for one in holders)

    def may_share(self, holders: Sequence[_Held]) -> bool:
        """Whether no optimizer writes two of them, as it does where they only are equal."""
        return len({one.names[self.side] for one in holders} & self.updated) < 2

    def identity(self, held: _Held) -> Hashable:
        """What is equal where two entries hold the gradient of one parameter."""
        name, record = held.names[self.side], self.records[held.row]
        call = held.node.entry.call if held.node.entry is not None else None
        if name in self.tied:
            return call, self.tied[name]
        bits = _bits(record)
        if bits is None or name not in self.weights:
            return call, name
        return call, bits, self.weights[name]


def _run_of(comparison: Comparison, side: _Side) -> _Run:
    tree = (comparison.matching.problem, comparison.matching.benchmark)[side]
    dump = tree.dump
    ties = dump.parallel.tied if dump.parallel is not None else ()
    updated = (step.get("output", {}) for step in dump.optimizer.values())
    return _Run(
        comparison.records[side],
        side,
        {name: group[0] for group in ties for name in group},
        frozenset(name for step in updated for name in step),
        dict(_weights(tree.in_order, dump)),
    )


def _weights(nodes: Sequence[TreeNode], dump: Dump) -> Iterator[tuple[str, Hashable]]:
    keys, records = dump.values.keys, dump.values.records
    for node in nodes:
        if node.entry is None or node.kind != "module" or node.direction != "forward":
            continue
        for index in range(*node.values):
            bits = _bits(records[index]) if keys[index].startswith(_WEIGHT) else None
            if bits is not None:
                yield f"{node.entry.path}.{keys[index].removeprefix(_WEIGHT)}", bits


def _bits(record: Record) -> Hashable:
    """What tells a tensor from others; None of one that says nothing, as zeros and constants."""
    statistics = (record.Max, record.Min, record.Mean, record.Norm)
    if None in statistics or not record.Norm or record.Max == record.Min:
        return None
    return (record.shape, record.dtype, *statistics, record.sketch)
