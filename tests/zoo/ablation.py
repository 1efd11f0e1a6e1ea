"""`make ablation`: what each part of the diagnosis does, told by the suite without it.

Everything is recorded and compared once; then the walk runs over all of it with one part switched
off at a time. A part that nothing needs is gone: its line of the table says so.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any
from unittest.mock import patch

from builder import BuildOptions
from builder.diagnosis import (
    attribution,
    call_operands,
    edges,
    excess,
    gains,
    gradient_gains,
    gradients,
    moved_values,
    naming,
    returned_gradients,
    sketched_sums,
    structure,
)
from builder.diagnosis.walk import walk
from builder.dump.sources import find_sources
from builder.match.tree import Tree, TreeNode
from builder.run.order import link_ranks, order_findings
from builder.work.mapping_rules import match_rules
from builder.work.merge_plan import plan_comparison
from builder.work.pair import ComparedPair, Instructions, PairResult, compare_pair
from builder.work.summary import outcome_of
from tests.zoo.culprit import Found, right_answers
from tests.zoo.kernels.suite import KernelCase
from tests.zoo.kernels.suite import cases as kernel_cases
from tests.zoo.kernels.suite import recorded as recorded_kernels
from tests.zoo.models import ARCHITECTURES
from tests.zoo.suite import TASKS, Case, Task, cases, recorded

Part = tuple[object, str, object]
_NODES = 1 << 32


def _nothing(*_: object, **__: object) -> None:
    return None


def _no_excess(*_: object) -> excess.Excess:
    return excess.NO_EXCESS


def _never(*_: object) -> bool:
    return False


def _always(*_: object) -> bool:
    return True


def _zero(*_: object) -> float:
    return 0.0


def _without(names: str) -> dict[str, tuple[int, gains.Gain]]:
    left_out = set(names.split())
    return {name: entry for name, entry in gains.REGISTRY.items() if name not in left_out}


def _rounding(self: excess.Expected, row: int, flowing: list[int], walked: float) -> float:
    return self.noise[row]


def _not_in_step(self: call_operands.CallOperands, rows: list[int | None], output: int) -> float:
    return 0.0


_SUMS = "add sub subtract __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ rsub"
_PRODUCTS = "mul multiply __mul__ __rmul__ __imul__ addcmul _foreach_addcmul pow __pow__"
_QUOTIENTS = "div __truediv__ true_divide divide addcdiv _foreach_addcdiv rsqrt reciprocal sqrt"
_CONTRACTIONS = "matmul __matmul__ mm bmm mv dot linear conv1d conv2d conv3d addmm baddbmm addmv"
_WALK, _CHANGES, _NAMING = attribution._Attribution, structure.Changes, naming.Naming
PARTS: dict[str, list[Part]] = {
    "nothing": [],
    "the registry of gains": [(gains, "REGISTRY", {})],
    "gains of calls that move elements": [(gains, "REGISTRY", _without(" ".join(gains.MOVING)))],
    "gains of sums": [(gains, "REGISTRY", _without(_SUMS))],
    "gains of products": [(gains, "REGISTRY", _without(_PRODUCTS))],
    "gains of quotients and roots": [(gains, "REGISTRY", _without(_QUOTIENTS))],
    "gains of contractions": [(gains, "REGISTRY", _without(_CONTRACTIONS))],
    "gains of gradients": [(gradient_gains, "REGISTRY", {})],
    "gradients that are added up": [(returned_gradients.ReturnedGradients, "_least", _nothing)],
    "sums that sketches tell": [(sketched_sums, "of_sum", _nothing)],
    "values that nobody recorded moving": [(moved_values.MovedValues, "maker", _nothing)],
    "gradients of parameters as their call put them out": [
        (gradients.Gradients, "_handed_on", _zero)
    ],
    "errors in step with the terms of a sum": [
        (call_operands.CallOperands, "in_step", _not_in_step)
    ],
    "rounding of what cancels in gradients": [(excess.Expected, "_cancelled", _rounding)],
    "rounding of weight gradients as a random walk": [(excess.Expected, "_random_walk", _zero)],
    "gates": [(gradients.Gradients, "gated", _zero)],
    "choices": [(call_operands.CallOperands, "has_chosen", _never)],
    "edges": [(edges.Edges, "of_input", _no_excess)],
    "outputs of modules": [(edges.Edges, "of_module_output", _no_excess)],
    "outputs of calls": [(_WALK, "_excess", _no_excess)],
    "parameters": [(_WALK, "_open_parameters", _nothing)],
    "shares around a value that nobody made": [(edges.Edges, "around", _zero)],
    "the same in another form": [(edges.Edges, "is_of_another_form", _never)],
    "an edge is said once": [(_NAMING, "said_already", _nothing)],
    "the run's own input by scores": [(_WALK, "_is_other_data", _always)],
    "a lower limit for changed calls": [(attribution, "_CHANGED", attribution.PLAIN)],
    "findings behind findings": [(attribution, "BEHIND", inf), (naming, "BEHIND", inf)],
    "changed calls around a value": [(_CHANGES, "around", _nothing)],
    "changed calls inside a module": [(_CHANGES, "inside", _nothing)],
    "requires_grad": [(_CHANGES, "of_gradient", _nothing)],
    "a call that shows in the next step": [(_CHANGES, "open_late", _nothing)],
}


@dataclass(frozen=True, slots=True)
class Tally:
    """How a part of the suite fared."""

    faults: int = 0
    first: int = 0
    alone: int = 0
    controls: int = 0
    alarms: int = 0

    def __add__(self, other: Tally) -> Tally:
        pairs = zip(self._numbers, other._numbers, strict=True)
        return Tally(*(one + two for one, two in pairs))

    @property
    def _numbers(self) -> tuple[int, ...]:
        return (self.faults, self.first, self.alone, self.controls, self.alarms)


@dataclass(frozen=True, slots=True)
class _Side:
    tree: Tree
    graph: int

    def id_of(self, node: TreeNode) -> int:
        return self.graph * _NODES + node.exec_order


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared, and the right answers to each of its faults; none for a control."""

    pairs: list[ComparedPair]
    places: tuple[frozenset[Found], ...]


def main() -> None:
    """Print a line of the table for each part."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.ablation", description=__doc__)
    parser.add_argument("--task", choices=TASKS, default="statistics")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=3, help="only each so-manieth case")
    parser.add_argument("--kernels", action="store_true", help="wrong kernels instead")
    parser.add_argument("--architecture", action="append", help="of the kernels: only this model")
    parser.add_argument("--recordings", type=Path, help="keep recordings here and use them again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = options.recordings or Path(folder)
        if options.kernels:
            models = options.architecture or tuple(ARCHITECTURES)
            work = kernel_work(options.task, options.seed, models, options.every, root)
        else:
            listed = cases((options.task,), options.seed)[:: options.every]
            work = [compared_case(case, root) for case in listed]
    print("| without | first | all named, nothing else | false alarms |\n|---|---|---|---|")
    for name, parts in PARTS.items():
        total = tally_without(parts, work)
        print(
            f"| {name} | {total.first} of {total.faults} | {total.alone} "
            f"| {total.alarms} of {total.controls} |",
            flush=True,
        )


def compared_case(case: Case, root: Path) -> Compared:
    """A case of the suite of seeded bugs, recorded below a folder if need be."""
    problem, benchmark = recorded(case, root)
    culprits = case.fault.culprits if case.fault is not None else None
    places = () if culprits is None else (right_answers(culprits, problem, benchmark),)
    return Compared(_compared(problem, benchmark), tuple(map(frozenset, places)))


def kernel_work(
    task: Task, seed: int, models: Sequence[str], every: int, root: Path
) -> list[Compared]:
    """Each so-manieth of the wrong kernels, recorded below a folder if need be."""
    return [_of_kernel(case, root) for case in kernel_cases((task,), seed, models)[::every]]


def _of_kernel(case: KernelCase, root: Path) -> Compared:
    problem, benchmark, places = recorded_kernels(case, root)
    return Compared(_compared(problem, benchmark), places)


def tally_without(parts: Sequence[Part], compared: Sequence[Compared]) -> Tally:
    """The tally of what was compared with some parts switched off."""
    with ExitStack() as switched:
        for owner, name, stand_in in parts:
            switched.enter_context(patch.object(owner, name, stand_in))
        tallies = (_judged(found(one.pairs), one.places) for one in compared)
        return sum(tallies, Tally())


def _judged(said: Sequence[Found], places: Sequence[frozenset[Found]]) -> Tally:
    if not places:
        return Tally(controls=1, alarms=bool(said))
    first = bool(said) and any(said[0] in place for place in places)
    named = all(place & set(said) for place in places)
    return Tally(faults=1, first=first, alone=named and len(said) == len(places))


def found(pairs: Sequence[ComparedPair], by: Callable[..., Any] = walk) -> list[Found]:
    """What the walk names in compared pairs."""
    outcomes = []
    instructions = Instructions(BuildOptions(), match_rules(BuildOptions(), True))
    for number, pair in enumerate(pairs):
        assert pair.comparison is not None and pair.benchmark is not None
        result = PairResult(pair, {}, by(pair.comparison))
        sides = _Side(pair.problem, 2 * number), _Side(pair.benchmark, 2 * number + 1)
        outcomes.append(outcome_of(result, *sides, instructions))
    links, discords = link_ranks(outcomes)
    return [(f.step, f.name) for f in order_findings(outcomes, discords, links)]


def _compared(problem: Path, benchmark: Path) -> list[ComparedPair]:
    options = BuildOptions(workers=1)
    plan = plan_comparison(find_sources(problem), find_sources(benchmark), options)
    instructions = Instructions(options, match_rules(options, True))
    return [compare_pair(pair, instructions) for pair in plan.pairs]


if __name__ == "__main__":
    main()
