"""What a build can be told, in one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from builder.compare.score import THRESHOLD, Tolerance
from builder.ranks.merge_options import MergeOptions

# What two runs have in common: all of a program; most of it, as two versions have; but a model that
# two programs compute; or that and the tokens, in other forward passes.
Same = Literal["program", "versions", "model", "tokens"]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Options of a build; the defaults are those of the command line.

    `threshold` is the score above which a value diverges. `workers` of None means all cores.
    `acc_check` is a result table of the pre-check that colours a single graph.
    `same` says what two runs have in common, None that the tool is to tell: of two programs of one
    model the modules that hold the same weights are compared at their edges, and of runs of the
    same tokens each token with itself.
    `match_by_position` pairs differently named modules of equal parents in their order.
    `data_mapping` pairs single values by their full names, or names the file that does;
    `api_mapping` names a file that pairs another framework's calls with PyTorch's.
    """

    overflow_check: bool = True
    threshold: float = THRESHOLD
    tolerance: Tolerance = field(default_factory=Tolerance)
    workers: int | None = None
    layer_mapping: Path | None = None
    cell_mapping: Path | None = None
    data_mapping: Path | Mapping[str, str] | None = None
    api_mapping: Path | None = None
    match_by_position: bool = False
    same: Same | None = None
    fuzzy_match: bool = False
    manual_mapping: Path | None = None
    acc_check: Path | None = None
    rank_map: dict[int, int] = field(default_factory=dict)
    step_map: dict[int, int] = field(default_factory=dict)
    merging: MergeOptions = field(default_factory=MergeOptions)
