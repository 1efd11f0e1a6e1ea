"""Links between ranks: the samples' real calls, and ranks that do not fit together."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import builder
from builder import BuildOptions
from builder.diagnosis.communication import Message, link
from tests.told import facts


def collective(node: int, api: str, group: tuple[int, ...] | None = None) -> Message:
    return Message(node, f"Distributed.{api}.0.forward", (0, node), "collective", api, group, None)


def p2p(node: int, kind: str, peer: int) -> Message:
    assert kind in ("send", "recv")
    way = "send" if kind == "send" else "recv"
    return Message(node, f"Distributed.{kind}.0.forward", (0, node), way, kind, None, peer)


def test_collectives_are_numbered_per_group() -> None:
    ranks = {
        0: [collective(1, "all_reduce", (0, 1)), collective(2, "all_reduce", (0, 2))],
        1: [collective(3, "all_reduce", (0, 1))],
        2: [collective(4, "all_reduce", (0, 2))],
    }
    links, discords = link(ranks)
    assert {(found.node, found.peer_rank, found.peer_node) for found in links} == {
        (1, 1, 3),
        (3, 0, 1),
        (2, 2, 4),
        (4, 0, 2),
    }
    assert discords == []


def test_a_send_finds_its_receive_by_order() -> None:
    ranks = {
        0: [p2p(1, "send", 1), p2p(2, "send", 1)],
        1: [p2p(3, "recv", 0), p2p(4, "recv", 0)],
    }
    links, discords = link(ranks)
    assert {(found.node, found.peer_node) for found in links} == {(1, 3), (2, 4), (3, 1), (4, 2)}
    assert discords == []


def test_a_missing_partner_is_told() -> None:
    links, discords = link({0: [p2p(1, "send", 1)], 1: []})
    assert [(found.peer_rank, found.peer_node) for found in links] == [(1, None)]
    assert facts(discords[0].reason) == {"code": "partner_missing", "kind": "send", "peer_rank": 1}


def test_ranks_that_were_not_dumped_are_no_missing_partners() -> None:
    assert link({0: [p2p(1, "send", 5), collective(2, "all_reduce", (0, 5))]}) == ([], [])


def test_another_order_of_collectives_is_told_once() -> None:
    ranks = {
        0: [collective(1, "all_reduce"), collective(2, "broadcast")],
        1: [collective(3, "broadcast"), collective(4, "all_reduce")],
    }
    _, discords = link(ranks)
    assert [(found.rank, facts(found.reason)["code"]) for found in discords] == [
        (0, "collective_order"),
        (1, "collective_order"),
    ]


def links_of(path: Path) -> set[tuple[object, ...]]:
    query = """
        SELECT graph.rank, node.name, communication.peer_rank, peer.name, communication.kind
        FROM communication JOIN node ON node.id = communication.node
        JOIN graph ON graph.id = node.graph LEFT JOIN node peer ON peer.id = communication.peer_node
    """
    with sqlite3.connect(path) as connection:
        found = set(connection.execute(query).fetchall())
    connection.close()
    return found


def test_every_call_of_the_samples_finds_its_partner(samples: Path, tmp_path: Path) -> None:
    for sample in ("communication/bench", "ranks/problem/step0"):
        result = builder.build(samples / sample, None, tmp_path, BuildOptions(workers=1))
        links = links_of(result.path)
        assert links
        assert all(peer is not None for _, _, _, peer, _ in links)
        assert (0, "Distributed.send.0.forward", 1, "Distributed.recv.0.forward", "send") in links
        assert result.findings == ()


def test_a_lost_receive_is_a_finding(samples: Path, tmp_path: Path) -> None:
    import json
    import shutil

    ours = tmp_path / "p"
    shutil.copytree(samples / "communication" / "bench", ours)
    file = ours / "step0" / "rank1" / "dump.json"
    content = json.loads(file.read_text())
    del content["data"]["Distributed.recv.0.forward"]
    file.chmod(0o644)
    file.write_text(json.dumps(content))
    construct = file.with_name("construct.json")
    kept = json.loads(construct.read_text())
    del kept["Distributed.recv.0.forward"]
    construct.chmod(0o644)
    construct.write_text(json.dumps(kept))
    result = builder.build(ours, samples / "communication" / "bench", tmp_path / "o")
    assert result.findings[0].name == "Distributed.send.0.forward"
    assert result.findings[0].kind == "communication"
    assert (result.findings[0].step, result.findings[0].rank) == (0, 0)
