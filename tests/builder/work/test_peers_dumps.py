"""Dumps of mindstudio-probe 26.2.0, merged as its own flags say, beside its own merge of them.

On tp rank 1 the weight of the first norm is 10 % too large. A norm is no layer that tp cuts: its
weight is the same on all ranks, and one that differs is the fault.
"""

from __future__ import annotations

import json
from math import hypot
from pathlib import Path

import pytest

from builder import BuildOptions, build, diagnose
from builder.ranks.layout.coordinates import Sizes
from builder.ranks.merge_options import MergeOptions

REPLICA = Path(__file__).parents[2] / "samples" / "tools-26.2.0" / "replica"
_NORM = "Module.layers.0.attention_norm.LayerNorm.forward.0"


def _norms_of_ranks() -> list[float]:
    folders = sorted((REPLICA / "problem" / "step0").iterdir())
    dumps = [json.loads((folder / "dump.json").read_text())["data"] for folder in folders]
    return [dump[_NORM]["parameters"]["weight"]["Norm"] for dump in dumps]


def test_its_own_merge_takes_the_replicas_for_shards_and_passes_them() -> None:
    merged = json.loads((REPLICA / "merged_by_msprobe.json").read_text())
    weight = merged["node"]["input_data"][f"{_NORM}.parameters.weight"]
    assert float(weight["Norm"]) == pytest.approx(hypot(*_norms_of_ranks()))
    assert weight["Result"] == "pass"
    assert merged["flagged_nodes"] == 0


def test_replicas_that_differ_are_a_finding_with_their_rank(tmp_path: Path) -> None:
    order = "tp-cp-ep-dp-pp"
    merging = MergeOptions(
        problem=Sizes(rank_size=2, tp=2, pp=1, vpp=1, order=order),
        benchmark=Sizes(rank_size=1, tp=1, pp=1, vpp=1, order=order),
    )
    options = BuildOptions(workers=1, merging=merging)
    made = build(REPLICA / "problem", REPLICA / "benchmark", tmp_path, options)
    first = diagnose(made.path).findings[0]
    assert first.node == _NORM
    assert first.ranks == (1,)
    assert first.check == "replica"
    assert first.axis == "tp"
