"""Reasons in files: byte for byte what earlier releases wrote, and an outcome for all others."""

from __future__ import annotations

import json
from math import isnan, nan

import numpy as np
import pytest

from builder.reasons import (
    DefaultDiffers,
    Explained,
    FuzzyGuess,
    NormErrorGrows,
    NotUnderstood,
    Reason,
    UnrecordedDiffers,
    decode,
    encode,
    sentence,
)

# As releases before typed reasons wrote them; the last ones are of releases before these.
STORED = [
    '[{"code": "introduced", "value": "output.0", "score": 0.5, "input_score": 0.0}]',
    '[{"code": "explained", "value": "o", "apart": 0.5, "explained": 0.0, "of": null}]',
    '[{"code": "explained", "value": "o", "apart": 0.5, "explained": 0.1, "of": "max", "at": "n"}]',
    '[{"code": "unrecorded_differs", "value": "input.1", "score": 0.9, "maker": "triu"}]',
    '[{"code": "nonfinite_follows", "maker": "a", "value": "output.0", "state": "NaN"}]',
    '[{"code": "measure", "value": "v", "name": "差", "number": "nan"}, {"code": "heals"}]',
    '[{"code": "norm_error_grows", "value": "output.0", "error": Infinity}]',
    '[{"code": "misplaced", "value": "v", "axis": "cp", "ranks": "0, 1", "coordinates": "cp 0", '
    '"error": 0.5, "order": "zigzag"}]',
    '[{"code": "in_place_of", "names": "Tensor.add.0.forward"}]',
    '[{"code": "statistics_only"}]',
    '[{"code": "explained", "value": "o", "apart": 0.5, "explained": 0.0}]',
]


@pytest.mark.parametrize("text", STORED)
def test_what_releases_wrote_is_understood_and_written_again_byte_for_byte(text: str) -> None:
    reasons = decode(text)
    assert not any(isinstance(reason, NotUnderstood) for reason in reasons)
    assert all(sentence(reason) and sentence(reason, "zh") for reason in reasons)
    assert encode(reasons) == text


def test_a_default_that_stood_by_its_frameworks_names_is_read_as_it_is_now() -> None:
    earlier = {
        "code": "default_differs",
        "what": "GELU's form",
        "mindspore": "tanh",
        "pytorch": "erf",
    }
    reasons = decode(json.dumps([earlier]))
    assert reasons == [DefaultDiffers("GELU's form", "tanh", "MindSpore", "erf", "PyTorch")]
    assert sentence(reasons[0]) == (
        "GELU's form is tanh by default in MindSpore and erf in PyTorch"
    )
    del earlier["pytorch"]
    assert isinstance(decode(json.dumps([earlier]))[0], NotUnderstood)


@pytest.mark.parametrize(
    "facts",
    [
        {"code": "brand_new", "value": "x"},
        {"code": "introduced", "value": "output.0"},
        {"code": "surplus", "value": "output.0", "side": "left"},
        {"value": "x"},
        ["code", "introduced"],
        "introduced",
        None,
    ],
)
def test_what_is_not_understood_says_so_and_the_others_are_read(facts: object) -> None:
    told, other = decode(json.dumps([facts, {"code": "heals"}]))
    assert isinstance(told, NotUnderstood) and not isinstance(other, NotUnderstood)
    assert told.text == json.dumps(facts, ensure_ascii=False)
    assert told.text in sentence(told)


@pytest.mark.parametrize("text", ["{", "{}", "7", '[{"code": "heals"}'])
def test_a_cell_that_is_no_list_is_one_that_says_so(text: str) -> None:
    assert decode(text) == [NotUnderstood(text)]


def test_nothing_is_stored_as_nothing() -> None:
    assert encode([]) is None
    assert decode(None) == decode("") == decode("[]") == []


def test_numbers_of_numpy_and_those_that_are_not_finite_are_kept() -> None:
    stored = encode([NormErrorGrows("v", float(np.float64(nan))), FuzzyGuess("m", np.float64(0.5))])
    grows, guess = decode(stored)
    assert isinstance(grows, NormErrorGrows) and grows.error is not None and isnan(grows.error)
    assert guess == FuzzyGuess("m", 0.5)


def test_what_is_unset_is_not_written() -> None:
    said: list[Reason] = [UnrecordedDiffers("input.1", 0.9), Explained("o", 0.5, 0.0)]
    assert encode(said) == (
        '[{"code": "unrecorded_differs", "value": "input.1", "score": 0.9}, '
        '{"code": "explained", "value": "o", "apart": 0.5, "explained": 0.0}]'
    )
