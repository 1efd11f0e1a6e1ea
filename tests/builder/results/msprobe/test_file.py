"""msprobe's own result files on the disk: pairs are read when asked for, and a few are kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.errors import DatabaseError
from builder.results.msprobe.file import MOST_PAIRS_OPEN, SOURCES, MsprobeFile
from builder.results.msprobe.graph import MsprobePair
from builder.results.msprobe.queries import MsprobeDatabase

Place = tuple[int, int]


@pytest.fixture
def file(samples: Path) -> Path:
    return samples / "vis-db" / "ranks.vis.db"


@pytest.fixture
def stored(file: Path) -> Iterator[MsprobeFile]:
    opened = MsprobeFile(file)
    yield opened
    opened.close()


def reads_of(stored: MsprobeFile, monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """The step and rank of each pair that is read from now on."""
    read: list[Place] = []
    really = stored._read

    def noted(step: int, rank: int) -> MsprobePair:
        read.append((step, rank))
        return really(step, rank)

    monkeypatch.setattr(stored, "_read", noted)
    return read


def test_node_elsewhere_is_found_without_reading_the_pairs(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = MsprobeDatabase(file)
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    (own,) = connection.execute(
        "SELECT rowid FROM tb_nodes WHERE step = 1 AND rank = 1 AND data_source = 'NPU' "
        "AND node_type = '1' LIMIT 1"
    ).fetchone()
    connection.close()
    read = reads_of(database._stored, monkeypatch)
    cells = database.across(own).cells
    assert len(cells) == 4
    assert read == [(1, 1)]
    for cell in cells:
        assert cell.node is not None
        node = database.node(cell.node)
        assert (cell.score, cell.verdict, cell.overflow) == (
            node.score,
            node.verdict,
            node.overflow,
        )
    database.close()


def test_a_pair_that_is_open_is_not_read_again(
    stored: MsprobeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = reads_of(stored, monkeypatch)
    pair = stored.load(1, 0)
    assert stored.load(1, 0) is pair
    assert stored.pair_of(next(iter(pair.nodes))) is pair
    assert (pair.step, pair.rank) == (1, 0)
    assert read == [(1, 0)]


def test_the_pair_that_was_asked_for_longest_ago_is_let_go(
    stored: MsprobeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.results.msprobe.file.MOST_PAIRS_OPEN", MOST_PAIRS_OPEN - 2)
    read = reads_of(stored, monkeypatch)
    for place in [(0, 0), (0, 1), (0, 0), (1, 0), (0, 0), (0, 1)]:
        stored.load(*place)
    assert read == [(0, 0), (0, 1), (1, 0), (0, 1)]


def test_graphs_go_by_ids_of_their_own(stored: MsprobeFile) -> None:
    ids = [stored.graph_id(*place, side) for place in stored.counts for side in SOURCES]
    assert ids == list(range(1, 9))


def test_a_pair_that_is_too_large_is_refused_with_a_way_out(
    stored: MsprobeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.results.msprobe.file._MOST_NODES", 10)
    with pytest.raises(DatabaseError, match="more than 10 nodes in step 0 rank 1") as caught:
        stored.load(0, 1)
    assert "graph_visualize" in str(caught.value.hint)


def test_a_file_without_its_facts_is_named(file: Path, tmp_path: Path) -> None:
    emptied = tmp_path / "emptied.vis.db"
    emptied.write_bytes(file.read_bytes())
    connection = sqlite3.connect(emptied)
    connection.execute("DELETE FROM tb_config")
    connection.commit()
    connection.close()
    stored = MsprobeFile(emptied)
    with pytest.raises(DatabaseError, match=r"emptied\.vis\.db: its table tb_config is empty"):
        _ = stored.config
    stored.close()


def test_a_pair_that_was_let_go_still_tells_its_way_back(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.results.msprobe.file.MOST_PAIRS_OPEN", 1)
    database = MsprobeDatabase(file)
    find = MsprobeFile.pair_of

    def find_then_others_read(stored: MsprobeFile, id_: int) -> MsprobePair:
        pair = find(stored, id_)
        for place in stored.counts:
            stored.load(*place)
        return pair

    monkeypatch.setattr(MsprobeFile, "pair_of", find_then_others_read)
    root = database.pair(0, 0).problem
    assert root is not None
    way = database.own_way(root.root.id)
    assert (way.step, way.rank) == (0, 0)
    database.close()
