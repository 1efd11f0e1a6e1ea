"""Masks of two formats mean the same, as arguments and in what they are written into."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder import build, diagnose
from builder.compare.mask_constants import are_smallest, hold_masks, mask_alike
from builder.ranks.joining.joined_sketches import sketch_text
from tests.builder.dumps import Json, forward, tensor, write_dump

CALL = "Tensor.masked_fill.0.forward"
SMALLEST = [-3.4028234663852886e38, -3.3895313892515355e38, -65504.0, "-inf"]


def findings(tmp_path: Path, ours: Json, theirs: Json) -> list[str]:
    for side, entry in (("p", ours), ("b", theirs)):
        write_dump(tmp_path / side, {CALL: entry}, {CALL: None}, sketch_version=1)
    built = build(tmp_path / "p", tmp_path / "b", tmp_path / "out")
    return [finding.kind for finding in diagnose(built.path).findings]


def filled(number: object, **more: object) -> Json:
    out = tensor(**{"Min": number, "Mean": number, "Norm": "inf", **more})
    return forward([tensor(), {"type": "float", "value": number}], [out])


@pytest.mark.parametrize("ours", SMALLEST)
@pytest.mark.parametrize("theirs", SMALLEST)
def test_masks_of_two_formats_are_no_finding(tmp_path: Path, ours: object, theirs: object) -> None:
    assert findings(tmp_path, filled(ours), filled(theirs)) == []


def test_what_is_not_masked_still_counts(tmp_path: Path) -> None:
    assert findings(tmp_path, filled("-inf", Max=3.0), filled(-65504.0, Max="inf")) != []


def test_a_norm_that_overflowed_is_no_difference_from_one_that_did_not(tmp_path: Path) -> None:
    mask = {"Max": 0.0, "Min": -3.4028234663852886e38}
    kept = forward([tensor()], [tensor(**mask, Mean=-1.7e38, Norm=4.8e38)])
    lost = forward([tensor()], [tensor(**mask, Mean="-inf", Norm="inf")])
    assert findings(tmp_path, kept, lost) == []


def test_masks_that_a_coarse_format_rounds_count_for_no_distance(tmp_path: Path) -> None:
    """-1e9 is -998244352 in bfloat16; sketches leave both out, norms count them."""
    sketch = sketch_text(np.linspace(-1.0, 1.0, 8))
    mask = tensor(dtype="torch.bool", Max=True, Min=False, Mean=None, Norm=None, sketch=sketch)
    given: list[Json] = [mask, {"type": "float", "value": -1e9}]
    brain = {"dtype": "torch.bfloat16", "Min": -998244352.0, "Mean": -4.9e8, "Norm": 1.41e9}
    whole = {"Min": -1e9, "Mean": -5e8, "Norm": 1.4142e9}
    ours, theirs = (
        forward([tensor(sketch=sketch), *given], [tensor(sketch=sketch, **one)])
        for one in (brain, whole)
    )
    assert findings(tmp_path, ours, theirs) == []


def test_signs_and_sizes_matter() -> None:
    assert mask_alike(-65504.0, -1e9)
    assert not mask_alike(-65504.0, 65504.0)
    assert not mask_alike(-65504.0, -2.0)
    assert are_smallest(np.array([-65504.0, 65504.0, -1e9, -np.inf])).tolist() == [
        True,
        False,
        False,
        True,
    ]


def test_which_extremes_are_as_large_as_masks() -> None:
    highest, lowest = [3.0, 65504.0, 1.0, np.nan, np.inf], [-1e8, 0.0, -1e9, np.nan, 0.0]
    assert hold_masks(np.array([highest, lowest])).tolist() == [False, True, True, False, True]
