"""The last lines of a build say no beginning where both runs come to one result."""

from __future__ import annotations

from pathlib import Path

from msprobe.cli.build_summary import beginning
from tests.builder.diagnosis.test_healing import compared, scaled_before, scaled_behind


def test_what_heals_begins_nowhere_and_a_fault_beside_it_does(tmp_path: Path) -> None:
    sound = compared(tmp_path / "sound", scaled_before, scaled_behind)
    said = beginning(sound.findings, sound.outcomes, sound.claim)
    assert said.startswith("nowhere; both runs come to the same result")
    wrong = compared(tmp_path / "wrong", scaled_before, scaled_behind, scale=1.5)
    assert not beginning(wrong.findings, wrong.outcomes, wrong.claim).startswith("nowhere")
