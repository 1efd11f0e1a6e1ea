"""`make thresholds`: what each number of the diagnosis does, told by the suite at half and double.

As in the ablation everything is recorded and compared once. A number that decides nothing within a
factor of two needs no more reason than that; one that does says what is won and lost around it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluation.ablation.parts import Part
from evaluation.ablation.work import (
    Compared,
    Kind,
    Tally,
    seeded_bugs,
    tally_without,
    wrong_kernels,
)
from evaluation.parallel.strip import Dumps
from evaluation.zoo.models import ARCHITECTURES


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number of a module of the diagnosis, or of the evidence that it reads.

    `of_scores`: it belongs to the rules for dumps without elements.
    """

    meaning: str
    module: str
    name: str
    of_scores: bool = False

    @property
    def value(self) -> float:
        """What it is."""
        return float(getattr(sys.modules[f"builder.{self.module}"], self.name))

    def times(self, factor: float) -> list[Part]:
        """The number times a factor, wherever the diagnosis asks for it."""
        whole = isinstance(getattr(sys.modules[f"builder.{self.module}"], self.name), int)
        changed = max(1, round(self.value * factor)) if whole else self.value * factor
        return [
            (module, self.name, changed)
            for name, module in list(sys.modules.items())
            if name.startswith("builder.") and getattr(module, self.name, None) == self.value
        ]


_EXCESS, _SCORES = "diagnosis.policies.by_excess", "diagnosis.policies.by_scores"
THRESHOLDS = (
    Threshold("an excess that is a finding", "diagnosis.excess", "PLAIN"),
    Threshold("an estimate of a distance", "evidence.distances", "ESTIMATED"),
    Threshold("a call that is not known", "diagnosis.excess", "UNKNOWN"),
    Threshold("roundings of another form", "diagnosis.excess", "FORMS"),
    Threshold("an excess behind a finding", f"{_EXCESS}.excess_rules", "BEHIND"),
    Threshold("an excess of a changed call", f"{_EXCESS}.excess_policy", "_CHANGED"),
    Threshold("inputs that make the same choice", f"{_EXCESS}.excess_policy", "_SAME_CHOICE"),
    Threshold("a guess that leads to a finding", f"{_EXCESS}.excess_case", "_FURTHEST"),
    Threshold("rounding of sums", "evidence.distances", "CARRIED"),
    Threshold("resolution of sketches", "evidence.distances", "_RESOLUTION"),
    Threshold("norms of moved elements", f"{_EXCESS}.moved_values", "NEAR"),
    Threshold("sums of moved elements", f"{_EXCESS}.moved_values", "_SAME_SUM"),
    Threshold("terms of a sum", f"{_EXCESS}.sketched_sums", "_MOST_TERMS"),
    Threshold("gradients that are tried", f"{_EXCESS}.returned_gradients", "_TRIED"),
    Threshold("calls in each other's place", "diagnosis.changes", "BESIDE"),
    Threshold("a clear difference", f"{_SCORES}.score_facts", "CLEAR", of_scores=True),
    Threshold(
        "the first of equal runs",
        f"{_SCORES}.score_facts",
        "_CLEAR_FIRST",
        of_scores=True,
    ),
    Threshold(
        "nodes after a candidate",
        f"{_SCORES}.candidates",
        "_SOON",
        of_scores=True,
    ),
    Threshold("calls followed upstream", f"{_SCORES}.score_rules", "_UPSTREAM", of_scores=True),
    Threshold(
        "roundings of a scaled gradient",
        f"{_SCORES}.let_pass",
        "_ROUNDINGS",
        of_scores=True,
    ),
)


def main() -> None:
    """Print a line of the table for each number."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.zoo.thresholds", description=__doc__
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=3, help="only each so-manieth case")
    parser.add_argument("--kernels", action="store_true", help="wrong kernels instead")
    parser.add_argument("--scores", action="store_true", help="dumps without sketches, by scores")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = list(_work(options, Path(folder)))
    print("| number | | at half | as it is | at double |\n|---|---|---|---|---|")
    as_it_is = _cell(tally_without((), work))
    for threshold in THRESHOLDS:
        if threshold.of_scores == options.scores:
            half, double = (_cell(tally_without(threshold.times(by), work)) for by in (0.5, 2.0))
            shown = f"`{threshold.name.strip('_')}` {threshold.value:.3g}"
            row = (threshold.meaning, shown, half, as_it_is, double)
            print(f"| {' | '.join(row)} |", flush=True)


def _work(options: argparse.Namespace, root: Path) -> Iterator[Compared]:
    if options.kernels:
        kinds: tuple[Kind, ...] = ("bug", "two", "sound")
        chosen = options.seed, options.every, tuple(ARCHITECTURES)
        return (one for kind in kinds for one in wrong_kernels(root, *chosen, kind))
    dumps: Dumps = "no sketches" if options.scores else "ours"
    return seeded_bugs(root, options.seed, options.every, dumps)


def _cell(tally: Tally) -> str:
    """First of the faults, all named and nothing else, alarms of the controls."""
    return f"{tally.first}, {tally.alone}; {tally.alarms}"


if __name__ == "__main__":
    main()
