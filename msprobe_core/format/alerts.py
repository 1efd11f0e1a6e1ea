"""An alert as it is stored beside the trends, and in words. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from msprobe_core.format.series import SETTING

_MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class Alert:
    """What happened at a step: `kind` is jump, vanishes, not finite, dead, missing,
    drift, fades, still or disagree.

    `target` [kind, name] is the first that a step makes; `factor` how many times the value is off;
    `count` how many series fired with it, the first of them in `others`. `ranks`: those that
    disagree, or that say the same. `again`: later steps of the same cause, `every` so many steps
    where they are at equal distances. `lr`: the factor by which the learning rate changed in this
    step, if it did. `rank`: who wrote it.
    """

    step: int
    kind: str
    target: tuple[str, str]
    factor: float | None = None
    count: int = 1
    others: list[tuple[str, str]] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    lr: float | None = None
    rank: int = 0
    again: list[int] = field(default_factory=list)
    every: int | None = None

    def facts(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Alert:
        """From what is stored; raises TypeError for what is no alert."""
        kind, name = facts["target"]
        others = [(one, other) for one, other in facts.get("others", [])]
        return cls(**{**facts, "target": (kind, name), "others": others})


def series_name(target: tuple[str, str]) -> str:
    """A target in words: `grad of layers.0.weight`, or `loss` and `group0.betas[0]` alone."""
    kind, name = target
    if kind == SETTING:
        return name
    return name if kind == name else f"{kind} of {name}"


def sentence(alert: Alert) -> str:
    """An alert as one line of English."""
    named, factor = series_name(alert.target), alert.factor or 0
    said = {
        "jump": f"{named} jumps to {factor:.3g} times its largest of the last steps",
        "vanishes": f"{named} falls to {factor:.3g} of its least of the last steps",
        "not finite": f"{named} is not finite",
        "dead": f"{named} is exactly 0 for the third step",
        "missing": f"{named} is not there any more",
        "drift": f"{named} grew {factor:.3g} times in 64 steps, nearly all the way up",
        "fades": f"{named} fell to {factor:.3g} of itself in 64 steps, nearly all the way down",
        "still": f"{_standing(alert.target)} for 16 steps: no weight moves",
        "disagree": f"replicas of {named} differ on ranks {alert.ranks}",
    }.get(alert.kind, f"{named}: {alert.kind}")
    more = f"; {alert.count - 1} more with it" if alert.count > 1 else ""
    return f"step {alert.step}: {said}{more}{_again(alert)}"


def _standing(target: tuple[str, str]) -> str:
    kind, _ = target
    if kind == "skipped":
        return "all steps are skipped"
    return f"{series_name(target)} is 0" if kind == "lr" else "all updates are 0"


def _again(alert: Alert) -> str:
    """When the same cause struck later."""
    if alert.every is not None:
        return f"; every {alert.every} steps, {len(alert.again) + 1} times so far"
    shown = ", ".join(map(str, alert.again[:_MOST_STEPS]))
    more = " …" if len(alert.again) > _MOST_STEPS else ""
    return f"; again at step {shown}{more}" if shown else ""


def question(alert: Alert) -> str:
    """What to ask first."""
    if alert.every is not None:
        return f"what happens every {alert.every} steps: a file of the data, an evaluation, a save?"
    if alert.lr is not None:
        return f"the learning rate changed {alert.lr:.3g} times in this step: was that meant?"
    if alert.kind in _BY_KIND:
        return _BY_KIND[alert.kind]
    return _BY_TARGET.get(alert.target[0], "what else changed at this step?")


_BY_KIND = {
    "not finite": "which call makes it? a dump of this step names the first",
    "dead": "is the layer cut off from the loss, or are all its inputs negative?",
    "missing": "was it frozen, or cut off from the loss? or does nobody call it any more?",
    "fades": "does something scale gradients in each step, or is their scale lost in the format?",
    "still": "is that meant? a schedule that has ended, weights of too coarse a format, overflow?",
    "drift": "is weight decay missing, or does something scale it each step?",
    "disagree": "is an all-reduce missing, or did a rank draw other random numbers?",
}
_BY_TARGET = {
    "loss": "a bad batch, or a scale of the loss?",
    "actv": "did this module's weights or inputs change, or what it computes?",
    "actv_grad": "does something scale or cut the gradient on its way back?",
    "grad": "a bad batch, or a gradient that was changed after backward?",
    "grad_norm": "a bad batch, or a gradient that was changed after backward?",
    "exp_avg": "did the optimizer's state or its betas change?",
    "exp_avg_sq": "did the optimizer's state or its betas change?",
    "ratio": "did the learning rate or the optimizer's second moment change?",
    "param": "who else writes to this parameter?",
}
