"""What only all pairs together tell: links between ranks, and the order of all findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import msgspec
from msgspec import UNSET

from builder.diagnosis.causes import Place, by_cause
from builder.diagnosis.communication import Discord, Link, link
from builder.match.tree import runs_behind_gradients
from builder.reasons import (
    ArgumentDiffers,
    BatchDiffers,
    BatchRows,
    BatchShaped,
    Explained,
    InputDiffers,
    IntroducedBeyond,
    OptimizerDiffers,
    Reason,
    RowsDiffer,
    UnrecordedDiffers,
)
from builder.run.carried import OTHER_CALLS, kinds_shown, without_carried
from builder.run.healed import with_healed
from builder.run.replica_weights import without_replicas
from builder.run.rewritten import is_rewritten, with_rewritten
from builder.run.uncleared import is_uncleared, with_uncleared
from builder.work.outcome import PairOutcome, StoredFinding

# What a step inherits from the one before it: its weights, and what was computed from them.
_INHERITED = ("parameter_differs", "input_differs")


def link_ranks(outcomes: Sequence[PairOutcome]) -> tuple[list[Link], list[StoredFinding]]:
    """The links between ranks on both sides, and a finding for every call without its partner.

    What the benchmark lacks in the same way is how the program talks, not a fault.
    """
    links: list[Link] = []
    findings: list[StoredFinding] = []
    by_step: defaultdict[int, list[PairOutcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.messages:
            by_step[outcome.step].append(outcome)
    for step, own in sorted(by_step.items()):
        sides = [link({o.rank: o.messages[side] for o in own}) for side in range(_sides(own))]
        for side_links, _ in sides:
            links += side_links
        usual = {_place(discord) for _, discords in sides[1:] for discord in discords}
        graphs = {outcome.rank: outcome.graphs[0] for outcome in own}
        findings += [
            _finding(step, graphs[discord.rank], discord)
            for discord in sides[0][1]
            if len(sides) > 1 and _place(discord) not in usual
        ]
    return links, findings


def order_findings(
    outcomes: Sequence[PairOutcome],
    discords: Sequence[StoredFinding],
    links: Sequence[Link] = (),
) -> list[StoredFinding]:
    """All findings, best suspect first: step, then pass and place, then rank.

    A parameter that differs after a step with findings of its own is that step's consequence, and
    so is what grows out of such parameters; it counts as propagated and is not listed. After a
    step whose gradients all agree, the optimizer is named as the reason. A collective hands on what
    any of its ranks put in: where one of these has a finding, that explains the others'. Findings
    of one cause become one, with its places: those of the others, and where the same change shows
    that is no finding there. Other calls that showed nothing before and read weights that rounding
    has moved since are none. Those that heal stand last.
    """
    listed = list(discords)
    by_rank: defaultdict[int, list[PairOutcome]] = defaultdict(list)
    for outcome in sorted(outcomes, key=lambda outcome: outcome.step):
        by_rank[outcome.rank].append(outcome)
    for _, own in sorted(by_rank.items()):
        listed += _of_rank(own)
    listed = without_replicas(listed, outcomes)
    ordered = sorted(listed, key=lambda f: (f.step, f.sort_key, f.rank))
    kept = _without_receivers(ordered, links)
    seen = _Seen(outcomes, kept)
    causes = [_one_cause(group, seen) for group in without_carried(by_cause(kept), by_rank)]
    return with_healed(causes, outcomes)


def _without_receivers(
    ordered: Sequence[StoredFinding], links: Sequence[Link]
) -> list[StoredFinding]:
    """Findings without the collectives that hand on what an earlier one sent from another rank.

    What these explain, the earlier one explains: one of the same step on a rank that takes part, or
    one of a step before on a rank that is fed something else here, as by weights. So it is with
    gradients that a wrapper reduces where nothing is recorded.
    """
    senders: dict[int, dict[int, bool]] = {}
    calls: dict[int, list[Link]] = {}
    for known in links:
        senders.setdefault(known.node, {})[known.peer_rank] = known.peer_differs
        calls.setdefault(known.node, []).append(known)
    put_in = _PutIn(ordered, calls)
    explained: Counter[int] = Counter()
    kept: list[StoredFinding] = []
    first = _First()
    for finding in ordered:
        peer = put_in.before(finding)
        if peer is not None:
            explained[peer] += finding.propagated_to + 1
            continue
        at = first.sender(finding, senders.get(finding.node, {}))
        if at < 0 and _reads_reduced_gradients(finding):
            at = first.behind_gradients(finding)
        if finding.kind == "communication" or at < 0:
            first.add(finding, len(kept))
            kept.append(finding)
        else:
            count = kept[at].propagated_to + finding.propagated_to + 1
            kept[at] = replace(kept[at], propagated_to=count)
    return [replace(f, propagated_to=f.propagated_to + explained[f.node]) for f in kept]


class _PutIn:
    """What other ranks put into a collective, wherever it stands in the order of all ranks.

    A rank that makes a call more comes to the collective later than those that it misleads.
    """

    def __init__(
        self, findings: Sequence[StoredFinding], calls: Mapping[int, Sequence[Link]]
    ) -> None:
        self._calls = calls
        self._own: dict[tuple[int, int], list[StoredFinding]] = {}
        for one in findings:
            if one.node not in calls:
                self._own.setdefault((one.step, one.rank), []).append(one)

    def before(self, finding: StoredFinding) -> int | None:
        """The node of another rank's finding that stands before its part in the same call."""
        if finding.kind != "introduced":
            return None
        for part in self._calls.get(finding.node, ()):
            for one in self._own.get((finding.step, part.peer_rank), ()):
                if part.peer_node is not None and one.node < part.peer_node and part.peer_differs:
                    return one.node
        return None


def _reads_reduced_gradients(finding: StoredFinding) -> bool:
    """Whether the optimizer, or what clips for it, reads a gradient that no recorded call made.

    Wrappers as DistributedDataParallel reduce gradients below torch's functions.
    """
    first = finding.reasons[:1]
    unmade = any(isinstance(reason, InputDiffers | UnrecordedDiffers) for reason in first)
    return unmade and runs_behind_gradients(finding.sort_key)


class _First:
    """The places of findings that were kept, of each step and rank and of each rank the first.

    They are added in the order of steps.
    """

    def __init__(self) -> None:
        self._here: dict[tuple[int, int], int] = {}
        self._ever: dict[int, tuple[int, int]] = {}
        self._late: set[int] = set()

    def add(self, finding: StoredFinding, place: int) -> None:
        """Note the place of a finding."""
        self._here.setdefault((finding.step, finding.rank), place)
        self._ever.setdefault(finding.rank, (finding.step, place))
        self._late |= {place} if runs_behind_gradients(finding.sort_key) else set()

    def sender(self, finding: StoredFinding, ranks: Mapping[int, bool]) -> int:
        """The place of the finding that a rank which takes part in a call has; -1 for none."""
        here = (self._here.get((finding.step, rank)) for rank in ranks)
        before = (self._ever.get(rank) for rank, differs in ranks.items() if differs)
        return min(
            (place for place in here if place is not None),
            default=min(
                (one[1] for one in before if one is not None and one[0] < finding.step), default=-1
            ),
        )

    def behind_gradients(self, finding: StoredFinding) -> int:
        """The place of the first finding that another rank has before its own update; -1 for none.

        None where the rank has one itself.
        """
        if (finding.step, finding.rank) in self._here:
            return -1
        ranks = (place for (step, _), place in self._here.items() if step == finding.step)
        return min((at for at in ranks if at not in self._late), default=-1)


class _Seen:
    """Where a change of some kind shows, in the order of steps, passes and ranks.

    Invariant: `_taken` are the nodes of all findings and of all places so far, for no node is a
    place of two causes.
    """

    def __init__(self, outcomes: Iterable[PairOutcome], findings: Iterable[StoredFinding]) -> None:
        self._by_kind: dict[str, list[_Spot]] = defaultdict(list)
        for outcome in outcomes:
            for one in outcome.sightings:
                place = Place(outcome.step, outcome.rank, one.node, one.name)
                spot = _Spot((outcome.step, one.sort_key, outcome.rank), one.graph, place)
                for kind in one.kinds:
                    self._by_kind[kind].append(spot)
        self._taken = {(finding.graph, finding.node) for finding in findings}

    def places(self, group: Sequence[StoredFinding]) -> tuple[_Spot, ...]:
        """The places of a cause beside that of its first finding."""
        others = {(finding.graph, finding.node): finding for finding in group}
        del others[group[0].graph, group[0].node]
        spots = [_spot_of(finding) for finding in others.values()]
        kinds = dict.fromkeys(kind for finding in group for kind in finding.kinds)
        for spot in (spot for kind in kinds for spot in self._by_kind.get(kind, ())):
            if (node := (spot.graph, spot.place.node)) not in self._taken:
                self._taken.add(node)
                spots.append(spot)
        return tuple(sorted(spots, key=lambda spot: spot.order))


@dataclass(frozen=True, slots=True)
class _Spot:
    order: tuple[int, tuple[int, int], int]
    graph: int
    place: Place


def _spot_of(finding: StoredFinding) -> _Spot:
    place = Place(finding.step, finding.rank, finding.node, finding.name)
    return _Spot((finding.step, finding.sort_key, finding.rank), finding.graph, place)


def _one_cause(group: Sequence[StoredFinding], seen: _Seen) -> StoredFinding:
    """The first finding of a cause, with all of its places and all that they explain."""
    explained = sum(finding.propagated_to for finding in group)
    heals = all(finding.heals_by_itself for finding in group)
    first = _where_given_first(group[0], seen.places(group))
    basis = "guessed" if _showed_nothing_before(first) else first.basis
    return replace(first, propagated_to=explained, heals_by_itself=heals, basis=basis)


def _where_given_first(finding: StoredFinding, spots: tuple[_Spot, ...]) -> StoredFinding:
    """The finding with its places; one of another argument where the step gives that first.

    What a call leaves in running statistics shows where a later one reads them, which is given the
    same argument, and reads what differs already.
    """
    own = _spot_of(finding)
    told = next(iter(finding.reasons), None)
    first = next((spot for spot in spots if _is_before(spot, own)), own)  # they stand in order
    if first is own or not isinstance(told, ArgumentDiffers) or finding.of_benchmark:
        return replace(finding, places=tuple(spot.place for spot in spots))
    places = sorted((own, *(s for s in spots if s is not first)), key=lambda s: s.order)
    return replace(
        finding,
        graph=first.graph,
        node=first.place.node,
        name=first.place.name,
        sort_key=first.order[1],
        reasons=[told, *(_of_call(reason, finding.name) for reason in finding.reasons[1:])],
        places=tuple(spot.place for spot in places),
    )


def _is_before(spot: _Spot, own: _Spot) -> bool:
    """Whether a place is of the same run, step and rank, and stands before."""
    return spot.graph == own.graph and spot.order < own.order


def _of_call(reason: Reason, name: str) -> Reason:
    """A reason about a value of a call, as it is told of another one."""
    if isinstance(reason, Explained) and reason.at is UNSET:
        return msgspec.structs.replace(reason, at=name)
    return reason


def _showed_nothing_before(finding: StoredFinding) -> bool:
    """Whether the same other calls were made in a step before and all that came of them agreed.

    What they read since, as weights that no call of both reads, was compared nowhere: it may be
    what is off, as where an optimizer makes whole steps of rounding.
    """
    earlier = any(place.step < finding.step for place in finding.places)
    return earlier and isinstance(finding.reasons[0], OTHER_CALLS)


def _sides(outcomes: Sequence[PairOutcome]) -> int:
    return min(len(outcome.messages) for outcome in outcomes)


def _place(discord: Discord) -> tuple[object, ...]:
    return (discord.rank, discord.message.name, type(discord.reason))


def _finding(step: int, graph: int, discord: Discord) -> StoredFinding:
    return StoredFinding(
        step=step,
        rank=discord.rank,
        graph=graph,
        node=discord.message.node,
        name=discord.message.name,
        kind="communication",
        is_api=True,
        sort_key=discord.message.order,
        score=1.0,
        input_score=None,
        introduced=1.0,
        reasons=[discord.reason],
        propagated_to=0,
    )


def _of_rank(outcomes: Sequence[PairOutcome]) -> list[StoredFinding]:
    listed: list[StoredFinding] = []
    rewritten: int | None = None  # the place of the first that says a weight was written anew
    previous: PairOutcome | None = None
    let_pass: frozenset[Hashable] = frozenset()
    numbers = _Numbers(outcomes)
    stays = 0  # the place of the first that does not heal by itself, or of the next to be listed
    for outcome in with_uncleared(with_rewritten(outcomes)):
        significant = [f for f in outcome.findings if not _is_rounding(f, let_pass)]
        late = previous.late if previous is not None else None
        if significant and not listed and late is not None and not _is_fed(significant[0]):
            # Nothing showed while the optimizer ran; what its step left behind shows now.
            listed.append(
                replace(late, score=significant[0].score, introduced=significant[0].score)
            )
        for finding in outcome.findings:
            while stays < len(listed) and listed[stays].heals_by_itself:
                stays += 1
            cause = _explained_by(finding, listed, stays, rewritten)
            if cause is None and stays < len(listed) and listed[stays].step < finding.step:
                follows = numbers.worked_out_since(finding, listed[stays].step)
                cause = stays if follows or _was_handed(finding, previous) else None
            if cause is not None:
                count = listed[cause].propagated_to + finding.propagated_to + 1
                listed[cause] = replace(listed[cause], propagated_to=count)
            elif not _is_rounding(finding, let_pass):
                told = _with_optimizer(finding, previous)
                if outcome.frameworks is not None and _is_one_update(listed, told):
                    listed[-1] = replace(listed[-1], propagated_to=listed[-1].propagated_to + 1)
                else:
                    if rewritten is None and is_rewritten(told):
                        rewritten = len(listed)
                    listed.append(told)
        # A weight that no optimizer touched since is read again as it was; what one made of it is
        # off by what it was before.
        rounding = [f for f in outcome.findings if _is_rounding(f, let_pass)]
        inherited = (prints for f in rounding for prints in (f.inherits, f.leaves))
        previous, let_pass = outcome, outcome.tolerated.union(*inherited)
    return listed


def _explained_by(
    finding: StoredFinding, listed: Sequence[StoredFinding], stays: int, rewritten: int | None
) -> int | None:
    """The place of the finding of an earlier step that explains another one.

    What heals by itself leaves nothing to a step behind it: `stays` is the place of the first that
    does not.
    """
    if is_rewritten(finding):  # the same again, and not what the step before left
        return _update_before(finding, listed) if rewritten is None else rewritten
    first = listed[stays].step if stays < len(listed) else finding.step
    if first < finding.step and _is_inherited(finding):
        return stays
    if finding.kind == "argument_differs" and runs_behind_gradients(finding.sort_key):
        return _update_before(finding, listed)  # as by an optimizer's count of its steps
    if ".parameters_grad." in finding.name:  # added to what was not cleared
        uncleared = (place for place, one in enumerate(listed) if is_uncleared(one))
        place = next(uncleared, None)
        if place is None and is_uncleared(finding):  # what no optimizer knows none clears
            return _update_before(finding, listed)
        is_later = place is not None and listed[place].step < finding.step
        return place if is_later else None  # in the same step it is another place of it
    return None


class _Numbers:
    """Arguments that a script works out of what it read off an earlier step.

    As the weight of a loss is of that loss. What a script sets itself is another number from the
    first step on. The sightings of a step are gathered once.
    """

    def __init__(self, outcomes: Iterable[PairOutcome]) -> None:
        self._outcomes = {outcome.step: outcome for outcome in outcomes}
        self._shown: dict[int, frozenset[str]] = {}

    def worked_out_since(self, finding: StoredFinding, step: int) -> bool:
        """Whether a call is given another number here, and was given the same in an earlier step.

        `step` is that of the first finding, which led to what was read off.
        """
        told = next(iter(finding.reasons), None)
        if not finding.kinds or not isinstance(told, ArgumentDiffers):
            return False
        if not (_is_fraction(told.problem) and _is_fraction(told.benchmark)):
            return False
        return self._kinds(step).isdisjoint(finding.kinds)

    def _kinds(self, step: int) -> frozenset[str]:
        if step not in self._shown:
            here = self._outcomes.get(step)
            self._shown[step] = frozenset() if here is None else kinds_shown(here)
        return self._shown[step]


def _is_fraction(text: str | None) -> bool:
    """Whether an argument is a number with a point: counts and axes are no results."""
    try:
        return text is not None and not text.lstrip("-").isdigit() and isfinite(float(text))
    except ValueError:
        return False


def _update_before(finding: StoredFinding, listed: Sequence[StoredFinding]) -> int | None:
    """The place of calls that one run alone makes behind a backward pass, as its optimizer's are.

    Of a step before, or of the same step and line.
    """
    made = (
        place
        for place, one in enumerate(listed)
        if isinstance(one.reasons[0], OTHER_CALLS) and runs_behind_gradients(one.sort_key)
        if one.step < finding.step or (one.line is not None and one.line == finding.line)
    )
    return next(made, None)


def _is_rounding(finding: StoredFinding, let_pass: frozenset[Hashable]) -> bool:
    """Whether all that differs is what the step before let pass, as Adam's rounding may be."""
    return bool(finding.inherits) and finding.inherits <= let_pass


def _is_fed(finding: StoredFinding) -> bool:
    fed = (BatchDiffers, BatchRows, BatchShaped, RowsDiffer, UnrecordedDiffers)
    return any(isinstance(reason, fed) for reason in finding.reasons)


def _was_handed(finding: StoredFinding, previous: PairOutcome | None) -> bool:
    """Whether what a step is fed is what came out of the step before, and differed there."""
    if previous is None or not finding.inherits:
        return False
    return _is_fed(finding) and finding.inherits <= previous.handed


def _is_inherited(finding: StoredFinding) -> bool:
    if finding.kind == "introduced":
        # What it reads is off already, as its weights are since the step before.
        beyond = any(isinstance(r, IntroducedBeyond) for r in finding.reasons)
        return beyond or (finding.input_score or 0.0) > 0
    return finding.kind in _INHERITED and not _is_fed(finding)


def _is_one_update(listed: list[StoredFinding], finding: StoredFinding) -> bool:
    """Whether a weight was left otherwise by the optimizer's step that the last finding names.

    Across frameworks no call of an optimizer is compared that could be named for all of them.
    """
    if not listed:
        return False
    last = listed[-1]
    both = (any(isinstance(r, OptimizerDiffers) for r in each.reasons) for each in (last, finding))
    return last.step == finding.step and all(both)


def _with_optimizer(finding: StoredFinding, previous: PairOutcome | None) -> StoredFinding:
    if finding.kind != "parameter_differs" or previous is None or not previous.gradients_agree:
        return finding
    if is_rewritten(finding):
        return finding
    return replace(finding, reasons=[*finding.reasons, OptimizerDiffers(previous.step)])
