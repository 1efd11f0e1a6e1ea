"""The table of certainty counts what the oracle says of each finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.findings_diff.calibration import PROMISED, shares, table, tally_of
from evaluation.findings_diff.pairs import RecordedPair
from tests.right_answers import among


def finding(name: str, word: str, basis: str, *, heals: bool = False) -> dict[str, Any]:
    certainty = {"word": word, "basis": basis, "behind": False}
    plain = {"step": 0, "rank": 0, "reasons": ["differs"], "places": [], "heals": heals}
    return {**plain, "node": name, "certainty": certainty}


def test_findings_are_counted_by_word_and_oracle() -> None:
    faulty = RecordedPair("faulty", Path(), Path(), (among([(0, "a")]),))
    sound = RecordedPair("sound", Path(), Path(), ())
    said = {
        "faulty": {
            "findings": [
                finding("a", "certain", "measured"),
                finding("b", "likely", "guessed"),
                finding("c", "certain", "estimated", heals=True),
            ]
        },
        "sound": {"findings": [finding("a", "possible", "scores")]},
    }
    tally = tally_of([faulty, sound], said)
    assert shares(tally) == {"certain": 1.0, "likely": 0.0, "possible": 0.0}
    assert shares(tally)["likely"] < PROMISED["likely"]
    assert list(table(tally))[2:] == [
        "| certain | 1 | 0 | 100.0 % | 1/1, 0/0, 0/0, 0/0, 0/0 |",
        "| likely | 0 | 1 | 0.0 % | 0/0, 0/0, 0/0, 0/0, 0/1 |",
        "| possible | 0 | 1 | 0.0 % | 0/0, 0/0, 0/0, 0/1, 0/0 |",
    ]
