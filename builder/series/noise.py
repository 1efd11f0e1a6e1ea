"""How far noise carries in one training, learnt from a twin that differs from it in the last bit.

A family is a kind of series and what it is of, whichever layer: `grad layers.*.fc.weight`. Of each
family and each rule the largest excess of the twin is kept, and how its tail falls. Excesses are
logarithms of octaves, so a tail that falls as a power is exponential in them: its scale is the mean
of what the largest are above the next one (Hill, Annals of Statistics 3, 1975). Of R times as many
steps the largest is log R scales more, and it is t scales above that with a chance of exp(-t):
with F families and rules, t = log(F / p) keeps the chance of any false parting at p.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.errors import InputError
from builder.series.limits import Limits
from builder.series.run import Key
from msprobe_core.format.bounded import parse_json
from msprobe_core.format.regular_file import read_regular

Floats = NDArray[np.float64]

FORMAT, VERSION = "trend-noise", 1
_CHANCE = 0.05
"""Of a false parting in a whole comparison; of twenty sound pairs nineteen are silent."""
_ENOUGH = 64
"""Steps fewer than which say nothing of a family: as many as a band is made of."""
_LEAST_TAIL = 8
"""The largest excesses that a tail is made of, at least; else the root of how many there are."""
_LEAST = 2.0
"""Octaves: what differs may round in four times as many places as the twin does."""
_RULES = tuple(each.name for each in fields(Limits))


class NoiseError(InputError):
    """A file of learnt noise that cannot be used, or a twin that teaches nothing."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Of `count` excesses the largest, and the scale by which their tail falls, in octaves."""

    count: int
    largest: float
    scale: float

    @classmethod
    def of(cls, excesses: Floats) -> Tail:
        """That of all excesses of a family by one rule, of which there are two at least."""
        size = min(max(_LEAST_TAIL, math.isqrt(len(excesses))), len(excesses) - 1)
        top = np.sort(np.partition(excesses, -size - 1)[-size - 1 :])
        return cls(len(excesses), float(top[-1]), float(np.mean(top[1:] - top[0])))

    def limit(self, times: float, families: int) -> float:
        """What noise of `times` as many steps stays below in all of so many families."""
        more = math.log(max(times, 1.0)) + math.log(families / _CHANCE)
        return self.largest + self.scale * more


@dataclass(frozen=True, slots=True)
class Noise:
    """What a twin taught in `steps` steps: tails by rule and family."""

    steps: int
    tails: Mapping[str, Mapping[str, Tail]]

    def limits(self, keys: Sequence[Key], steps: int) -> Limits:
        """The limits of targets in a comparison of so many steps; those of the rules where the
        twin has not shown enough.
        """
        fixed, times = Limits.of(keys), steps / self.steps
        families = max(1, sum(map(len, self.tails.values())))
        found = {}
        for rule in _RULES:
            tails, limits = self.tails.get(rule, {}), getattr(fixed, rule).copy()
            for at, key in enumerate(keys):
                tail = tails.get(family_of(key)) or tails.get(key[0])
                if tail is None or limits[at] == np.inf:
                    continue
                limit = tail.limit(times, families)
                limits[at] = limit if rule == "jump" else max(_LEAST, limit)
            found[rule] = limits
        return Limits(**found)

    def written(self) -> str:
        """The text of a file."""
        tails = {
            rule: {name: [t.count, t.largest, t.scale] for name, t in each.items()}
            for rule, each in self.tails.items()
        }
        facts = {"format": FORMAT, "version": VERSION, "steps": self.steps, "tails": tails}
        return json.dumps(facts, indent=1)


def family_of(key: Key) -> str:
    """A kind, and a name in which layers are all one.

    >>> family_of(("grad", "layers.12.fc1.weight"))
    'grad layers.*.fc1.weight'
    """
    return f"{key[0]} " + re.sub(r"(?<![^.])\d+(?![^.])", "*", key[1])


def learnt(keys: Sequence[Key], judged: Iterable[Mapping[str, Floats]], steps: int) -> Noise:
    """The noise of the excesses by rule, [step][target] each, -inf where there is none.

    What a step throws out is one excess of a family, however many of its targets it reaches. Raises
    NoiseError where there is too little of it.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        members[family_of(key)].append(at)
        members[key[0]].append(at)
    stretches = list(judged)
    tails: dict[str, dict[str, Tail]] = {rule: {} for rule in _RULES}
    for rule, found in tails.items():
        for family, columns in sorted(members.items()):
            parts = [each[rule][:, columns].max(1) for each in stretches]
            worst = np.concatenate(parts) if parts else np.zeros(0)
            worst = worst[worst > -np.inf]
            if len(worst) >= _ENOUGH:
                found[family] = Tail.of(worst)
    if not any(tails.values()):
        raise NoiseError(
            f"the twin has {steps} steps in common with the training, too few to learn from",
            f"let it run for {2 * _ENOUGH} steps and more",
        )
    return Noise(steps, tails)


def together(noises: Sequence[Noise]) -> Noise:
    """What several twins have taught: of each family the largest excess and the slowest tail."""
    tails: dict[str, dict[str, Tail]] = {}
    for rule in _RULES:
        families = {name for noise in noises for name in noise.tails.get(rule, {})}
        tails[rule] = {}
        for name in sorted(families):
            known = [n.tails[rule][name] for n in noises if name in n.tails.get(rule, {})]
            tails[rule][name] = Tail(
                max(tail.count for tail in known),
                max(tail.largest for tail in known),
                max(tail.scale for tail in known),
            )
    return Noise(min(noise.steps for noise in noises), tails)


def read_noise(path: Path) -> Noise:
    """The noise that `msprobe trend noise` wrote. Raises NoiseError."""
    hint = "give a file that msprobe trend noise wrote"
    try:
        facts = parse_json(read_regular(path).decode())
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise NoiseError(f"{path}: not noise that a twin taught", hint)
        if facts.get("version") != VERSION:
            raise NoiseError(f"{path}: version {facts.get('version')!r}, not {VERSION}", hint)
        return Noise(int(facts["steps"]), _tails(facts["tails"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoiseError(f"{path}: {type(error).__name__}: {error}", hint) from error


def _tails(facts: Mapping[str, Any]) -> dict[str, dict[str, Tail]]:
    return {
        rule: {
            name: Tail(int(count), float(largest), float(scale))
            for name, (count, largest, scale) in facts[rule].items()
        }
        for rule in _RULES
        if rule in facts
    }
