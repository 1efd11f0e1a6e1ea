"""docs/diagnosis.md explains every rule in its order, with pictures that exist."""

from __future__ import annotations

import re
from pathlib import Path

from builder.diagnosis.rules import RULES_FOR_INPUTS, RULES_FOR_OUTPUTS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "diagnosis.md").read_text(encoding="utf-8")


def test_rules_stand_in_their_order_with_what_they_say() -> None:
    named = re.findall(r"^### \d+\. `(\w+)`$", PAGE, flags=re.MULTILINE)
    rules = [*RULES_FOR_INPUTS, *RULES_FOR_OUTPUTS]
    assert named == [rule.__name__ for rule in rules]
    for rule in rules:
        assert rule.__doc__ is not None and rule.__doc__ in PAGE


def test_every_rule_has_a_picture_that_is_shown() -> None:
    shown = set(re.findall(r"\(pictures/rules/(\w+)\.svg\)", PAGE))
    assert shown == {file.stem for file in (DOCS / "pictures" / "rules").glob("*.svg")}
    assert shown == {rule.__name__ for rule in (*RULES_FOR_INPUTS, *RULES_FOR_OUTPUTS)}
