"""Decides which (step, rank) pairs a build works on; a pure function of what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builder.dump.sources import Source, SourceSet
from builder.errors import InputError

Side = Literal["problem", "benchmark"]


@dataclass(frozen=True, slots=True)
class PairPlan:
    """One unit of work: the folders of one step and rank; a single graph has no benchmark."""

    step: int
    rank: int
    problem: Path
    benchmark: Path | None


@dataclass(frozen=True, slots=True)
class Missing:
    """A step and rank that one side alone has."""

    step: int
    rank: int
    side: Side
    path: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be compared, and what cannot be."""

    pairs: tuple[PairPlan, ...]
    missing: tuple[Missing, ...]


def plan_single(problem: SourceSet) -> Plan:
    """Every source becomes a graph of its own."""
    return Plan(tuple(PairPlan(s.step, s.rank, s.path, None) for s in problem.sources), ())


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
            f"{benchmark.granularity} folder; give both at the same level"
        )
    _check_map("--rank-map", rank_map, problem, benchmark, "rank")
    _check_map("--step-map", step_map, problem, benchmark, "step")
    waiting = {_key(source, benchmark): source for source in benchmark.sources}
    pairs, missing = [], []
    for source in problem.sources:
        step, rank = _key(source, problem)
        partner = waiting.pop((step_map.get(step, step), rank_map.get(rank, rank)), None)
        if partner is None:
            missing.append(Missing(source.step, source.rank, "problem", source.path))
        else:
            pairs.append(PairPlan(source.step, source.rank, source.path, partner.path))
    missing += [Missing(s.step, s.rank, "benchmark", s.path) for s in waiting.values()]
    if not pairs:
        raise InputError(
            f"{problem.path} and {benchmark.path} have no step and rank in common "
            f"({_listed(problem)} against {_listed(benchmark)}); pair them with --step-map "
            "or --rank-map"
        )
    return Plan(tuple(pairs), tuple(missing))


def _key(source: Source, found: SourceSet) -> tuple[int, int]:
    if found.granularity == "rank":
        return (0, 0)
    return (0 if found.granularity == "step" else source.step, source.rank)


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
            raise InputError(f"{option} {one}:{other}: {problem.path} has no {what} {one}")
        if other not in theirs:
            raise InputError(f"{option} {one}:{other}: {benchmark.path} has no {what} {other}")
    if len(set(mapping.values())) < len(mapping):
        raise InputError(f"{option}: two {what}s of the problem map to one of the benchmark")


def _listed(found: SourceSet) -> str:
    shown = [f"step {source.step} rank {source.rank}" for source in found.sources[:4]]
    return ", ".join(shown) + (", …" if len(found.sources) > 4 else "")
