"""What sentences make of their numbers."""

from __future__ import annotations

import pytest

from builder.reasons import percent, sentence


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0.0%"),
        (0.5, "50.0%"),
        (0.001, "0.1%"),
        (8.2e-5, "0.0082%"),
        (40.0, "4000%"),
        (3.06e9, "3.1e+11%"),
    ],
)
def test_a_share_is_neither_rounded_away_nor_thirteen_digits_long(share: float, shown: str) -> None:
    assert percent(share) == shown
    reason = {"code": "explained", "value": "output.0", "apart": share, "explained": 0.0}
    assert sentence(reason).startswith(f"output.0 is {shown} off")
