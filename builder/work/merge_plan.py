"""Whether the ranks of a step are compared as one logical run, and which ranks of which steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builder.dump.reader import Parallel, read_parallel
from builder.dump.sources import Source, SourceSet
from builder.errors import InputError
from builder.ranks.layout.coordinates import (
    MissingRanksError,
    Sizes,
    check_ranks,
    replica_layout,
)
from builder.ranks.merge_options import MergeOptions
from builder.reasons import NotMerged, Reason
from builder.work.accumulation import divides_batch
from builder.work.options import BuildOptions
from builder.work.plan import (
    Missing,
    PairPlan,
    Plan,
    plan_pairs,
    plan_tokens,
    with_steps_beside,
)


def should_merge(problem: SourceSet, benchmark: SourceSet, options: MergeOptions) -> bool:
    """Whether ranks are joined: when a flag asks for it or the sides differ in layout.

    A rank alone is joined with itself where it works on the batch in other pieces.

    Raises InputError when merging is required and nothing tells the layout.
    """
    if options.merge == "off":
        return False
    if options.replicas == "separate":
        return True
    if options.merge == "require" or options.problem.is_given or options.benchmark.is_given:
        return True
    sides = [_first_step(dump) for dump in (problem, benchmark)]
    if all(len(ranks) == 1 for ranks in sides):
        alone = "rank" in (problem.granularity, benchmark.granularity)
        return not alone and divides_batch(sides[0][0].path, sides[1][0].path)
    headers = [read_parallel(ranks[0].path) for ranks in sides]
    told = [h is not None and bool(h.axes) for h in headers]
    if len(sides[0]) == len(sides[1]):
        return all(told) and _sizes_of(headers[0]) != _sizes_of(headers[1])
    return all(known or len(ranks) == 1 for known, ranks in zip(told, sides, strict=True))


def plan_comparison(problem: SourceSet, benchmark: SourceSet, options: BuildOptions) -> Plan:
    """Which ranks of two dumps are compared with which: of each step all as one run, or in pairs.

    Raises InputError for what cannot be paired or merged; where merging was not asked for and
    ranks are missing, those that are there are compared in pairs, with a note.
    """
    merging = options.merging
    if options.same == "tokens":
        return plan_tokens(problem, benchmark)
    if not should_merge(problem, benchmark, merging):
        plan = plan_pairs(problem, benchmark, options.rank_map, options.step_map)
        if not options.step_map and options.same is None:
            plan = with_steps_beside(plan, problem, benchmark)
        return replace(plan, notes=(*plan.notes, *_why_in_pairs(problem, benchmark, merging)))
    if options.same == "model":
        raise weights_in_shares(problem.path, benchmark.path)
    if options.rank_map:
        raise InputError("--rank-map pairs ranks, which merging joins", "leave one of them out")
    try:
        plan = plan_merged(problem, benchmark, options.step_map, merging)
        return _by_replica(plan, problem, benchmark, merging)
    except MissingRanksError as error:
        if merging.merge == "require":
            raise
        plan = plan_pairs(problem, benchmark, options.rank_map, options.step_map)
        return replace(plan, notes=(*plan.notes, NotMerged(error.message)))


def weights_in_shares(problem: Path, benchmark: Path) -> InputError:
    """Why two programs are not compared by their weights where ranks are joined."""
    return InputError(
        f"{problem} and {benchmark}: the weights of ranks that are joined lie in shares, which are "
        "not held against those of another program",
        "record both with one process, or say with -lm which layers correspond",
    )


def _why_in_pairs(
    problem: SourceSet, benchmark: SourceSet, options: MergeOptions
) -> tuple[Reason, ...]:
    """A note where runs of unlike numbers of ranks are not merged, although nobody said so."""
    if options.merge == "off" or "rank" in (problem.granularity, benchmark.granularity):
        return ()
    ours, theirs = (len(_first_step(found)) for found in (problem, benchmark))
    if ours == theirs:
        return ()
    why = f"{ours} ranks against {theirs}, and not all dumps say where their ranks stand"
    return (NotMerged(f"{why} (--rank_size, --tp and --pp do)"),)


def plan_merged(
    problem: SourceSet, benchmark: SourceSet, step_map: dict[int, int], options: MergeOptions
) -> Plan:
    """One unit a step: all ranks of it on either side.

    Raises InputError for steps that do not pair, and for sizes that do not fit the ranks.
    """
    if problem.granularity != benchmark.granularity or problem.granularity == "rank":
        raise InputError(
            f"{problem.path} and {benchmark.path}: merging joins all ranks of a step",
            "give two dumps or two of their step<N> folders",
        )
    ours, theirs = _by_step(problem), _by_step(benchmark)
    for dump, sizes in ((problem, options.problem), (benchmark, options.benchmark)):
        for ranks in _by_step(dump).values():
            header = read_parallel(ranks[0].path)
            check_ranks([source.rank for source in ranks], header, sizes, dump.path)
    if problem.granularity == "step":
        ((step, ranks),), ((_, others),) = ours.items(), theirs.items()
        return Plan((_unit(step, ranks, others),), ())
    pairs = [
        _unit(step, ranks, theirs[step_map.get(step, step)])
        for step, ranks in ours.items()
        if step_map.get(step, step) in theirs
    ]
    if not pairs:
        raise InputError(
            f"{problem.path} and {benchmark.path} have no step in common ({sorted(ours)} against "
            f"{sorted(theirs)})",
            "pair them with --step-map",
        )
    used = {step_map.get(step, step) for step in ours}
    missing = [
        Missing(s, r[0].rank, "benchmark", r[0].path) for s, r in theirs.items() if s not in used
    ]
    missing += [
        Missing(s, r[0].rank, "problem", r[0].path)
        for s, r in ours.items()
        if step_map.get(s, s) not in theirs
    ]
    return Plan(tuple(pairs), tuple(missing))


def _by_replica(
    plan: Plan, problem: SourceSet, benchmark: SourceSet, options: MergeOptions
) -> Plan:
    """The plan with a unit for each data-parallel replica, where they are to be kept apart.

    Raises InputError where the runs have unlike numbers of them.
    """
    if options.replicas == "merge":
        return plan
    pairs = []
    for pair in plan.pairs:
        ours = _replicas(pair.problem_ranks, options.problem, problem.path)
        theirs = _replicas(pair.benchmark_ranks, options.benchmark, benchmark.path)
        if len(ours) != len(theirs):
            raise InputError(
                f"--replicas separate: {problem.path} has {len(ours)} data-parallel replicas and "
                f"{benchmark.path} {len(theirs)}",
                "leave it out, then they are joined",
            )
        pairs += [
            replace(_unit(pair.step, *ranks), rank=number)
            for number, ranks in enumerate(zip(ours, theirs, strict=True))
        ]
    return replace(plan, pairs=tuple(pairs))


def _replicas(ranks: Sequence[Source], sizes: Sizes, folder: Path) -> list[list[Source]]:
    """The ranks of each data-parallel replica, in the order of the axis."""
    layout = replica_layout({s.rank: read_parallel(s.path) for s in ranks}, sizes, folder)
    by_place: dict[int, list[Source]] = {}
    for source in ranks:
        by_place.setdefault(layout.places[source.rank].at.get("dp", 0), []).append(source)
    return [by_place[place] for place in sorted(by_place)]


def _unit(step: int, ours: Sequence[Source], theirs: Sequence[Source]) -> PairPlan:
    return PairPlan(step, 0, ours[0].path, theirs[0].path, tuple(ours), tuple(theirs))


def _by_step(dump: SourceSet) -> dict[int, list[Source]]:
    steps: dict[int, list[Source]] = {}
    for source in dump.sources:
        if source.rank >= 0:  # helpers of a run have negative numbers
            steps.setdefault(source.step, []).append(source)
    return steps


def _first_step(dump: SourceSet) -> list[Source]:
    steps = _by_step(dump)
    return steps[min(steps)]


def _sizes_of(header: Parallel | None) -> dict[str, int]:
    return {} if header is None else {name: axis.size for name, axis in header.axes.items()}
