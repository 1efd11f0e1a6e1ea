"""What the parts of the diagnosis are judged on: pairs that were recorded and compared once.

Each suite of the project gives its own; only diagnosing is repeated.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

from builder import BuildOptions
from builder.compare.score import THRESHOLD
from builder.dump.sources import find_sources
from builder.match.tree import Tree, TreeNode
from builder.reasons import ExtraCalls, Heals, MissingCalls
from builder.run.order import link_ranks, order_findings
from builder.work.mapping_rules import match_rules
from builder.work.merge_plan import plan_comparison
from builder.work.outcome import StoredFinding
from builder.work.pair import (
    ComparedPair,
    Instructions,
    PairResult,
    compare_pair,
    diagnosed,
    with_flows,
)
from builder.work.summary import outcome_of
from evaluation.ablation.parts import Part
from evaluation.parallel import suite as parallel
from evaluation.parallel.size import Precision
from evaluation.parallel.strip import Dumps, strip
from evaluation.upstream.cases import BUGS, SOUND
from evaluation.upstream.releases import folders_of
from evaluation.upstream.releases import recorded as recorded_releases
from evaluation.zoo.culprit import right_answers
from evaluation.zoo.kernels import suite as kernels
from evaluation.zoo.suite import Case, cases, recorded
from tests.right_answers import Named, Right, among, fits, of_release

Kind = Literal["bug", "two", "sound"]
_NODES = 1 << 32
_TASK = ("statistics",)


@dataclass(frozen=True, slots=True)
class Said:
    """A finding, and where else its cause showed; one that heals is no alarm."""

    first: Named
    places: tuple[Named, ...]
    heals: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared, and of each fault in it whether a node is a right answer."""

    title: str
    pairs: list[ComparedPair]
    faults: tuple[Right, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """How a part of a suite fared: of two faults at once, `first` says that one of them is."""

    faults: int = 0
    first: int = 0
    alone: int = 0
    controls: int = 0
    alarms: int = 0

    def __add__(self, other: Tally) -> Tally:
        pairs = zip(self.numbers, other.numbers, strict=True)
        return Tally(*(one + two for one, two in pairs))

    @property
    def numbers(self) -> tuple[int, ...]:
        """All of them in order."""
        return (self.faults, self.first, self.alone, self.controls, self.alarms)


@dataclass(frozen=True, slots=True)
class _Side:
    tree: Tree
    graph: int

    def id_of(self, node: TreeNode) -> int:
        return self.graph * _NODES + node.exec_order


# --- what is said of it -----------------------------------------------------------------------


def outcome_without(parts: Sequence[Part], work: Sequence[Compared]) -> list[Tally]:
    """How each pair fares with some parts switched off."""
    with ExitStack() as switched:
        for owner, name, stand_in in parts:
            left = _left(getattr(owner, name), stand_in)
            switched.enter_context(patch.object(owner, name, left))
        return [judged(one, said(one.pairs)) for one in work]


def _left(own: object, stand_in: object) -> object:
    """What stands in for a part; of rules and registries what an earlier part has left of it."""
    if isinstance(stand_in, tuple) and isinstance(own, tuple):
        return tuple(one for one in own if one in stand_in)
    if isinstance(stand_in, dict) and isinstance(own, dict):
        return {name: entry for name, entry in own.items() if name in stand_in}
    return stand_in


def decide(parts: Sequence[Part], work: Sequence[Compared]) -> list[set[Part]]:
    """Of each pair which parts ever say something else there than what stands in for them.

    The others need not be switched off to know that the same is said of the pair.
    """
    told = []
    for one in work:
        deciding: set[Part] = set()
        with ExitStack() as watched:
            for part in parts:
                watched.enter_context(patch.object(*part[:2], _watched(part, deciding)))
            said(one.pairs)
        told.append(deciding)
    return told


def _watched(part: Part, deciding: set[Part]) -> Callable[..., Any]:
    owner, name, stand_in = part
    own = getattr(owner, name)
    assert callable(own) and callable(stand_in)
    acts = own.__annotations__.get("return") == "None"  # what it does is not what it says

    def watched(*given: Any, **named: Any) -> Any:
        answer = own(*given, **named)
        if acts or answer != stand_in(*given, **named):
            deciding.add(part)
        return answer

    return watched


def tally_without(parts: Sequence[Part], work: Sequence[Compared]) -> Tally:
    """The tally of what was compared with some parts switched off."""
    return sum(outcome_without(parts, work), Tally())


def judged(one: Compared, findings: Sequence[Said]) -> Tally:
    """The tally of one pair."""
    if not one.faults:
        return Tally(controls=1, alarms=any(not finding.heals for finding in findings))
    named = [node for finding in findings for node in (finding.first, *finding.places)]
    rights = [any(right(finding.first) for right in one.faults) for finding in findings]
    every = all(any(map(right, named)) for right in one.faults)
    alone = every and all(rights) and len(rights) <= len(one.faults)
    return Tally(faults=1, first=rights[:1] == [True], alone=alone)


def said(pairs: Sequence[ComparedPair]) -> list[Said]:
    """What the diagnosis names in compared pairs."""
    instructions = Instructions(BuildOptions(), match_rules(BuildOptions(), True))
    outcomes, trees = [], {}
    for number, pair in enumerate(pairs):
        assert pair.benchmark is not None
        sides = _Side(pair.problem, 2 * number), _Side(pair.benchmark, 2 * number + 1)
        trees.update({side.graph: side.tree for side in sides})
        result = PairResult(pair, {}, diagnosed(pair, THRESHOLD))
        outcomes.append(outcome_of(result, *sides, instructions))
    links, discords = link_ranks(outcomes)
    ordered = order_findings(outcomes, discords, links)
    return [_said(trees, finding) for finding in ordered]


def _said(trees: dict[int, Tree], finding: StoredFinding) -> Said:
    first = _named(trees, finding.step, finding.node)
    return Said(
        replace(first, is_alone=isinstance(finding.reasons[0], ExtraCalls | MissingCalls)),
        tuple(_named(trees, place.step, place.node) for place in finding.places),
        heals=any(isinstance(reason, Heals) for reason in finding.reasons),
    )


def _named(trees: dict[int, Tree], step: int, number: int) -> Named:
    graph, order = divmod(number, _NODES)
    tree = trees[graph]
    node = tree.in_order[order]
    stack = tree.dump.frames[node.stack] if node.stack is not None else None
    above = node.parent
    inside = above.name if above is not None and above.kind == "module" else ""
    return Named(step, node.name, inside, stack)


def _compared(problem: Path, benchmark: Path, options: BuildOptions) -> list[ComparedPair]:
    plan = plan_comparison(find_sources(problem), find_sources(benchmark), options)
    instructions = Instructions(options, match_rules(options, True))
    return [with_flows(compare_pair(pair, instructions)) for pair in plan.pairs]


# --- the suites -------------------------------------------------------------------------------


def seeded_bugs(root: Path, seed: int, every: int, dumps: Dumps = "ours") -> Iterator[Compared]:
    """Each so-manieth case of the suite of seeded bugs; `dumps` is what is left of them."""
    for case in cases(_TASK, seed)[::every]:
        yield compared_case(case, root, dumps)


def compared_case(case: Case, root: Path, dumps: Dumps = "ours") -> Compared:
    """A case of the suite of seeded bugs, recorded below a folder if need be."""
    problem, benchmark = recorded(case, root)
    culprits = case.fault.culprits if case.fault is not None else None
    faults = () if culprits is None else (among(right_answers(culprits, problem, benchmark)),)
    title = f"{case.architecture} {case.benchmark.dtype} {case.name}"
    return Compared(title, _stripped(problem, benchmark, dumps), faults)


def wrong_kernels(
    root: Path, seed: int, every: int, models: Sequence[str], kind: Kind
) -> Iterator[Compared]:
    """Each so-manieth of the wrong kernels of one kind that show in places of their own."""
    faults = {"sound": 0, "bug": 1, "two": 2}[kind]
    listed = [c for c in kernels.cases(_TASK, seed, models) if len(c.faults) == faults]
    for case in listed[::every]:
        problem, benchmark, places = kernels.recorded(case, root)
        if all(places) and len(set(places)) == len(places):
            pairs = _compared(problem, benchmark, BuildOptions(workers=1))
            yield Compared(case.title, pairs, tuple(map(among, places)))


def releases(root: Path, kept: Path, every: int, kind: Kind) -> Iterator[Compared]:
    """Each so-manieth pair of releases; `root` is where they are installed."""
    for case in (SOUND if kind == "sound" else BUGS)[::every]:
        problem, benchmark = recorded_releases(case, root, kept)
        pairs = _compared(problem, benchmark, BuildOptions(workers=1))
        yield Compared(
            case.title, pairs, (of_release(case, folders_of(case, root)),) if case.mended else ()
        )


def parallel_layouts(
    kept: Path, seed: int, every: int, precision: Precision, kind: Kind
) -> Iterator[Compared]:
    """Each so-manieth case of the suite of parallel layouts."""
    listed = parallel.cases(_TASK, seed, precision=precision)
    for case in [c for c in listed if (c.fault is None) == (kind == "sound")][::every]:
        benchmark, problem = (
            parallel.record_benchmark(case, kept),
            parallel.record_problem(case, kept),
        )
        options = BuildOptions(workers=1, merging=parallel.merging_of(case))
        faults = () if case.fault is None else (fits(case.fault.culprits),)
        yield Compared(case.name, _compared(problem, benchmark, options), faults)


def _stripped(problem: Path, benchmark: Path, dumps: Dumps) -> list[ComparedPair]:
    options = BuildOptions(workers=1)
    if dumps == "ours":
        return _compared(problem, benchmark, options)
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder) / "problem", Path(folder) / "benchmark"
        for dump, copy in zip((problem, benchmark), copies, strict=True):
            strip(shutil.copytree(dump, copy), dumps)
        return _compared(*copies, options)
