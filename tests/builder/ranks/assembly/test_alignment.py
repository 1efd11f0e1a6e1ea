"""Which calls of a rank are whose, and what is around them."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import Dump
from builder.dump.values import Values
from builder.ranks.assembly.alignment import calls_of
from builder.ranks.layout.coordinates import Place, RunLayout
from builder.ranks.layout.names import LogicalNames


def _dump(parents: dict[str, str | None]) -> Dump:
    ranges = dict.fromkeys(parents, (0, 0))
    return Dump(Path("d"), "statistics", "mix", "pytorch", Values(), ranges, parents, {}, {}, [])


def test_a_gradient_outside_a_module_that_closed_early_belongs_to_it() -> None:
    module = "Module.embedding.Embedding"
    parents = {
        "Functional.embedding.0.forward": f"{module}.forward.0",
        f"{module}.forward.0": None,
        f"{module}.backward.0": None,  # tokens need no gradient: its hook fires at once
        "Functional.embedding.0.backward": None,
        "Functional.relu.0.forward": None,
        "Functional.relu.0.backward": None,
    }
    place = Place(0, {})
    names = LogicalNames(place, RunLayout({}, {0: place}), {})
    around = {call.name: call.parent for call in calls_of(_dump(parents), names, 0, 1)}
    assert around["Functional.embedding.0.backward"] == f"{module}.backward.0"
    assert around["Functional.relu.0.backward"] is None
