"""What calls without a partner hand on is the same for a window of rows and for a whole pair."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from builder.results import handed_on
from builder.results.database import ResultDatabase


def test_asked_one_by_one_or_all_at_once(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = samples / "statistics/problem", samples / "statistics/bench"
    made = builder.build(*sides, tmp_path / "out", builder.BuildOptions(workers=1))
    database = ResultDatabase(made.path)
    places = [(pair.step, pair.rank) for pair in database.summary().pairs]
    nodes = [
        int(id_)
        for place in places
        for side in database.side_nodes(*place)
        for id_ in side.id[side.match < 0]
    ]
    apart = {node: one for node in nodes for one in database.handed_on([node]).values()}
    assert len(apart) > 1
    assert database.handed_on(nodes) == apart
    monkeypatch.setattr(handed_on, "MOST_PARAMETERS", 1)
    assert database.handed_on(nodes) == apart
    without = [node for node in nodes if node != next(iter(apart))]
    assert next(iter(apart)) not in database.handed_on(without)
    database.close()
