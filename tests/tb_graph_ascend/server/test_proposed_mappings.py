"""Proposed pairs are mapped all at once: measured together, and in rounds until nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.event import listen, remove

from builder import BuildOptions, build
from builder.match.manual_file import MappedPair, write_mapping
from builder.results.database import ResultDatabase
from tb_graph_ascend.server.messages import Proposal
from tb_graph_ascend.server.overlay import lay_over
from tb_graph_ascend.server.proposals import propose
from tb_graph_ascend.view.module_path import shared_modules_of
from tests.builder.dumps import backward, forward, tensor, write_dump
from tests.tb_graph_ascend.conftest import Site
from tests.tb_graph_ascend.view.ports import LAYERS, port


@pytest.fixture
def ported(samples: Path, tmp_path: Path, site_of: Callable[..., Site]) -> Site:
    """A port: its layers, embedding and MLPs have other names, and one call too many is in it."""
    dump = port(samples / "statistics" / "problem", tmp_path / "port", LAYERS)
    return site_of(str(dump), "statistics/bench")


def test_all_that_is_proposed_is_mapped_at_once_and_taken_back_at_once(ported: Site) -> None:
    before = ported.get("/answer")
    assert (before["certain"], before["causes"]) == (False, [])
    proposed = ported.get("/pairs/0/0/proposals")["proposals"]
    assert ["h.N", "layers.N"] in [one["names"] for one in proposed]
    layers = next(one for one in proposed if one["names"] == ["h.N", "layers.N"])
    assert layers["places"] == len(layers["pairs"]) == 2
    result = ported.send("POST", "/pairs/0/0/proposals", {})
    assert len(result["added"]) == sum(one["places"] for one in proposed)
    assert ported.get("/pairs/0/0/proposals")["proposals"] == []
    after = ported.get("/answer")
    assert after["certain"]
    assert after["coverage"]["share"] > 0.9
    # The call too many has no partner; what it feeds is the first that differs.
    assert after["since"]["module"] == "h.1.ffn.fc2"
    assert after["since"]["node"]["score"] > 0.5
    undone = ported.send("PATCH", "/mappings", {"remove": result["added"]})
    assert undone["mappings"]["pairs"] == []
    assert ported.get("/answer") == before


def test_folds_are_paired_in_order(
    samples: Path, tmp_path: Path, site_of: Callable[..., Site]
) -> None:
    # Layers that are alike fold into one row; with the call too many they would not.
    dump = port(samples / "statistics" / "bench", tmp_path / "port", LAYERS)
    ported = site_of(str(dump), "statistics/bench")
    ours = ported.named("Module.h.0.Block.forward.0")
    theirs = ported.named("Module.layers.0.Block.forward.0", "benchmark")
    wanted = {"problem": ours["id"], "benchmark": theirs["id"], "folds": True, "everywhere": True}
    result = ported.send("POST", "/mappings", wanted)
    assert [(pair["problem"], pair["benchmark"]) for pair in result["added"]] == [
        (f"Module.h.{n}.Block.forward.0", f"Module.layers.{n}.Block.forward.0") for n in (0, 1)
    ]


def test_mapping_reads_the_values_of_all_pairs_together(ported: Site) -> None:
    asked: list[str] = []

    def count(*event: Any) -> None:
        asked.append(event[2])

    listen(Engine, "before_cursor_execute", count)
    try:
        result = ported.send("POST", "/pairs/0/0/proposals", {})
    finally:
        remove(Engine, "before_cursor_execute", count)
    mapped = sum(node["match_reason"] == "manual" for node in result["nodes"])
    assert mapped > 80
    assert len(asked) < mapped


def test_what_is_proposed_only_after_others_are_mapped_is_mapped_too(
    ported: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_at_once = propose(ResultDatabase(ported.file), 0, 0)

    def one_each(*asked: Any) -> list[Proposal]:
        return propose(*asked)[:1]

    monkeypatch.setattr("tb_graph_ascend.server.mappings.propose", one_each)
    monkeypatch.setattr("tb_graph_ascend.server.mappings._MOST_ROUNDS", 2)
    result = ported.send("POST", "/pairs/0/0/proposals", {})
    first = all_at_once[0].places
    assert len(result["added"]) > first


def dump_of(folder: Path, module: str, calls: list[tuple[str, bool]]) -> Path:
    """A module with equal calls: each by the line that makes it, and whether it passes back."""
    top = f"Module.{module}.Block.forward.0"
    data: dict[str, object] = {top: forward([tensor()], [tensor()])}
    construct: dict[str, object] = {top: None}
    stack: dict[str, object] = {}
    for n, (line, passes_back) in enumerate(calls):
        name = f"Torch.cat.{n}.forward"
        data[name] = forward([tensor()], [tensor()])
        construct[name] = top
        stack[f"s{n}"] = [[name], [f"File /job/model.py, line {n + 7}, in forward, \n {line}"]]
        if passes_back:
            data[f"Torch.cat.{n}.backward"] = backward([tensor()], [tensor()])
            construct[f"Torch.cat.{n}.backward"] = None
    return write_dump(folder, data, construct, stack)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([("z = cat(x)", False), ("y = cat(x)", False)], [("y = cat(x)", False)]),
        ([("y = cat(x)", False), ("y = cat(x)", True)], [("y = cat(x)", True)]),
        ([("y = cat(x)", True), ("y = cat(x)", False)], [("y = cat(x)", True)]),
    ],
)
def test_what_is_mapped_pairs_inside_as_a_build_with_the_pair_does(
    ours: list[tuple[str, bool]], theirs: list[tuple[str, bool]], tmp_path: Path
) -> None:
    dumps = dump_of(tmp_path / "p", "one", ours), dump_of(tmp_path / "b", "other", theirs)
    pairs = [MappedPair("Module.one.Block.forward.0", "Module.other.Block.forward.0", True)]
    written = tmp_path / "x.mapping.json"
    write_mapping(written, pairs)
    file = build(*dumps, tmp_path / "plain", BuildOptions(workers=1)).path
    options = BuildOptions(workers=1, manual_mapping=written)
    rebuilt = ResultDatabase(build(*dumps, tmp_path / "mapped", options).path)
    plain = ResultDatabase(file)
    laid_over = plain.with_patches(lay_over(plain, pairs).patches)
    assert partners(laid_over) == partners(rebuilt)
    assert any(partners(rebuilt)[f"Torch.cat.{n}.forward"] for n in range(len(ours)))


def partners(database: ResultDatabase) -> dict[str, str | None]:
    """By the name of each call of the problem's that of its partner."""
    ours, theirs = (side.patched(database.patches.nodes) for side in database.side_nodes(0, 0))
    names = dict(zip(theirs.id.tolist(), theirs.names, strict=True))
    matches = zip(ours.names, ours.match.tolist(), strict=True)
    return {name: names.get(match) for name, match in matches if "cat" in name}


def test_what_the_benchmark_alone_calls_stands_in_the_module_as_the_problem_names_it(
    tmp_path: Path,
) -> None:
    calls = [("y = cat(x)", False)]
    ours, theirs = (
        dump_of(tmp_path / "p", "one", calls),
        dump_of(tmp_path / "b", "other", 2 * calls),
    )
    written = tmp_path / "x.mapping.json"
    pairs = [MappedPair("Module.one.Block.forward.0", "Module.other.Block.forward.0", True)]
    write_mapping(written, pairs)
    options = BuildOptions(workers=1, manual_mapping=written)
    database = ResultDatabase(build(ours, theirs, tmp_path / "out", options).path)
    side = database.side_nodes(0, 0)[1]
    nodes = database.nodes_by_id(side.id.tolist())
    named = shared_modules_of(database, nodes)
    found = {node.name: named.get(node.id) for node in nodes if node.kind != "root"}
    (alone,) = (n.name for n in nodes if "cat" in n.name and n.match is None)
    assert found == dict.fromkeys(found, "one") | {"Module.other.Block.forward.0": "other"}
    assert alone in found
