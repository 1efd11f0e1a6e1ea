"""Findings are proven by intervention, and a second fault is told from a proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.zoo.confirming import PROVEN, SECOND, confirmed


@pytest.mark.parametrize(("architecture", "name"), [PROVEN[0], PROVEN[2], PROVEN[3]])
def test_a_finding_is_proven(architecture: str, name: str, tmp_path: Path) -> None:
    _, proof = confirmed(architecture, (name,), tmp_path)
    assert proof.is_proven, proof
    assert (proof.behind, proof.remain, proof.next_finding) == (proof.agree, 0, None)


def test_a_second_fault_is_said(tmp_path: Path) -> None:
    architecture, one, other = SECOND[1]
    found, proof = confirmed(architecture, (one, other), tmp_path)
    assert proof.remain > 0 and proof.next_finding not in (None, found)


def test_as_many_are_listed_as_the_target_says() -> None:
    assert len(set(PROVEN)) == 10 and len(set(SECOND)) == 3
