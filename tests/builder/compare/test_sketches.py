"""Sketches tell what statistics cannot, and say nothing where they are missing or unknown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from msgspec import convert
from msgspec.structs import replace

from builder.compare.comparison import Comparison, compare
from builder.compare.score import Tolerance
from builder.compare.sketches import estimate_pairs
from builder.diagnosis.blame import walk
from builder.dump.reader import read_dump
from builder.dump.values import Record
from builder.judge.verdict import judge
from builder.match.nodes import match_trees
from builder.match.tree import build_tree
from builder.reasons import ExtremesAgree
from msprobe_core.capture.value_options import ValueOptions
from msprobe_core.torch.record.tensor_files import TensorFiles
from msprobe_core.torch.record.tensors import TensorBook
from tests.builder.dumps import Json, forward, write_dump
from tests.told import facts

FIELDS = set(Record.__struct_fields__)
A, B = "Torch.opa.0.forward", "Torch.opb.0.forward"


def recorded(values: torch.Tensor, **more: object) -> Json:
    files = TensorFiles(Path(), deferred=False)  # nothing is saved
    book = TensorBook(ValueOptions(sketch=True), files, lambda path, e: None)
    with torch.no_grad():
        return {**json.loads(str(book.record(values, "x"))), **more}


def as_record(values: torch.Tensor) -> Record:
    facts = recorded(values)
    return convert({name: facts[name] for name in facts if name in FIELDS}, Record)


def compared(tmp_path: Path, ours: Json, theirs: Json, **head: object) -> Comparison:
    trees = [
        build_tree(read_dump(write_dump(tmp_path / side, data, dict.fromkeys(data), **head)))
        for side, data in (("p", ours), ("b", theirs))
    ]
    return compare(match_trees(*trees), Tolerance())


# Whole numbers: their sums are the same in any order.
X = torch.randint(-99, 99, (40, 50), generator=torch.Generator().manual_seed(1)).float()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_an_estimate_is_near_the_truth(dtype: torch.dtype) -> None:
    ours, theirs = X.flip(0).to(dtype), X.to(dtype)
    estimates = estimate_pairs([as_record(ours)], [as_record(theirs)])
    assert estimates is not None
    truth = ((ours - theirs).double().norm() / theirs.double().norm()).item()
    assert 0.5 < estimates.error[0] / truth < 1.6
    assert abs(estimates.cosine[0]) < 0.8


def test_equal_tensors_have_no_distance_and_scaled_ones_a_cosine_of_one() -> None:
    estimates = estimate_pairs([as_record(X), as_record(X * 1.01)], [as_record(X)] * 2)
    assert estimates is not None
    assert (estimates.error[0], estimates.cosine[0]) == (0.0, 1.0)
    assert estimates.cosine[1] == pytest.approx(1.0, abs=1e-3)


def test_the_norm_is_the_recorded_one_where_nothing_was_left_out() -> None:
    # Eight projections of a tensor may lie far below its norm by chance, those of two as well.
    ours, theirs = (
        replace(as_record(X), sketch=as_record(X * share).sketch) for share in (0.11, 0.1)
    )
    estimates = estimate_pairs([ours], [theirs])
    assert estimates is not None
    assert estimates.error[0] == pytest.approx(0.01, rel=0.6)


@pytest.mark.parametrize("mask", [-torch.inf, torch.finfo(torch.float32).min])
def test_masks_do_not_hide_the_rest(mask: float) -> None:
    ours, theirs = X * 1.5, X.clone()
    ours[:, 25:], theirs[:, 25:] = mask, mask
    estimates = estimate_pairs([as_record(ours)], [as_record(theirs)])
    assert estimates is not None
    assert estimates.error[0] == pytest.approx(0.5, rel=0.5)


def test_integers_in_another_order_differ_exactly() -> None:
    ids = torch.arange(100)
    estimates = estimate_pairs([as_record(ids), as_record(ids.flip(0))], [as_record(ids)] * 2)
    assert estimates is not None
    assert estimates.error[0] == 0.0 and estimates.error[1] > 0.3


def test_what_float32_cannot_resolve_is_no_difference() -> None:
    nearby = X.double() * (1 + 1e-8)
    estimates = estimate_pairs([as_record(nearby)], [as_record(X.double())])
    assert estimates is not None
    assert estimates.error[0] == 0.0


@pytest.mark.parametrize("text", ["", "zz" * 32, "00", "é" * 64])
def test_a_damaged_sketch_is_none(text: str) -> None:
    broken = Record(type="torch.Tensor", dtype="torch.float32", shape=(2,), sketch=text)
    estimates = estimate_pairs([broken], [as_record(X)])
    assert estimates is None or np.isnan(estimates.error[0])


def permuted() -> tuple[Json, Json]:
    other = X[torch.randperm(40, generator=torch.Generator().manual_seed(2))]
    ours = {A: forward([recorded(X)], [recorded(X * 2)]), B: forward([recorded(other * 2)], [])}
    theirs = {A: forward([recorded(X)], [recorded(X * 2)]), B: forward([recorded(X * 2)], [])}
    return ours, theirs


def test_elements_that_were_moved_are_a_finding_in_words(tmp_path: Path) -> None:
    comparison = compared(tmp_path, *permuted(), sketch_version=1)
    assert comparison.distances.unseen.tolist() == [False, False, True]
    (finding,) = walk(comparison).findings
    codes = [facts(reason)["code"] for reason in finding.reasons]
    assert codes == ["elements_moved", "explained", "statistics_agree"]
    assert finding.node.name == B
    (noted,) = judge(comparison)[1].reasons
    assert (facts(noted)["code"], facts(noted)["of"]) == ("elements_differ", "sketch")
    # One number for one fact: the card's, that of the note and that of the table.
    assert facts(noted)["error"] == facts(finding.reasons[1])["apart"] == comparison.scores.error[2]
    assert judge(comparison)[1].verdict == "pass"


@pytest.mark.parametrize("head", [{}, {"sketch_version": 99}])
def test_sketches_of_an_unknown_version_are_not_used(tmp_path: Path, head: Json) -> None:
    comparison = compared(tmp_path, *permuted(), **head)
    assert comparison.elements.estimates is None
    assert walk(comparison).findings == []


@pytest.mark.parametrize("flag", ["unwritten", "fused"])
@pytest.mark.parametrize("is_on_both_sides", [True, False])
def test_values_that_were_not_in_memory_never_differ(
    flag: str, is_on_both_sides: bool, tmp_path: Path
) -> None:
    blank = recorded(X * 3, Max=None, Min=None, Mean=None, Norm=None, **{flag: True})
    other = blank if is_on_both_sides else recorded(X * 2)
    sides = ({A: forward([each], [recorded(X)])} for each in (blank, other))
    comparison = compared(tmp_path, *sides, sketch_version=1)
    assert np.isnan(comparison.scores.error[0]) and np.isnan(comparison.scores.score[0])
    assert walk(comparison).findings == []
    assert flag in [facts(reason)["code"] for reason in judge(comparison)[0].reasons]


@pytest.mark.parametrize(("beta", "reasons"), [(0.0, ["unread"]), (1.0, [])])
def test_what_beta_leaves_out_never_differs(
    tmp_path: Path, beta: float, reasons: list[str]
) -> None:
    def side(value: float) -> Json:
        entry = forward([recorded(X * value), recorded(X)], [recorded(X)])
        entry["input_kwargs"] = {"beta": {"type": "float", "value": beta}}
        return {"Torch.baddbmm.0.forward": entry}

    comparison = compared(tmp_path, side(1.0), side(2.0), sketch_version=1)
    assert bool(walk(comparison).findings) == (not reasons)
    noted = [facts(reason)["code"] for reason in judge(comparison)[0].reasons]
    assert [code for code in noted if code == "unread"] == reasons


def test_of_a_mask_no_statistics_are_said_to_agree_that_it_does_not_have(tmp_path: Path) -> None:
    mask = torch.ones(40, 50).triu(1).bool()

    def side(mask: torch.Tensor, out: torch.Tensor) -> Json:
        return {A: forward([recorded(X), recorded(mask)], [recorded(out)])}

    data = side(mask.flip(0), X * 2), side(mask, X)
    noted = judge(compared(tmp_path, *data, sketch_version=1))[0].reasons
    assert ExtremesAgree("input.1") in noted
