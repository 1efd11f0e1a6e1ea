"""The word of a finding follows from its evidence, and every word has its sentence."""

from __future__ import annotations

from string import Formatter
from typing import Literal, get_args

import pytest

from builder.finding_certainty import (
    CERTAINTY_WORDS,
    Basis,
    Certainty,
    CertaintyWord,
    basis_of,
    certainty_of,
    certainty_told,
)
from builder.reasons import (
    ArgumentDiffers,
    Drift,
    Explained,
    ExtraCalls,
    Heals,
    Introduced,
    Reason,
    Rewritten,
    UnrecordedDiffers,
)

INTRODUCED = Introduced("output.0", 0.5, 0.0)
ARGUMENT = ArgumentDiffers("input.1", "1", "2")
UNRECORDED = UnrecordedDiffers("input.1", 0.9)


def explained(of: str | None) -> Reason:
    return Explained("output.0", 0.5, 0.0, of)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reasons", "by_scores", "basis"),
    [
        ([INTRODUCED, explained("elements")], False, "measured"),
        ([INTRODUCED, explained(None)], False, "measured"),  # a single number
        ([INTRODUCED, explained("sketch")], False, "estimated"),
        ([INTRODUCED, explained("norm")], False, "estimated"),
        ([ExtraCalls("a")], False, "called"),
        ([ARGUMENT, explained("elements")], False, "called"),
        ([INTRODUCED], True, "scores"),
        ([ARGUMENT], True, "scores"),
        ([UNRECORDED, explained("elements")], False, "guessed"),
        ([UNRECORDED], True, "guessed"),
        ([Rewritten(0)], True, "measured"),
    ],
)
def test_a_finding_rests_on_what_its_reasons_tell(
    reasons: list[Reason], by_scores: bool, basis: Basis
) -> None:
    assert basis_of(reasons, by_scores=by_scores) == basis


def test_a_node_that_was_matched_by_likeness_is_a_guess() -> None:
    said = [INTRODUCED, explained("elements")]
    assert basis_of(said, by_scores=False, is_guess=True) == "guessed"


@pytest.mark.parametrize("across", ["edges", "paired_calls"])
def test_two_programs_are_compared_at_edges_or_at_calls(
    across: Literal["edges", "paired_calls"],
) -> None:
    said = [INTRODUCED, explained("elements")]
    assert basis_of(said, by_scores=False, across=across) == across
    assert certainty_of(said, across, behind=False).word == "likely"


@pytest.mark.parametrize(
    ("first", "basis", "behind", "word"),
    [
        (INTRODUCED, "measured", False, "certain"),
        (INTRODUCED, "estimated", False, "certain"),
        (ARGUMENT, "called", True, "likely"),
        (INTRODUCED, "measured", True, "possible"),
        (ARGUMENT, "scores", False, "likely"),
        (INTRODUCED, "scores", False, "possible"),
        (Drift("output.0", 0.5), "scores", False, "possible"),
        (ARGUMENT, "scores", True, "possible"),
        (UNRECORDED, "guessed", False, "likely"),
        (UNRECORDED, "guessed", True, "possible"),
    ],
)
def test_the_word_follows_from_the_evidence(
    first: Reason, basis: Basis, behind: bool, word: CertaintyWord
) -> None:
    assert certainty_of([first], basis, behind=behind) == Certainty(word, basis, behind)


def test_what_heals_is_as_sure_wherever_it_stands() -> None:
    said = [certainty_of([ARGUMENT, Heals()], "called", behind=behind) for behind in (False, True)]
    assert said == [Certainty("certain", "healed", behind=False)] * 2


def test_no_evidence_makes_a_finding_behind_another_surer() -> None:
    order = get_args(CertaintyWord)
    for basis in get_args(Basis):
        for first in (INTRODUCED, ARGUMENT, UNRECORDED):
            alone, behind = (
                certainty_of([first], basis, behind=behind).word for behind in (False, True)
            )
            assert order.index(alone) < order.index(behind) or behind == "possible"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_certainty_is_told(language: str) -> None:
    told = {
        certainty_told(Certainty(word, basis, behind), language)  # type: ignore[arg-type]
        for word in get_args(CertaintyWord)
        for basis in get_args(Basis)
        for behind in (False, True)
    }
    assert len(told) == len(get_args(CertaintyWord)) * len(get_args(Basis)) * 2
    assert not any("{" in text for text in told)
    assert certainty_told(None, language) not in told  # type: ignore[arg-type]


def test_words_hold_the_same_in_both_languages() -> None:
    for english, chinese in CERTAINTY_WORDS.values():
        held = [{name for _, name, _, _ in Formatter().parse(text)} for text in (english, chinese)]
        assert held[0] == held[1]
