"""What means the same in another form is no finding, and what is one has to stand out."""

from __future__ import annotations

from pathlib import Path

from tests.builder.diagnosis.small_runs import A, B, C, Entries, findings, names
from tests.builder.dumps import forward, tensor

PADDED = {"shape": [4, 4]}


def padding(put_out: float, **own: object) -> Entries:
    """A convolution, or a padding and a convolution that reads what it made."""
    read = tensor(4.0, **PADDED) if own else tensor(3.0)
    return {A: forward([tensor(1)], [tensor(3)]), **own, B: forward([read], [tensor(put_out)])}


def test_the_same_computed_from_another_form_is_no_finding(tmp_path: Path) -> None:
    pad = {"Functional.pad.0.forward": forward([tensor(3)], [tensor(4.0, **PADDED)])}
    assert findings(tmp_path, padding(5.0, **pad), padding(5.0)) == []


def test_another_form_with_another_result_is_one(tmp_path: Path) -> None:
    pad = {"Functional.pad.0.forward": forward([tensor(3)], [tensor(4.0, **PADDED)])}
    found = findings(tmp_path, padding(6.0, **pad), padding(5.0))
    assert names(found) == ["Functional.pad.0.forward"]


def test_a_mask_of_numbers_for_one_of_booleans_is_no_precision(tmp_path: Path) -> None:
    def entries(mask: object, put_out: float) -> Entries:
        return {
            A: forward([tensor(1), mask], [tensor(put_out)]),
            C: forward([tensor(9)], [tensor(9)]),
        }

    added = tensor(2.0, Max=0.0, Min=-1e10)
    kept = tensor(2.0, dtype="torch.bool", Max=True, Min=False, Mean=None, Norm=None)
    assert findings(tmp_path, entries(added, 3), entries(kept, 3)) == []
    (found,) = findings(tmp_path, entries(added, 4), entries(kept, 3))
    assert found.kind != "precision"


def test_an_input_of_unknown_origin_has_to_stand_out(tmp_path: Path) -> None:
    """What moves where nothing is recorded is off by as much as what was put out just before."""

    def entries(off: float, read: float) -> Entries:
        half = {"dtype": "torch.bfloat16"}
        return {
            A: forward([tensor(1, **half)], [tensor(3 + 3 * off, **half)]),
            B: forward([tensor(5 + 5 * read, **half)], [tensor(5 + 5 * read, **half)]),
        }

    equal = entries(0.0, 0.0)
    assert findings(tmp_path, entries(0.07, 0.13), equal) == []
    assert names(findings(tmp_path, entries(0.0, 0.13), equal)) == [B]
