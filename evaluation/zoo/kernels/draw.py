"""Draws wrong kernels that show, by running an experiment without a dumper.

A fault counts when it moves its output by SHOWS units of rounding of the format, and a pair of
faults when either stands out from what the other sends it.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.kernels.watch import KernelWatch, Site
from evaluation.zoo.kernels.wrong import KINDS, Wrong, spoil
from evaluation.zoo.models import experiment_of

# A right kernel is within one or two units of the exact result (see the controls), and the inputs
# of either side may be as far apart again: sixteen is beyond what rounding explains of one call.
SHOWS = 16
# A sketch tells a distance within a factor of 2: what is less than 2 × 2 times what its inputs
# bring cannot be told from them.
STANDS_OUT = 4.0
_TRIES = 60


class WrongKernels(KernelWatch):
    """Spoils the outputs at the sites of its faults, in every step."""

    def __init__(self, experiment: Experiment, faults: tuple[Wrong, ...]) -> None:
        super().__init__(experiment)
        self._faults = {fault.site: fault for fault in faults}

    def computed(
        self,
        site: Site,
        kernel: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outputs: list[Tensor],
    ) -> None:
        """Write what the wrong kernel leaves."""
        fault = self._faults.get(site)
        if fault is not None:
            spoil(fault, args, outputs)


class _Probe(WrongKernels):
    """Remembers what the kernels of the first step put out, and how far the faults moved it."""

    def __init__(self, experiment: Experiment, faults: tuple[Wrong, ...] = ()) -> None:
        super().__init__(experiment, faults)
        self.outputs: dict[Site, list[Tensor]] = {}
        self.moved: dict[Site, float] = {}

    def computed(
        self,
        site: Site,
        kernel: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outputs: list[Tensor],
    ) -> None:
        """Keep copies of the outputs of the first step."""
        if self.step != 0 or site.phase == "update":
            return
        sound = [output.clone() for output in outputs]
        super().computed(site, kernel, args, kwargs, outputs)
        if site in self._faults:
            self.moved[site] = distance(outputs, sound)
        self.outputs[site] = [output.clone() for output in outputs]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Single faults, and pairs of them that can be told apart."""

    singles: tuple[Wrong, ...]
    pairs: tuple[tuple[Wrong, Wrong], ...]


def draw(architecture: str, dtype: torch.dtype, seed: int, singles: int, pairs: int) -> Drawn:
    """Faults for one experiment; changes settings of torch, so call it in a process of its own."""
    torch.set_num_threads(1)
    torch._C._set_mkldnn_enabled(False)
    chance = random.Random(f"{architecture} {dtype} {seed}")
    sound = _run(architecture, dtype, seed, ())
    probes = list(itertools.islice(_that_show(sound, chance, architecture, dtype, seed), singles))
    found = []
    for one, other in itertools.combinations(probes, 2):
        if _stand_out(one, other, sound) and _stand_out(other, one, sound):
            found.append((_fault(one), _fault(other)))
    chance.shuffle(found)
    return Drawn(tuple(map(_fault, probes)), tuple(found[:pairs]))


def _that_show(
    sound: _Probe, chance: random.Random, architecture: str, dtype: torch.dtype, seed: int
) -> Iterator[_Probe]:
    unit = torch.finfo(dtype).eps / 2
    used: set[Site] = set()
    # Forward and backward in turn: there are more sites backwards.
    for phase, _ in zip(itertools.cycle(("forward", "backward")), range(_TRIES)):
        operators = sorted({s.operator for s in sound.outputs if s.phase == phase})
        operator = chance.choice(operators)
        at = [s for s in sound.outputs if (s.phase, s.operator) == (phase, operator)]
        wrong = Wrong(chance.choice(at), chance.choice(KINDS), chance.randrange(1 << 30))
        if wrong.site in used or sound.outputs[wrong.site][0].dtype != dtype:
            continue
        probe = _run(architecture, dtype, seed, (wrong,))
        if SHOWS * unit <= probe.moved.get(wrong.site, 0.0) < math.inf:
            used.add(wrong.site)
            yield probe


def _run(architecture: str, dtype: torch.dtype, seed: int, faults: tuple[Wrong, ...]) -> _Probe:
    torch.manual_seed(seed)
    experiment = experiment_of(architecture, dtype)
    torch.manual_seed(seed + 1)
    probe = _Probe(experiment, faults)
    with probe:
        experiment.train(_NoRecorder())
    return probe


def _stand_out(one: _Probe, other: _Probe, sound: _Probe) -> bool:
    """Whether one fault moves its output further than what the other sends there."""
    site = _fault(one).site
    sent = other.outputs.get(site)
    if sent is None:
        return False
    return one.moved[site] >= STANDS_OUT * distance(sent, sound.outputs[site])


def _fault(probe: _Probe) -> Wrong:
    return next(iter(probe._faults.values()))


def distance(outputs: list[Tensor], sound: list[Tensor]) -> float:
    """The largest relative L2 distance of two lists of tensors; infinite for other shapes."""
    if [o.shape for o in outputs] != [s.shape for s in sound]:
        return math.inf
    furthest = 0.0
    for output, own in zip(outputs, sound, strict=True):
        size = own.double().norm().item()
        apart = (output.double() - own.double()).norm().item()
        if not math.isfinite(apart) or not math.isfinite(size):
            return math.inf
        furthest = max(furthest, apart / size if size else (math.inf if apart else 0.0))
    return furthest


class _NoRecorder:
    def start(self, model: torch.nn.Module) -> None: ...

    def stop(self) -> None: ...

    def step(self) -> None: ...
