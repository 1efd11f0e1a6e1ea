"""Decides which (step, rank) pairs a build works on; a pure function of what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from builder.dump.sources import TAKEN, Source, SourceSet
from builder.errors import InputError
from builder.reasons import NumberTaken, PlacedByNames, Reason
from msprobe_core.format import DUMP_FILE
from msprobe_core.format.regular_file import IrregularFileError, require_regular

Side = Literal["problem", "benchmark"]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that is read, as it was when that was planned; `version` is another one's then."""

    path: Path
    size: int
    version: str


@dataclass(frozen=True, slots=True)
class PairPlan:
    """One unit of work: the folders of one step and rank; a single graph has no benchmark.

    Where ranks are merged, it is those of a step: all of them, the first one's folder in front.
    `json_bytes` is what its JSON files hold, where that is known without them, `inputs` are these
    files. `side` is set for one rank of a step whose ranks are merged, which is read beforehand;
    `columns` are the files that such ranks left behind, by their folders. `number` is the turn of
    a pair in a plan, from 1 on; 0 outside of one. `problem_beside` and `benchmark_beside` are other
    dumps of a side, in order, whose forward passes may belong to the same tokens.
    """

    step: int
    rank: int
    problem: Path
    benchmark: Path | None
    problem_ranks: tuple[Source, ...] = ()
    benchmark_ranks: tuple[Source, ...] = ()
    json_bytes: int | None = None
    inputs: tuple[InputFile, ...] = ()
    side: Side | None = None
    columns: tuple[tuple[Path, Path], ...] = ()
    number: int = 0
    problem_beside: tuple[Path, ...] = ()
    benchmark_beside: tuple[Path, ...] = ()

    @property
    def id_base(self) -> int:
        """What the ids of its rows begin above in a file of its own; no pair has 2 ** 32 of them.

        A browser counts up to 2 ** 53, which is enough for two million pairs.
        """
        return self.number << 32

    @property
    def is_merged(self) -> bool:
        """Whether the ranks of the step are compared as one logical run."""
        return bool(self.problem_ranks)

    @property
    def folders(self) -> list[Path]:
        """All folders that the work reads."""
        if self.is_merged:
            return [source.path for source in (*self.problem_ranks, *self.benchmark_ranks)]
        if self.benchmark is None:
            return [self.problem]
        return [self.problem, self.benchmark, *self.beside]

    @property
    def beside(self) -> tuple[Path, ...]:
        """The dumps beside those of the pair."""
        return self.problem_beside + self.benchmark_beside


@dataclass(frozen=True, slots=True)
class Missing:
    """A step and rank that one side alone has."""

    step: int
    rank: int
    side: Side
    path: Path


@dataclass(frozen=True, slots=True)
class Broken:
    """A pair that is not worked on, because a side lost the file that its other ranks have."""

    pair: PairPlan
    error: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be compared, and what cannot be; `notes` are what a user should know of it."""

    pairs: tuple[PairPlan, ...]
    missing: tuple[Missing, ...]
    broken: tuple[Broken, ...] = ()
    notes: tuple[Reason, ...] = ()


def plan_single(problem: SourceSet) -> Plan:
    """Every source becomes a graph of its own."""
    pairs = [PairPlan(s.step, s.rank, s.path, None) for s in problem.sources]
    return _without_broken(pairs, (), _lost(problem), _notes({"problem": problem}))


def plan_pairs(
    problem: SourceSet,
    benchmark: SourceSet,
    rank_map: Mapping[int, int],
    step_map: Mapping[int, int],
) -> Plan:
    """Pair sources by step and rank; the maps translate the problem's numbers to the benchmark's.

    Two single ranks pair whatever their numbers, as do the steps of two step folders. Raises
    InputError when the sides differ in granularity or have no step and rank in common.
    """
    if problem.granularity != benchmark.granularity:
        raise InputError(
            f"{problem.path} is a {problem.granularity} folder and {benchmark.path} a "
            f"{benchmark.granularity} folder",
            "give both at the same level",
        )
    _check_map("--rank-map", rank_map, problem, benchmark, "rank")
    _check_map("--step-map", step_map, problem, benchmark, "step")
    waiting = {_key(source, benchmark): source for source in benchmark.sources}
    pairs, missing = [], []
    for source in problem.sources:
        wanted = replace(
            source,
            step=step_map.get(source.step, source.step),
            rank=rank_map.get(source.rank, source.rank),
        )
        partner = waiting.pop(_key(wanted, problem), None)
        if partner is None:
            missing.append(Missing(source.step, source.rank, "problem", source.path))
        else:
            pairs.append(PairPlan(source.step, source.rank, source.path, partner.path))
    missing += [Missing(s.step, s.rank, "benchmark", s.path) for s in waiting.values()]
    if not pairs:
        raise InputError(
            f"{problem.path} and {benchmark.path} have no step and rank in common "
            f"({_listed(problem)} against {_listed(benchmark)})",
            "pair them with --step-map or --rank-map",
        )
    lost = _lost(problem) | _lost(benchmark)
    notes = _notes({"problem": problem, "benchmark": benchmark})
    return _without_broken(pairs, tuple(missing), lost, notes)


def plan_tokens(problem: SourceSet, benchmark: SourceSet) -> Plan:
    """One pair of all steps and ranks: what is compared are the tokens that they have in common."""
    (first, *more), (other, *others) = problem.sources, benchmark.sources
    pair = PairPlan(
        first.step,
        first.rank,
        first.path,
        other.path,
        problem_beside=tuple(source.path for source in more),
        benchmark_beside=tuple(source.path for source in others),
    )
    return Plan((pair,), (), (), _notes({"problem": problem, "benchmark": benchmark}))


def with_steps_beside(plan: Plan, problem: SourceSet, benchmark: SourceSet) -> Plan:
    """The plan, where one run has a single step and rank, with the other's further steps beside it.

    An engine records each forward pass as a step, a trainer all tokens in one. Whether they are the
    same tokens is seen when they are read.
    """
    counts = len(problem.sources), len(benchmark.sources)
    if len(plan.pairs) != 1 or 1 not in counts or counts[0] == counts[1]:
        return plan
    pair, ranks = plan.pairs[0], {source.rank for source in (*problem.sources, *benchmark.sources)}
    if pair.is_merged or len(ranks) > 1:
        return plan
    beside = tuple(gone.path for gone in plan.missing)
    if counts[0] > 1:
        return replace(plan, pairs=(replace(pair, problem_beside=beside),))
    return replace(plan, pairs=(replace(pair, benchmark_beside=beside),))


def _lost(dump: SourceSet) -> frozenset[Path]:
    """Folders without values among others with values: a dump of structure alone has none."""
    lost = frozenset(source.path for source in dump.sources if not source.has_values)
    return lost if len(lost) < len(dump.sources) else frozenset()


def _notes(sides: Mapping[Side, SourceSet]) -> tuple[Reason, ...]:
    """One note on each side of which some dump does not say where its calls stand, and one on each
    folder whose number another one has.
    """
    renumbered: list[Reason] = [
        NumberTaken(side, name, number)
        for side, dump in sides.items()
        for name, number in _renumbered(dump).items()
    ]
    return (*renumbered, *_placed_by_names(sides))


def _renumbered(dump: SourceSet) -> dict[str, int]:
    steps = {s.path.parent.name: s.step for s in dump.sources if s.step >= TAKEN}
    return steps | {s.path.name: s.rank for s in dump.sources if s.rank >= TAKEN}


def _placed_by_names(sides: Mapping[Side, SourceSet]) -> tuple[Reason, ...]:
    return tuple(
        PlacedByNames(side)
        for side, dump in sides.items()
        if any(source.has_values and not source.has_places for source in dump.sources)
    )


def _without_broken(
    pairs: Sequence[PairPlan],
    missing: tuple[Missing, ...],
    lost: frozenset[Path],
    notes: tuple[Reason, ...],
) -> Plan:
    whole: list[PairPlan] = []
    broken: list[Broken] = []
    for pair in pairs:
        folder = next((path for path in (pair.problem, pair.benchmark) if path in lost), None)
        if folder is None:
            whole.append(pair)
            continue
        broken.append(Broken(pair, _why_lost(folder / DUMP_FILE)))
    return Plan(tuple(whole), missing, tuple(broken), notes)


def _why_lost(file: Path) -> str:
    said = "missing, and other ranks have it"
    try:
        require_regular(file)
    except IrregularFileError as error:
        said = str(error.strerror)
    except FileNotFoundError:
        pass
    return f"{file}: {said}; dump or copy it again"


def _key(source: Source, dump: SourceSet) -> tuple[int, int]:
    """What a source is paired by; numbers that the given path fixes do not count."""
    if dump.granularity == "rank":
        return (0, 0)
    return (0 if dump.granularity == "step" else source.step, source.rank)


def _check_map(
    option: str,
    mapping: Mapping[int, int],
    problem: SourceSet,
    benchmark: SourceSet,
    what: Literal["rank", "step"],
) -> None:
    ours = {getattr(source, what) for source in problem.sources}
    theirs = {getattr(source, what) for source in benchmark.sources}
    for one, other in mapping.items():
        if one not in ours:
            raise InputError(
                f"{option} {one}:{other}: {problem.path} has no {what} {one}",
                f"choose one of {sorted(ours)}",
            )
        if other not in theirs:
            raise InputError(
                f"{option} {one}:{other}: {benchmark.path} has no {what} {other}",
                f"choose one of {sorted(theirs)}",
            )
    if len(set(mapping.values())) < len(mapping):
        raise InputError(
            f"{option}: two {what}s of the problem map to one of the benchmark", "pair each once"
        )


def _listed(dump: SourceSet) -> str:
    shown = [f"step {source.step} rank {source.rank}" for source in dump.sources[:4]]
    return ", ".join(shown) + (", …" if len(dump.sources) > 4 else "")
