"""docs/diagnosis-by-scores.md explains every rule in its order, with pictures that exist."""

from __future__ import annotations

import re
from pathlib import Path

from builder.diagnosis.policies.by_excess import excess_rules
from builder.diagnosis.policies.by_excess.excess_rules import RULES_FOR_EDGES, RULES_FOR_MODULES
from builder.diagnosis.policies.by_scores.score_rules import RULES_FOR_INPUTS, RULES_FOR_OUTPUTS
from builder.operators.table import TABLE

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "diagnosis-by-scores.md").read_text(encoding="utf-8")
REGISTRY_PAGE = (DOCS / "internals" / "diagnosis-rules.md").read_text(encoding="utf-8")


def test_rules_stand_in_their_order_with_what_they_say() -> None:
    named = re.findall(r"^### \d+\. `(\w+)`$", PAGE, flags=re.MULTILINE)
    rules = [*RULES_FOR_INPUTS, *RULES_FOR_OUTPUTS]
    assert named == [rule.__name__ for rule in rules]
    for rule in rules:
        assert rule.__doc__ is not None and rule.__doc__ in PAGE


def test_rules_of_excess_stand_in_their_order_with_what_they_say() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (.+) \|$", REGISTRY_PAGE.partition("## The registry")[0], re.M
    )
    rules = [*RULES_FOR_EDGES, *RULES_FOR_MODULES, *excess_rules.RULES_FOR_OUTPUTS]
    assert rows == [(rule.__name__, " ".join((rule.__doc__ or "").split())) for rule in rules]


def test_every_rule_has_a_picture_that_is_shown() -> None:
    shown = set(re.findall(r"\(pictures/rules/(\w+)\.svg\)", PAGE))
    assert shown == {file.stem for file in (DOCS / "pictures" / "rules").glob("*.svg")}
    assert shown == {rule.__name__ for rule in (*RULES_FOR_INPUTS, *RULES_FOR_OUTPUTS)}


def test_the_registry_stands_on_the_page() -> None:
    """Every family of the registry has a line of the table."""
    named = set(re.findall(r"`(\w+)`", REGISTRY_PAGE))
    of_families: dict[object, list[str]] = {row.gain: [] for row in TABLE.values() if row.gain}
    for call, row in TABLE.items():
        if row.gain is not None:
            of_families[row.gain].append(call)
    for calls in of_families.values():
        assert named & set(calls) or any("conv" in call for call in calls), calls
