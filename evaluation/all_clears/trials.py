"""All that changes are drawn of, and what came of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from pathlib import Path

from evaluation.all_clears.answers import Said
from evaluation.all_clears.checkpoints import SUFFIXES, said_of_models
from evaluation.all_clears.compiled import said_of_compiled
from evaluation.all_clears.dumps import said_of_one, said_of_two
from evaluation.all_clears.recorded import KINDS
from evaluation.all_clears.trends import BASES, said_of_trends


@dataclass(frozen=True)
class Trial:
    """Draws changes by number and says what commands answer; `weight` is its share of all.

    What comes before the first change is said of what has none.
    """

    name: str
    said: Callable[[Iterable[int], Path, int], Iterator[Said]]
    weight: int

    def share(self, changes: int) -> range:
        """As many numbers as fall to it, one at least."""
        return range(ceil(changes * self.weight / sum(each.weight for each in TRIALS)))


TRIALS = (
    *(Trial(f"two runs by {kind}", partial(said_of_two, kind), 12) for kind in KINDS),
    *(
        Trial(f"one run by {kind}", partial(said_of_one, kind), 3)
        for kind in ("statistics", "sketch")
    ),
    *(Trial(f"trends off by {base}", partial(said_of_trends, base), 5) for base in BASES),
    *(Trial(f"models in {suffix}", partial(said_of_models, suffix), 5) for suffix in SUFFIXES),
    Trial("compiled and eager", said_of_compiled, 4),
)


@dataclass
class Tally:
    """How often each command said what, and every wrong all-clear with its change."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    changes: int = 0

    def add(self, trial: Trial, numbers: range, seed: int) -> None:
        """Run a trial. Raises AssertionError where runs without a change are no all-clear."""
        told: set[str] = set()
        with tempfile.TemporaryDirectory() as folder:
            for said in trial.said(numbers, Path(folder), seed):
                if not said.change:
                    assert said.is_clear, f"{trial.name}: {said}"
                    continue
                told.add(said.change)
                self.outcomes[said.command, said.outcome] += 1
                if said.is_clear:
                    self.wrong.append(f"{said.command} on {said.change}")
        self.changes += len(told)

    def lines(self) -> list[str]:
        """A line for each command: how often it said what."""
        commands = sorted({command for command, _ in self.outcomes})
        return [
            f"{command:18}"
            + ", ".join(
                f"{count} {outcome}"
                for (name, outcome), count in self.outcomes.most_common()
                if name == command
            )
            for command in commands
        ]
