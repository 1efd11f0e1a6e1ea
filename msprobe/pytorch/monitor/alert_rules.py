"""The rules of a monitor's `alert` field: what leaves its own average, what is not finite.

Each hit is said and, with `"dump": true`, kept in `anomaly_detected/rank<r>/anomaly.json`, which
`python -m msprobe.core.monitor.anomaly_processor` sorts. A NaN stays out of the average, so that a
series that has become finite again is judged as before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msprobe_core.errors import ConfigError, nearest
from msprobe_core.report import say

FOLDER, FILE = "anomaly_detected", "anomaly.json"
RULES = ("AnomalyTurbulence", "AnomalyNan")
_KEPT = 0.99
"""The share of the former average that stays when a value comes in."""
_JUDGED = frozenset({"norm", "mean"})
"""The statistics whose average means something; extremes and counts leave theirs all the time."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of `rules`; for AnomalyNan a threshold is optional."""

    name: str
    threshold: float | None = None

    def strikes(self, op: str, value: float, average: float) -> bool:
        """Whether a value breaks the rule, given the average of the magnitudes before it."""
        if self.name == "AnomalyNan":
            above = self.threshold is not None and abs(value) > self.threshold
            return math.isnan(value) or above
        assert self.threshold is not None
        return op in _JUDGED and abs(value) > (1 + self.threshold) * average


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was measured; `micro` is None for what has no micro-batches."""

    kind: str
    name: str
    stage: int
    step: int
    micro: int | None

    def tag(self, rank: int) -> str:
        """As files and messages call the series."""
        micro = "" if self.micro is None else f":{self.micro}"
        return f"{self.stage}:{self.name}{micro}/rank{rank}/{self.kind}"


@dataclass(slots=True)
class RuleWatch:
    """Judges every statistic by the rules; of those that it breaks the first is said."""

    rules: list[Rule]
    rank: int
    folder: Path | None = None
    _averages: dict[tuple[str, str], float] = field(default_factory=dict)
    _found: dict[str, dict[str, object]] = field(default_factory=dict)
    _calls: int = 0
    _written: int = 0

    def look(self, place: Place, numbers: Mapping[str, object]) -> None:
        """Judge the statistics of one tensor; each call counts, whether it strikes or not."""
        call, self._calls = self._calls, self._calls + 1
        tag = place.tag(self.rank)
        for op, number in numbers.items():
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                self._judge(place, tag, call, op, float(number))

    def end_step(self) -> None:
        """Count calls from 0 again and write what the step has found. Raises OSError."""
        self._calls = 0
        if self.folder is None or len(self._found) == self._written:
            return
        self._written = len(self._found)
        place = self.folder / f"rank{self.rank}"
        place.mkdir(parents=True, exist_ok=True)
        hidden = place / f".{FILE}"
        hidden.write_text(json.dumps(self._found, indent=1), encoding="utf-8")
        hidden.replace(place / FILE)

    def _judge(self, place: Place, tag: str, call: int, op: str, value: float) -> None:
        average = self._averages.get((tag, op), abs(value))
        struck = next((rule for rule in self.rules if rule.strikes(op, value, average)), None)
        if math.isfinite(value):
            self._averages[tag, op] = _KEPT * average + (1 - _KEPT) * abs(value)
        if struck is None:
            return
        message = (
            f"Rule {struck.name} reports anomaly signal in {(tag, op)} at step {place.step}, "
            f"current value {value}, history mean {average}."
        )
        say(message)
        self._found[f"{tag}_step_{place.step}_call_{call}"] = {
            "rank": self.rank,
            "step": place.step,
            "micro_step": place.micro or 0,
            "pp_stage": 0,
            "vpp_stage": place.stage,
            "call_id": call,
            "tag_name": tag,
            "message": message,
            "group_mates": [self.rank],
        }


def read_rules(path: str | Path, alert: Mapping[str, Any]) -> list[Rule]:
    """The rules of a configuration's `alert`. Raises ConfigError and TypeError."""
    rules: list[Rule] = []
    for given in alert.get("rules", []):
        name = given.get("rule_name") if isinstance(given, dict) else None
        if name not in RULES:
            raise ConfigError(f"{path}: alert: there is no rule {name!r}", nearest(name, RULES))
        threshold = (given.get("args") or {}).get("threshold")
        if threshold is None and name == "AnomalyTurbulence":
            raise ConfigError(
                f"{path}: alert: {name} has no threshold", 'give "args": {"threshold": 0.5}'
            )
        if threshold is not None and (
            isinstance(threshold, bool) or not isinstance(threshold, (int, float))
        ):
            raise TypeError(f"{path}: alert: threshold is {threshold!r}; give a number")
        rules.append(Rule(name, threshold))
    return rules
