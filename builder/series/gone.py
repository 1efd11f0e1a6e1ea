"""What one run measures and the other does not: a frozen layer's gradient, outputs of a model that
was left in evaluation, a branch or an expert that is not called.

A series has gone where one run goes on measuring it while it is missing in the other for as long
as neither has ever paused. What a run was not set to record has not gone: it is told as that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.series.next_dump import module_of
from builder.series.pieces import Steps
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import DECIDING, TENSOR_KINDS, TrendTarget

_PAUSES, _TIMES = 3, 4
"""How many times as long as its longest pause a series is missing, and how often the other run
measures it meanwhile. An expert that is seldom chosen pauses by chance. The longest of n pauses
that end at any step with a chance of p is some ln(n) / p, and one of three times that has a chance
of (1 - p)^(3 ln(n) / p) = n^-3: once in 10,000 behind 22 of them."""
_OUTPUTS = frozenset({"actv", "actv_grad"})
_FOLLOWED = frozenset({*TENSOR_KINDS, "ratio"})
_OF_OPTIMIZERS = (DECIDING - {"loss_scale"}) | {"grad_norm"}
_ALIKE = 0.5
"""Of the module names of two models that are the same one; fewer are alike in a port."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Gone:
    """The first `step` from which on series are missing in one run: in the other one if `here`.

    `target` is the first that a step makes, `others` those that go with it. `unset` are series that
    one run was not set to record.
    """

    step: int | None = None
    target: Key | None = None
    here: bool = True
    others: tuple[Key, ...] = ()
    unset: tuple[Key, ...] = ()


def first_gone(problem: TrendRun, benchmark: TrendRun, steps: Steps) -> Gone:
    """What has gone first; of one step what it makes first."""
    targets = _targets(problem, benchmark)
    settings = _Settings.of(problem, benchmark)
    both = {t.key for t in problem.targets} & {t.key for t in benchmark.targets}
    unset = [t.key for t in targets if t.key not in both and settings.explain(t)]
    told = set(unset)
    judged = [t for t in targets if t.kind in _FOLLOWED and t.key not in told]
    keys = [t.key for t in judged]
    if not keys or not len(steps):
        return Gone(unset=tuple(unset))
    own, other = (_measured(run, steps, keys) for run in (problem, benchmark))
    begun = np.full(len(keys), len(steps))
    for column in np.flatnonzero((own ^ other).any(0)).tolist():
        due = settings.due(judged[column].kind, steps)
        begun[column] = _begins(own[:, column], other[:, column], due)
    first = int(begun.min())
    if first == len(steps):
        return Gone(unset=tuple(unset))
    found = np.flatnonzero(begun == first).tolist()
    here = bool(own[first, found[0]])
    others = tuple(keys[i] for i in found[1:])
    return Gone(int(steps[first]), keys[found[0]], here, others, tuple(unset))


def _targets(problem: TrendRun, benchmark: TrendRun) -> list[TrendTarget]:
    """The targets of either, in the order of a step."""
    found = {t.key: t for run in (benchmark, problem) for t in run.targets if t.kind != "seconds"}
    return sorted(found.values(), key=lambda target: target.order)


def _measured(run: TrendRun, steps: Steps, keys: Sequence[Key]) -> Mask:
    """[step][target]: whether it was measured; never where the run does not know it."""
    known = {target.key for target in run.targets}
    there = [i for i, key in enumerate(keys) if key in known]
    found = np.zeros((len(steps), len(keys)), dtype=bool)
    found[:, there] = run.values_at(steps, [keys[i] for i in there]) != -np.inf
    return found


def _begins(own: Mask, other: Mask, due: Mask) -> int:
    """The first step of those from which on one of two is missing; their number where none is."""
    places = np.flatnonzero(due)
    begun = [
        _missing_from(has[places], lacks[places]) for has, lacks in ((own, other), (other, own))
    ]
    first = min((each for each in begun if each is not None), default=None)
    return len(own) if first is None else int(places[first])


def _missing_from(has: Mask, lacks: Mask) -> int | None:
    """Where `lacks` begins to be missing for good, or for longer than either has paused."""
    alone = has & ~lacks
    if alone.sum() < _TIMES:
        return None
    back, longest = np.flatnonzero(lacks), _longest_pause(has)
    at = 0
    while (later := alone[at:]).any():
        start = at + int(np.argmax(later))
        following = np.searchsorted(back, start)
        end = int(back[following]) if following < len(back) else len(has)
        usual = max(longest, _longest_pause(lacks[:start]))
        if end - start > _PAUSES * usual and alone[start:end].sum() >= _TIMES:
            return start
        at = end
    return None


def _longest_pause(there: Mask) -> int:
    """Steps between two measurements that follow each other; 1 of what is always measured."""
    return int(np.diff(np.flatnonzero(there)).max(initial=1))


@dataclass(frozen=True, slots=True)
class _Settings:
    """What two runs were set to record."""

    every: tuple[Mapping[str, int], Mapping[str, int]]
    known: bool
    outputs_alike: bool
    local_alike: bool
    modules: tuple[frozenset[str], frozenset[str]]
    trained: bool
    """Whether both follow an optimizer."""

    @classmethod
    def of(cls, problem: TrendRun, benchmark: TrendRun) -> _Settings:
        runs = problem, benchmark
        configs = [_mapping(run.facts.get("config")) for run in runs]
        every = tuple(_intervals(config.get("every")) for config in configs)
        chosen = [
            (config.get("activations"), each.get("actv_all", 0))
            for config, each in zip(configs, every, strict=True)
        ]
        return cls(
            every,  # type: ignore[arg-type]  # of two
            all(configs),
            chosen[0] == chosen[1],
            configs[0].get("local") == configs[1].get("local"),
            (_modules(problem), _modules(benchmark)),
            all(any(t.kind == "lr" for t in run.targets) for run in runs),
        )

    def explain(self, target: TrendTarget) -> bool:
        """Whether settings can be why one run has no such series; unknown ones always can."""
        if not self.known or any(each.get(target.kind) == 0 for each in self.every):
            return True
        if target.kind not in _FOLLOWED:  # what a script hands over is its own affair
            return not self.trained or target.kind not in _OF_OPTIMIZERS
        if target.kind in _OUTPUTS:
            return not self.outputs_alike or not self._is_in_both(target)
        return not (self.trained and self.local_alike and self._is_in_both(target))

    def _is_in_both(self, target: TrendTarget) -> bool:
        """Whether models are alike but for a few modules: such a module is one run's alone. Where
        most names are others, nothing says which of them mean the same.
        """
        one, other = self.modules
        return len(one & other) > _ALIKE * max(len(one), len(other)) or module_of(target.key) in (
            one & other
        )

    def due(self, kind: str, steps: Steps) -> Mask:
        """The steps at which both are set to measure a kind."""
        between = [each.get(kind, 1) for each in self.every]
        if kind in _OUTPUTS and not self.outputs_alike:
            between += [max(1, each.get("actv_all", 1)) for each in self.every]
        due: Mask = (
            np.zeros(len(steps), dtype=bool) if 0 in between else steps % math.lcm(*between) == 0
        )
        return due


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _intervals(value: object) -> dict[str, int]:
    return {
        str(kind): steps
        for kind, steps in _mapping(value).items()
        if isinstance(steps, int) and steps >= 0
    }


def _modules(run: TrendRun) -> frozenset[str]:
    listed = run.facts.get("modules")
    named = listed if isinstance(listed, list) else []
    return frozenset(str(each[0]) for each in named if isinstance(each, list) and each)
