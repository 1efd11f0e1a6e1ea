"""Faults beside one-bit noise: `python -m evaluation.trend_cases.beside_noise [--held] [--twin N]`.

Each pair is compared with the bands of the rules, then with those that a twin of `--twin` steps
taught: a third run, as `msprobe trend noise` makes it, in which modules round otherwise. 16 pairs
have a fault, 8 have none; every third of each is held back until `--held`. A line each, code 1
below the goal; `--keep FOLDER` leaves the trainings there and takes those that are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

from builder.series.divergence import Divergence
from builder.series.parting import compare_runs, learn_noise
from builder.series.run import TrendRun
from evaluation.trend_cases.faults import Fault, gradient, scale_output, scale_weight
from evaluation.trend_cases.noisy_models import NOISY, frozen_statistics, not_reduced
from evaluation.trend_cases.pairs import STEPS, parts_rightly
from evaluation.trend_cases.running import run
from evaluation.trend_cases.unseen import (
    forget_bias,
    lose_momentum,
    repeat_rows,
    round_output,
    see_the_future,
    set_in,
    shift_labels,
)
from msprobe.pytorch.trend_twin import rounded_otherwise

ONE_BIT = 2.0**-24
"""Of a weight, of which half are moved by their last bit so."""


@dataclass(frozen=True)
class Pair:
    """A training, what goes wrong in its second run if anything, and where; `order`: each of its
    batches is summed in another order as well.
    """

    model: str
    place: str = ""
    fault: Fault | None = None
    order: bool = False

    @property
    def name(self) -> str:
        """What it is, as a folder can be called."""
        what = self.fault.name if self.fault else "sound"
        return f"{what} in {self.model}".replace(" ", "-")


def _gradient(name: str, factor: float, step: int) -> Fault:
    change = gradient(lambda g: g * factor)
    return Fault(name, ("grad {}.weight",), gradients=change, once=False, step=step)


def _actv(name: str, before: object, step: int, targets: tuple[str, ...] = ("actv {}",)) -> Fault:
    return Fault(name, targets, before=before, step=step)  # type: ignore[arg-type]


FAULTS = (
    Pair("vision", "layers.1.bn1", _actv("other statistics", frozen_statistics, 151)),
    Pair("micro", "layers.2.mlp.fc1", not_reduced("micro", 137, 2)),
    Pair("dropped", "layers.1", _actv("other statistics", frozen_statistics, 144)),
    Pair("language", "layers.0.attn.qkv", not_reduced("language", 160, 2), order=True),
    Pair("tied", "layers.0.norm2", _actv("eps of a norm", set_in("", eps=0.02), 127)),
    Pair("waves", "mid", _gradient("gradient x0.7", 0.7, 139)),
    Pair("lion", "layers.1.mlp.fc1", _actv("output x1.05", scale_output(1.05), 156)),
    Pair("adafactor", "layers.0.mlp.fc2", _actv("weights x1.1", scale_weight(1.1), 133)),
    Pair("adversarial", "maker.2", _gradient("gradient x1.5", 1.5, 149), order=True),
    Pair("signals", "", _actv("momentum lost", lose_momentum, 166, ("exp_avg",))),
    Pair("padded", "layers.2.attn.out", _actv("rounded output", round_output, 142)),
    Pair("lion", "", _actv("labels one off", shift_labels, 131, ("loss",)), order=True),
    Pair("autoencoder", "encoder.2", _actv("a bias forgotten", forget_bias, 158)),
    Pair("adafactor", "layers.1.attn", _actv("no causal mask", see_the_future, 147)),
    Pair("recurrent", "head", not_reduced("recurrent", 129, 4)),
    Pair("micro", "", _actv("rows repeated", repeat_rows, 172, ("actv emb", "actv"))),
)
SOUND = (
    *(Pair("lion"), Pair("adafactor", order=True), Pair("adversarial", order=True)),
    *(Pair("vision"), Pair("dropped"), Pair("adafactor"), Pair("recurrent", order=True)),
    Pair("lion", order=True),
)


def chosen(pairs: tuple[Pair, ...], held: bool) -> list[Pair]:
    """Every third pair is held back."""
    return [pair for at, pair in enumerate(pairs) if (at % 3 == 2) is held]


def trained(pair: Pair, folder: Path, twin: int, begins: float) -> tuple[Path, Path, Path]:
    """Where the pair's own run, the sound one and its twin are; those that are there stay."""
    training = NOISY[pair.model]
    sound, other = folder / pair.model, folder / f"{pair.name}{'-order' * pair.order}-{begins:.0e}"
    third = folder / f"{pair.model}-rounded-{twin}"
    if not sound.exists():
        run(training, sound, steps=STEPS)
    if not third.exists():
        with rounded_otherwise():
            run(training, third, steps=twin)
    if not other.exists():
        steps, order = (None if pair.fault else STEPS), (5 if pair.order else None)
        run(training, other, pair.fault, pair.place, steps=steps, noise=begins, order=order)
    return other, sound, third


def is_right(pair: Pair, folder: Path, twin: int, begins: float) -> tuple[bool, bool]:
    """Whether what is said is due, without bands of a twin and with them."""
    other, sound, third = map(TrendRun, trained(pair, folder, twin, begins))
    noise = learn_noise(third, sound)
    said = [_is_due(pair, "rules", compare_runs(other, sound))]
    said.append(_is_due(pair, "twin", compare_runs(other, sound, noise)))
    return said[0], said[1]


def _is_due(pair: Pair, by: str, found: Divergence) -> bool:
    """Print a line; whether it is what is due."""
    wanted = pair.fault
    good = found.verdict == "noise" if wanted is None else parts_rightly(found, wanted, pair.place)
    due = "" if wanted is None else f" (due {wanted.step})"
    what = (found.verdict, found.step, found.target, round(found.delta, 4))
    print(f"{'ok ' if good else 'BAD'} {by:5} {pair.name}{due}: {what}", flush=True)
    return good


def main() -> int:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--held", action="store_true", help="those that are held back")
    parser.add_argument("--twin", type=int, default=STEPS, help="steps of the twin")
    parser.add_argument(
        "--noise", type=float, default=ONE_BIT, help="by how much weights begin off [2^-24]"
    )
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        below = False
        for title, pairs, goal in (("faults", FAULTS, 0.7), ("sound", SOUND, 0.95)):
            found = [
                is_right(pair, place, options.twin, options.noise)
                for pair in chosen(pairs, options.held)
            ]
            rules, taught = (sum(column) for column in zip(*found, strict=True))
            print(f"{title}: {rules} by rules, {taught} by a twin's bands, of {len(found)}")
            below |= taught < goal * len(found)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
