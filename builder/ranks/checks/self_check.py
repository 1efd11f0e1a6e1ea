"""What the ranks of one run say about each other, without a benchmark.

C1 replicas agree, C3 a collective's result is what its inputs give, C4 equal layers talk over one
axis, C5 what most layers add up is added up, C7 one clip factor holds on all ranks, and parameters
that were alike are updated alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

from builder.claim import Claim, Counted, Evidence, claim, together
from builder.dump.reader import Dump, read_dump
from builder.dump.sources import Source, SourceSet
from builder.dump.twins import Twins
from builder.errors import InputError
from builder.ranks.assembly.alignment import parse
from builder.ranks.assembly.assemble import assemble
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.assembly.peers import micro_batches_of, names_of_ranks
from builder.ranks.checks.check_finding import CheckFinding, axis_of, listed
from builder.ranks.checks.collectives import (
    lone_collectives,
    told_collectives,
    wrong_collectives,
)
from builder.ranks.checks.contradictions import contradictions
from builder.ranks.checks.lone_parameters import lone_parameters
from builder.ranks.checks.misplaced_values import misplaced
from builder.ranks.checks.partial_sums import clip_factors, unlike_factors, unreduced_sums
from builder.ranks.checks.shared_rows import shared_rows
from builder.ranks.checks.wrong_reductions import (
    beginning,
    explained,
    wrong_divisors,
    wrong_reductions,
)
from builder.ranks.checks.wrong_updates import wrong_shares, wrong_updates
from builder.ranks.joining.joined_statistics import disagreement
from builder.ranks.joining.layouts import AXIS_NAMES, AxisLayout
from builder.ranks.joining.parts import Floats, Placements, RunValues, indices
from builder.ranks.joining.ties import tied_names
from builder.ranks.joining.tolerances import recorded_rounding
from builder.ranks.layout.coordinates import RunLayout, Sizes, layout_of
from builder.ranks.layout.names import role_of
from builder.ranks.layout.schedule import number_micro_batches
from builder.ranks.placement.clipping_norms import CountedOften, norms_counted_often
from builder.ranks.placement.gradients import reductions
from builder.ranks.placement.optimizer_shares import OptimizerShares
from builder.ranks.placement.updates import OfRanks, optimizer_roles
from builder.reasons import (
    GradientsScaledApart,
    NormCountsOften,
    OptimizerApart,
    OtherGroupUsed,
    ReplicasDiffer,
    ReplicasUnlike,
    SumOfPeersUsed,
)
from builder.reasons.reason import value_of
from msprobe_core.format import COMMUNICATION

_WHOLE = re.compile(r"norm", re.IGNORECASE)  # layers that no layout cuts


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of every step, in order, and what the ranks were held against each other by."""

    findings: list[CheckFinding]
    evidence: Evidence

    @property
    def claim(self) -> Claim:
        """What may be said of the ranks."""
        return claim(self.evidence, len(self.findings))


@dataclass(frozen=True, slots=True)
class CheckedStep:
    """One step of a run, its ranks as one, and what was found in it."""

    step: int
    run: LogicalRun
    checked: Checked


def check_dump(dump: SourceSet, sizes: Sizes) -> Checked:
    """Hold the ranks of every step against each other.

    Raises InputError when there are no ranks to hold against each other, DumpError for a rank that
    cannot be read.
    """
    if dump.granularity == "rank" or len({source.rank for source in dump.sources}) < 2:
        raise InputError(
            f"{dump.path}: a single rank has no other to be checked against",
            "give a dump or a step of several ranks",
        )
    steps = [each.checked for each in check_steps(dump, sizes)]
    found = [finding for each in steps for finding in each.findings]
    return Checked(found, together(each.evidence for each in steps))


def check_steps(dump: SourceSet, sizes: Sizes) -> Iterator[CheckedStep]:
    """The steps of a dump of several ranks in order, each held against the one before it, too.

    Raises InputError for a layout that the ranks do not fit, DumpError for one that cannot be read.
    """
    reported: set[str] = set()
    before: OfRanks = {}
    for step in sorted({source.step for source in dump.sources}):
        ranks = [s for s in dump.sources if s.step == step and s.rank >= 0]
        run, dumps = _logical_run(dump.path, ranks, sizes)
        checked = check_step(step, run)
        misread, one_share = shared_rows(step, dumps, run.layout)
        reported |= {each.node for each in (*misread, *checked.findings)}
        names = names_of_ranks(dumps, run.layout)
        roles = optimizer_roles(dumps, names)
        updates = list(wrong_updates(step, before, roles, dumps, run.layout, reported))
        reported |= {each.node for each in updates}
        before = roles
        if any(own.get("shares") for own in roles.values()):
            shares = OptimizerShares(RunValues(run), dumps, names)
            updates += wrong_shares(step, shares, run.layout)
        found = [*misread, *checked.findings, *updates]
        yield CheckedStep(step, run, Checked(found, checked.evidence.with_gaps(one_share)))


def check_step(step: int, run: LogicalRun) -> Checked:
    """The findings of one step: collectives first, since replicas differ behind them."""
    values, seen = RunValues(run), Counter[str]()
    known = reductions(values)
    replicas = list(explained(list(_replicas(step, values, seen)), known))
    unlike = {each.node for each in replicas}
    of_parameters = any(_key_of(each).startswith("parameters.") for each in replicas)
    sums = _sums(step, values)
    if not sums and not of_parameters:
        sums = list(beginning(step, values, replicas, known))
    findings = [
        *_collectives(step, values),
        *check_groups(step, values),
        *sums,
        *contradictions(step, values),
        *wrong_reductions(step, values, known, unlike),
        *wrong_divisors(step, values, known),
        *_clipping(step, values, seen),
        *_as_updates(replicas, values),
    ]
    order = {name: number for number, name in enumerate(run.dump.ranges)}
    seen["collectives"] = told_collectives(values)
    lone = [*lone_parameters(values, _is_parameter), *lone_collectives(values)]
    gap = Counted("lone_ranks", len(lone), lone[0] if lone else "")
    findings.sort(key=lambda each: order[each.node])
    findings = [
        each if each.inside else replace(each, inside=_module_of(each.node, run))
        for each in findings
    ]
    return Checked(findings, _evidence(step, seen).with_gaps(gap))


def _module_of(node: str, run: LogicalRun) -> str:
    """The module in which a call is made; "" of all else."""
    entry, parent = parse(node), run.dump.parents.get(node) or ""
    around = parse(parent)
    is_inside = around is not None and around.kind == "module"
    return parent if is_inside and entry is not None and entry.kind != "module" else ""


def _evidence(step: int, seen: Counter[str]) -> Evidence:
    """What a step rests on; one without anything is as good as unchecked."""
    compared = [Counted(code, seen[code]) for code in ("replicas", "collectives", "factors")]
    gaps = [Counted("no_statistics", seen["silent"])]
    if not any(each.count for each in compared):
        gaps.append(Counted("unchecked_step", 1, f"step {step}"))
    return Evidence(tuple(each for each in compared if each.count)).with_gaps(*gaps)


def _logical_run(
    folder: Path, ranks: Sequence[Source], sizes: Sizes
) -> tuple[LogicalRun, dict[int, Dump]]:
    twins = Twins()
    dumps = {source.rank: twins.shared(read_dump(source.path)) for source in ranks}
    layout = layout_of(dumps, sizes, folder)
    number_micro_batches(dumps, layout)
    ties = tied_names((dumps, layout))
    run = assemble(dumps, layout, micro_batches_of(dumps, layout), join=True, ties=ties)
    return run, dumps


# --- replicas -----------------------------------------------------------------------------------


def _replicas(step: int, values: RunValues, seen: Counter[str]) -> Iterator[CheckFinding]:
    # Of a role some may lie otherwise: a layer that FSDP was told to ignore is whole on each rank.
    roles: dict[tuple[str, str, tuple[int, ...], Placements], list[int]] = {}
    for index in range(len(values.keys)):
        if _is_parameter(values, index):
            grid = values.grid(index)
            if grid is not None and len(grid.shapes) > 1:
                name = role_of(f"{values.owner[index]}.")
                role = (name, values.keys[index], grid.sizes, grid.placements)
                roles.setdefault(role, []).append(index)
    known: dict[tuple[str, int], bool] = {}
    for role, rows in roles.items():
        yield from _role_conflicts(step, values, role, rows, known, seen)


def _is_parameter(values: RunValues, index: int) -> bool:
    owner = values.owner[index]
    return values.keys[index].startswith("parameters.") or owner.startswith("Optimizer.")


def _role_conflicts(
    step: int,
    values: RunValues,
    role: tuple[str, str, tuple[int, ...], Placements],
    rows: Sequence[int],
    known: dict[tuple[str, int], bool],
    seen: Counter[str],
) -> Iterator[CheckFinding]:
    name, key, sizes, placed = role
    same = _same(values, rows)
    table, recorded = values.numbers(indices([values.run.parts[row] for row in rows]))
    forms = _forms(values, rows)
    axes = tuple(AxisLayout(a, s, "R") for a, s in zip(AXIS_NAMES, sizes, strict=True) if s > 1)
    placements = dict(placed)
    for place, axis in enumerate(axes):
        apart = disagreement(table, axes, place)
        agreeing = float((apart <= same).mean()) >= 0.5
        whole = _is_whole(axis.axis, name, placements, values.run.layout)
        if key == "input.gradient":
            # A gradient lies as its parameter does, which most of the role's values tell.
            agreeing = known.get((name, place), _parameter_agrees(values, rows, axes, place))
        if whole is False or not (agreeing or whole):
            continue
        known[name, place] = True
        has_numbers = int(recorded.any(axis=(0, 2)).sum())
        seen["replicas"] += has_numbers
        seen["silent"] += len(rows) - has_numbers
        unlike = _are_unlike(forms, axes, place)
        for at in np.flatnonzero((apart > same) | unlike).tolist():
            told = forms if unlike[at] else table
            ranks = _outliers(values, rows[at], told[:, at], axes, place)
            where = values.run.layout.describe_all(ranks)
            on = (", ".join(map(str, ranks)), where)
            said = (
                ReplicasUnlike(key, axis.axis, *on)
                if unlike[at]
                else ReplicasDiffer(key, axis.axis, float(apart[at]), *on)
            )
            owner = values.owner[rows[at]]
            yield CheckFinding("replica", step, owner, axis.axis, ranks, where, (said,))


def _forms(values: RunValues, rows: Sequence[int]) -> Floats:
    """A number for shape and format of each part [1, values, parts], equal where both are."""
    numbers: dict[tuple[object, ...], int] = {}
    listed = [
        [numbers.setdefault((r.shape, r.dtype), len(numbers)) for r in values.records(row)]
        for row in rows
    ]
    return np.array([listed], dtype=np.float64)


def _are_unlike(
    forms: Floats, axes: Sequence[AxisLayout], place: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which values have parts of unlike shape or format along an axis."""
    inner = prod(axis.size for axis in axes[:place])
    grid = forms.reshape(forms.shape[1], -1, axes[place].size, inner)
    return np.asarray((grid != grid[:, :, :1]).any(axis=(1, 2, 3)))


def _is_whole(axis: str, role: str, placements: dict[str, str], layout: RunLayout) -> bool | None:
    """Whether parameters of a role are repeated along an axis; None where only values tell."""
    if axis in placements:
        return placements[axis] == "R"
    if axis == "pp":
        return True  # copies of tied weights
    if axis in ("dp", "cp"):
        return True if layout.size("ep") == 1 else None
    return True if _WHOLE.search(role) else None


def _parameter_agrees(
    values: RunValues, rows: Sequence[int], axes: tuple[AxisLayout, ...], place: int
) -> bool:
    """Whether most of the parameters beside some gradients agree along an axis."""
    all_parts, beside = values.run.parts, []
    for row in rows:
        start, stop = values.run.dump.ranges[values.owner[row]]
        beside += [
            i
            for i in range(start, stop)
            if values.keys[i] == "parameters.value"
            and all_parts[i].places.sizes == all_parts[row].places.sizes
        ]
    parts = [all_parts[i] for i in beside]
    if not parts:
        return False
    apart = disagreement(values.numbers(indices(parts))[0], axes, place)
    return float((apart <= _same(values, beside)).mean()) >= 0.5


def _same(values: RunValues, rows: Sequence[int]) -> float:
    """How far apart what is recorded of two copies may be."""
    records = (values.run.records[values.run.parts[row].records[0]] for row in rows)
    return 2 * recorded_rounding(max(prod(record.shape or (1,)) for record in records))


def _outliers(
    values: RunValues, index: int, table: Floats, axes: tuple[AxisLayout, ...], place: int
) -> tuple[int, ...]:
    """The minority of the ranks along an axis; all of them where none is one."""
    parts = values.run.parts[index]
    name = axes[place].axis
    at = AXIS_NAMES.index(name)
    prints = {part.rank: tuple(table[:, n].tolist()) for n, part in enumerate(parts)}
    groups: dict[tuple[int, ...], list[int]] = {}
    for part in parts:
        others = tuple(c for n, c in enumerate(part.at) if n != at)
        groups.setdefault(others, []).append(part.rank)
    guilty: set[int] = set()
    for ranks in groups.values():
        counts = Counter(prints[rank] for rank in ranks)
        most = max(counts.values())
        if len(counts) > 1:
            usual = most > len(ranks) / 2
            guilty |= {rank for rank in ranks if not usual or counts[prints[rank]] < most}
    return tuple(sorted(guilty))


# --- updates ------------------------------------------------------------------------------------


def _as_updates(findings: list[CheckFinding], values: RunValues) -> Iterator[CheckFinding]:
    """Replicas of an updated parameter that differ although gradient and parameter agreed."""
    reported = {(finding.node, _key_of(finding)) for finding in findings}
    before = ("input.gradient", "parameters.value")
    for finding in findings:
        key = _key_of(finding)
        start, stop = values.run.dump.ranges.get(finding.node, (0, 0))
        known = [k for k in before if k in values.keys[start:stop]]
        agreed = not any((finding.node, name) in reported for name in before)
        if key != "output.value" or len(known) < 2 or not agreed:
            yield finding
            continue
        yield replace(finding, check="update", reasons=(*finding.reasons, OptimizerApart()))


def _key_of(finding: CheckFinding) -> str:
    """The key of the value of which ranks hold unlike replicas."""
    return next(filter(None, map(value_of, finding.reasons)), "")


def _clipping(step: int, values: RunValues, seen: Counter[str]) -> Iterator[CheckFinding]:
    """One finding where ranks scale the gradients that their optimizers read by unlike factors."""
    factors, rounding = clip_factors(values)
    seen["factors"] = len(factors) if len(factors) > 1 else 0
    for found in norms_counted_often(values, "tp", factors):
        yield _of_norm(step, values, found)
    node = next((o for o in values.owner if o.startswith("Optimizer.")), None)
    if node is None or not unlike_factors(factors, rounding):
        return
    layout, ranks = values.run.layout, tuple(sorted(factors))
    said = GradientsScaledApart(listed(f"{factors[rank]:.6g} on rank {rank}" for rank in ranks))
    axis = axis_of(layout, ranks) or "?"
    yield CheckFinding("update", step, node, axis, ranks, layout.describe_all(ranks), (said,))


def _of_norm(step: int, values: RunValues, found: CountedOften) -> CheckFinding:
    layout = values.run.layout
    ranks, said = (
        tuple(sorted(layout.places)),
        (NormCountsOften(found.norm, found.whole, found.axis, found.count),),
    )
    where = layout.describe_all(ranks)
    return CheckFinding("update", step, found.call, found.axis, ranks, where, said)


# --- sums ---------------------------------------------------------------------------------------


def _sums(step: int, values: RunValues) -> list[CheckFinding]:
    """Parts of sums that are used as the whole: by the flow, else by what the other layers do."""
    found = list(misplaced(step, values)) if values.run.layout.size("tp") > 1 else []
    known = {finding.node for finding in found}
    return found + [each for each in check_sums(step, values) if each.node not in known]


def check_sums(step: int, values: RunValues) -> Iterator[CheckFinding]:
    """Parts that other layers add up over ranks and one layer uses as if they were the whole."""
    layout = values.run.layout
    for found in unreduced_sums(values):
        where = layout.describe_all(found.ranks)
        said = SumOfPeersUsed(found.call, found.peers, found.reader)
        axis = axis_of(layout, found.ranks) or "?"
        yield CheckFinding("partial", step, found.module, axis, found.ranks, where, (said,))


# --- collectives --------------------------------------------------------------------------------


def _collectives(step: int, values: RunValues) -> Iterator[CheckFinding]:
    for name, group, said in wrong_collectives(values):
        where = values.run.layout.describe_all(group)
        axis = axis_of(values.run.layout, group) or "?"
        yield CheckFinding("collective", step, name, axis, group, where, (said,))


# --- groups -------------------------------------------------------------------------------------


def check_groups(step: int, values: RunValues) -> Iterator[CheckFinding]:
    """Collectives whose axis is not that of the same call in the other layers."""
    run = values.run
    roles: dict[str, list[tuple[str, str, tuple[int, ...]]]] = {}
    for name, (start, stop) in run.dump.ranges.items():
        parent = run.dump.parents.get(name)
        entry = parse(name) if name.partition(".")[0] in COMMUNICATION else None
        if entry is None or parent is None:
            continue
        ranks = next(
            (
                tuple(r.group_ranks)
                for i in range(start, stop)
                for r in values.records(i)[:1]
                if r.group_ranks
            ),
            (),
        )
        axis = axis_of(run.layout, ranks)
        if axis is not None:
            roles.setdefault(f"{role_of(parent)}/{entry.type_name}", []).append((name, axis, ranks))
    for calls in roles.values():
        counts = Counter(axis for _, axis, _ in calls)
        usual, most = counts.most_common(1)[0]
        if most * 2 <= len(calls):
            continue
        for name, axis, ranks in calls:
            if axis != usual:
                where = run.layout.describe_all(ranks)
                said = OtherGroupUsed(axis, most, usual)
                yield CheckFinding("group", step, name, axis, ranks, where, (said,))
