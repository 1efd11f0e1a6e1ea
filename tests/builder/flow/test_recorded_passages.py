"""Our own dumps say who made what a call without values reads: every edge is the true one."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.match.passing_places import place_passing
from tests.builder.flow import followed_models, passing_models, recorded_models
from tests.builder.flow.identity import Identity
from tests.builder.flow.recorded_models import Model, record
from tests.builder.flow.test_passages import Edges, Side, edges_of
from tests.builder.flow.test_true_edges import drawn_between

PASSING = passing_models.MODELS | passing_models.HELD_BACK
OTHERS = followed_models.FOLLOWED | recorded_models.BUILT_WITH | recorded_models.HELD_BACK
ALL = PASSING | {name: one for name, one in OTHERS.items() if one.level != "L0"}


def seen(model: Model, folder: Path) -> tuple[Side, Edges]:
    watch = Identity()
    dump = read_dump(record(model, folder, watch=watch))
    place_passing(dump)
    return edges_of(dump), watch.edges


@pytest.mark.parametrize("name", ALL)
def test_all_edges_are_the_true_ones(name: str, tmp_path: Path) -> None:
    side, true = seen(ALL[name], tmp_path)
    assert drawn_between(side, true) == true != set()
    assert not side.ordered


@pytest.mark.parametrize("name", PASSING)
def test_so_they_are_at_level_l1(name: str, tmp_path: Path) -> None:
    side, true = seen(PASSING[name]._replace(level="L1"), tmp_path)
    assert drawn_between(side, true) == true != set()
    assert not side.ordered
