"""What a build can be told, in one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from builder.diagnosis.walk import THRESHOLD
from builder.score import Tolerance


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Options of a build; the defaults are those of the command line.

    `threshold` is the score above which a value diverges. `workers` of None means all cores.
    `match_by_position` pairs differently named modules of equal parents in their order.
    """

    overflow_check: bool = False
    threshold: float = THRESHOLD
    tolerance: Tolerance = field(default_factory=Tolerance)
    workers: int | None = None
    layer_mapping: Path | None = None
    match_by_position: bool = False
    fuzzy_match: bool = False
    manual_mapping: Path | None = None
    rank_map: dict[int, int] = field(default_factory=dict)
    step_map: dict[int, int] = field(default_factory=dict)
