"""What the whole build needs to know of one pair, as it travels between processes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import msgspec

from builder.claim import NO_EVIDENCE, Claim, Counted, Evidence, claim, together
from builder.diagnosis.causes import Place
from builder.diagnosis.communication import Message
from builder.diagnosis.end_results import MOST, NONE_APART, EndsApart
from builder.finding_certainty import Basis
from builder.flow.weights import WeightPrints
from builder.reasons import (
    Amplifies,
    FilesBroken,
    OneProgram,
    RatedError,
    Reason,
    RulesUnfit,
    Ties,
    TwoImplementations,
    TwoVersions,
    UntoldChoices,
    do_heal,
    encode,
)
from builder.work.stored_gradients import StoredGradients


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """A finding by its node's id, as it travels between processes.

    `line` is where its node was called from, `kinds` are those of its change that nodes of the same
    cause share, `places` are those where the same cause showed, `basis` is what it rests on. Its
    node is the benchmark's where it is `of_benchmark`, its line stands in its run alone where it is
    a `line_alone`. One that `stands_alone` no cause before it
    can explain. `propagated_to` are nodes that it explains in its pair; once all pairs are in, the
    divergent ones that go back to it over all places, with those that do so `perhaps` and all that
    are `divergent` there.
    """

    step: int
    rank: int
    graph: int
    node: int
    name: str
    kind: str
    is_api: bool
    sort_key: tuple[int, int]
    score: float | None
    input_score: float | None
    introduced: float | None
    reasons: list[Reason]
    propagated_to: int
    perhaps: int | None = None
    divergent: int | None = None
    inherits: frozenset[Hashable] = frozenset()
    leaves: frozenset[Hashable] = frozenset()
    line: str | None = None
    kinds: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    heals_by_itself: bool = False
    basis: Basis = "measured"
    of_benchmark: bool = False
    line_alone: bool = False
    stands_alone: bool = False

    @property
    def heals(self) -> bool:
        """Whether all that its step puts out agrees: another way to the same result."""
        return do_heal(self.reasons)


@dataclass(frozen=True, slots=True)
class StoredSighting:
    """A node by its id that shows changes of some kinds, as it travels between processes."""

    graph: int
    node: int
    name: str
    sort_key: tuple[int, int]
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    """A node of the problem side that reads weights: its id, name, place in a step and score."""

    node: int
    name: str
    sort_key: tuple[int, int]
    score: float


@dataclass(frozen=True, slots=True)
class RuleState:
    """Whether a layer mapping's rule fitted a module, and whether it led to one."""

    used: bool
    reached: bool


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What the whole build needs to know of one pair; `error` is set when it failed.

    `rules`, `manual` and `weights_by_hand` say by position which mapping rules, manual pairs and
    weights paired by hand found what they name,
    `named` on which side the values of a data mapping are;
    `errors` counts the nodes that are rated error for what is no number, `first_error` names the
    first of them;
    `unlike` says what dumps that hold unlike things were compared on, `frameworks` which two they
    are of if there are two, `unlike_programs` what two programs of one model are paired by,
    `tokens` which tokens both computed, where those of all steps were joined, `kind` which kind of
    pair it is, `by_name` that joined ranks may be of two programs;
    `unfit` are the rules of a user for calls that fit none; `broken` the
    files of values that cannot be read; `ties` are the names of
    the calls in which rounding decided what was picked, `untold` of those in which nothing tells
    whether it did; `amplified` are those whose margin is inside the difference, `unjudged` modules
    with such ones behind which nothing was judged; `sightings` are nodes that show what a
    finding of another pair may be about; it `heals` where all that it puts out agrees and nothing
    of its findings is left behind; `ends` are the losses, outermost outputs and gradients of
    parameters that differ by more than rounding, whatever findings there are; `late`,
    `tolerated` and `handed` are for the next step to look at; `evidence` is what a claim on the
    pair may rest on; `graphs`, `messages` and `weights` (by `readers`) stand in the order problem,
    benchmark; `gradients` are those of parameters, in the order of the problem's nodes. Of
    merged ranks: the layouts of both sides, how many values were compared, of these by bounds and
    by an assumed layout, how many set aside by reason, and where each rank of the problem stands.
    """

    step: int
    rank: int
    error: str | None = None
    mode: str | None = None
    matched: int = 0
    unmatched_problem: int = 0
    unmatched_benchmark: int = 0
    compared: int = 0
    precision: tuple[str, str] | None = None
    errors: int = 0
    first_error: str | None = None
    unlike: Reason | None = None
    frameworks: Reason | None = None
    unlike_programs: TwoImplementations | None = None
    tokens: Reason | None = None
    kind: Reason | None = None
    by_name: Reason | None = None
    unfit: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    amplified: tuple[Amplifies, ...] = ()
    unjudged: tuple[str, ...] = ()
    gradients_agree: bool | None = None
    updates_apart: float | None = None
    rules: tuple[RuleState, ...] = ()
    manual: tuple[bool, ...] = ()
    weights_by_hand: tuple[bool, ...] = ()
    named: tuple[tuple[bool, bool], ...] = ()
    findings: tuple[StoredFinding, ...] = ()
    sightings: tuple[StoredSighting, ...] = ()
    heals: bool = False
    ends: EndsApart = NONE_APART
    late: StoredFinding | None = None
    tolerated: frozenset[Hashable] = frozenset()
    handed: frozenset[Hashable] = frozenset()
    graphs: tuple[int, ...] = ()
    messages: tuple[tuple[Message, ...], ...] = ()
    readers: tuple[Reader, ...] = ()
    weights: tuple[WeightPrints, ...] = ()
    gradients: tuple[StoredGradients, ...] = ()
    layouts: tuple[str, str] | None = None
    values: Mapping[str, int] = field(default_factory=dict)
    set_aside: Mapping[str, int] = field(default_factory=dict)
    coordinates: Mapping[int, str] = field(default_factory=dict)
    evidence: Evidence = NO_EVIDENCE


def evidence_of(outcomes: Iterable[PairOutcome]) -> Evidence:
    """What all pairs rest on together, but for the pairs that are not there."""
    done = [outcome for outcome in outcomes if outcome.error is None]
    aside = Counted("set_aside", sum(sum(o.set_aside.values()) for o in done))
    untold = [Counted("untold", len(o.untold), o.untold[0]) for o in done if o.untold]
    unjudged = [Counted("amplified", len(o.unjudged), o.unjudged[0]) for o in done if o.unjudged]
    return (
        together(o.evidence for o in done)
        .with_gaps(aside)
        .with_differences(*untold)
        .with_differences(*unjudged)
    )


def whole_evidence(outcomes: Sequence[PairOutcome], missing: Iterable[tuple[int, int]]) -> Evidence:
    """The same with what was not compared at all; `missing` are steps and ranks of one run."""
    failed = [(o.step, o.rank) for o in outcomes if o.error is not None]
    alone = sum(o.unmatched_problem + o.unmatched_benchmark for o in outcomes)
    return evidence_of(outcomes).with_gaps(
        *place_gaps(failed, missing), Counted("unmatched", alone)
    )


def claim_on(findings: Sequence[StoredFinding], evidence: Evidence) -> Claim:
    """What may be said of two runs; findings that heal stand behind all others."""
    return claim(evidence, len(findings), heals=bool(findings) and findings[0].heals)


def place_gaps(
    failed: Iterable[tuple[int, int]], missing: Iterable[tuple[int, int]]
) -> list[Counted]:
    """The steps and ranks that failed, and those that one run alone has."""
    places = [("failed", place) for place in failed] + [("only_in", place) for place in missing]
    return [Counted(code, 1, f"step {step} rank {rank}") for code, (step, rank) in places]


def decided_ties(outcomes: Sequence[PairOutcome]) -> list[Reason]:
    """One note on all calls in which rounding decided what was picked, one where it may have."""
    said: list[Reason] = []
    for kind, named in ((Ties, "ties"), (UntoldChoices, "untold")):
        found = [(name, o) for o in outcomes for name in getattr(o, named)]
        if found:
            name, first = found[0]
            said.append(kind(name, count=len(found), step=first.step, rank=first.rank))
    places = [(r, o) for o in outcomes for r in o.amplified]
    if places:
        reason, first = places[0]
        at = {"count": len(places), "step": first.step, "rank": first.rank}
        said.append(msgspec.structs.replace(reason, **at))
    return said


def rated_errors(outcomes: Iterable[PairOutcome]) -> list[Reason]:
    """One note on nodes that are rated error where no finding says that a number differs.

    Of runs that compute in unlike formats, and of those in which a tie picked other elements (and
    so other shapes), another note says so.
    """
    rated = [o for o in outcomes if o.findings or (o.errors and not _is_explained(o))]
    if not rated or any(outcome.findings for outcome in rated):
        return []
    count = sum(outcome.errors for outcome in rated)
    first = rated[0]
    return [RatedError(first.first_error, count=count, step=first.step, rank=first.rank)]


def _is_explained(outcome: PairOutcome) -> bool:
    ours, theirs = outcome.precision or ("", "")
    return ours != theirs or bool(outcome.ties or outcome.untold or outcome.amplified)


def kind_facts(outcomes: Iterable[PairOutcome]) -> dict[str, object]:
    """What the file says of the kind of pair, as `kind` of its `meta`: that of the first compared.

    Where one step or rank of two versions has calls of its own, two versions is the kind of all;
    nothing where none was compared.
    """
    kinds = [outcome.kind for outcome in outcomes if outcome.kind is not None]
    if not kinds:
        return {}
    versions = [kind for kind in kinds if isinstance(kind, TwoVersions)]
    told = kinds[0]
    if versions and isinstance(told, OneProgram | TwoVersions):
        least = min(versions, key=lambda kind: kind.shared)
        told = msgspec.structs.replace(least, alone=sum(kind.alone for kind in versions))
    return {"kind": encode([told]) or "[]"}


def ends_facts(outcomes: Iterable[PairOutcome]) -> dict[str, object]:
    """What the file says of end results that differ beyond rounding, as `ends` of its `meta`.

    `count` of all pairs, and the worst of each pair with its step and rank, the worst first;
    nothing where none differs.
    """
    apart = [outcome for outcome in outcomes if outcome.ends.count]
    if not apart:
        return {}
    worst = [
        {"step": outcome.step, "rank": outcome.rank, **asdict(end)}
        for outcome in apart
        for end in outcome.ends.worst
    ]
    worst.sort(key=lambda end: -end["score"])
    return {"ends": {"count": sum(o.ends.count for o in apart), "worst": worst[:MOST]}}


def notes_on(outcomes: Sequence[PairOutcome]) -> list[Reason]:
    """What is to be said of a whole comparison: unlike dumps, rules without use, broken files."""
    done = [outcome for outcome in outcomes if outcome.error is None]
    said = _unlike_dumps(done)
    unfit = [name for name in (done[0].unfit if done else ()) if all(name in o.unfit for o in done)]
    if unfit:
        said.append(RulesUnfit(", ".join(unfit), len(unfit)))
    broken = [file for outcome in done for file in outcome.broken]
    if broken:
        said.append(FilesBroken(broken[0], len(broken)))
    return said


def _unlike_dumps(outcomes: Iterable[PairOutcome]) -> list[Reason]:
    """What pairs of unlike dumps were compared on, each once.

    Of two programs it is the step that shows most weights, for behind a fault weights drift apart.
    """
    said: list[Reason] = []
    known: dict[int, TwoImplementations] = {}
    done = list(outcomes)
    for one in (o.unlike_programs for o in done if o.unlike_programs is not None):
        if one.weights not in known or known[one.weights].found < one.found:
            known[one.weights] = one
    for outcome in done:
        programs = outcome.unlike_programs
        for reason in (
            outcome.frameworks,
            None if programs is None else known[programs.weights],
            outcome.tokens,
            outcome.by_name,
            outcome.unlike,
        ):
            if reason is not None and reason not in said:
                said.append(reason)
    return said
