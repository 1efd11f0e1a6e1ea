"""Manual mapping: measured by the builder's code, saved beside the database, or refused why."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builder.match import manual_file
from builder.match.manual_file import MappedPair, mapping_path, read_mapping, write_mapping
from msprobe_core.format.file_lock import LockedError, locked
from tb_graph_ascend.server import manual_pairs
from tests.tb_graph_ascend.conftest import Site

OURS = "Module.layers.0.ffn.MLP.forward.0"
THEIRS = "Module.layers.0.mlp.MLP.forward.0"


def pair_of(site: Site, descendants: bool = False) -> dict[str, Any]:
    ours, theirs = site.named(OURS), site.named(THEIRS, "benchmark")
    assert ours["match"] is theirs["match"] is None
    return {"problem": ours["id"], "benchmark": theirs["id"], "descendants": descendants}


def test_mapped_pair_is_measured_like_a_matched_one(renamed: Site) -> None:
    wanted = pair_of(renamed)
    result = renamed.send("POST", "/mappings", wanted)
    assert result["refused"] == []
    node = renamed.named(OURS)
    assert node in result["nodes"]
    assert (node["match"], node["match_reason"]) == (wanted["benchmark"], "manual")
    assert (node["score"], node["verdict"]) == (0.0, "pass")
    partner = renamed.named(THEIRS, "benchmark")
    assert (partner["match"], partner["match_reason"]) == (node["id"], "manual")
    output = renamed.get(f"/nodes/{node['id']}")["values"][-1]
    assert output["measures"]["Norm diff"] == 0.0
    assert output["benchmark"] is not None


def test_pair_is_saved_beside_the_database_and_survives(renamed: Site) -> None:
    before = renamed.file.read_bytes()
    result = renamed.send("POST", "/mappings", pair_of(renamed))
    assert result["mappings"]["saved"] is True
    assert result["mappings"]["file"] == "result.mapping.json"
    (pair,) = read_mapping(mapping_path(renamed.file))
    assert (pair.problem, pair.benchmark, pair.step, pair.rank) == (OURS, THEIRS, 0, 0)
    assert renamed.get("/mappings")["pairs"] == result["mappings"]["pairs"]
    assert renamed.file.read_bytes() == before
    assert [p.name for p in renamed.file.parent.iterdir()].count("result.mapping.json") == 1
    assert len(list(renamed.file.parent.iterdir())) == 2


def test_pair_for_everywhere_names_no_step_and_no_rank(renamed: Site) -> None:
    result = renamed.send("POST", "/mappings", pair_of(renamed) | {"everywhere": True})
    (pair,) = result["mappings"]["pairs"]
    assert (pair["step"], pair["rank"]) == (None, None)
    assert renamed.named(OURS)["match_reason"] == "manual"
    taken = renamed.send("DELETE", "/mappings", {"problem": renamed.named(OURS)["id"]})
    assert taken["mappings"]["pairs"] == []


def test_click_order_does_not_matter(renamed: Site) -> None:
    wanted = pair_of(renamed)
    swapped = {"problem": wanted["benchmark"], "benchmark": wanted["problem"]}
    result = renamed.send("POST", "/mappings", swapped)
    assert result["mappings"]["pairs"][0]["problem"] == OURS


def test_descendants_are_mapped_with_their_module(renamed: Site) -> None:
    before = renamed.get("")["pairs"][0]
    result = renamed.send("POST", "/mappings", pair_of(renamed, descendants=True))
    changed = {node["name"] for node in result["nodes"] if node["side"] == "problem"}
    assert "Module.layers.0.ffn.linear_fc1.Linear.forward.0" in changed
    assert len(changed) > 3
    after = renamed.get("")["pairs"][0]
    mapped = [n for n in result["nodes"] if n["match_reason"] == "manual"]
    assert after["matched"] - before["matched"] == len(mapped) / 2
    assert after["unmatched_benchmark"] < before["unmatched_benchmark"]


def test_backward_and_gradients_go_with_their_forward(renamed: Site) -> None:
    name = "Module.layers.0.{}.linear_fc1.Linear.{}.0"
    ours = renamed.named(name.format("ffn", "forward"))
    theirs = renamed.named("Module.layers.0.mlp.fc1.Linear.forward.0", "benchmark")
    renamed.send("POST", "/mappings", {"problem": ours["id"], "benchmark": theirs["id"]})
    for part in ("backward", "parameters_grad"):
        node = renamed.named(name.format("ffn", part))
        partner = renamed.get(f"/nodes/{node['match']}")["node"]
        assert partner["name"] == f"Module.layers.0.mlp.fc1.Linear.{part}.0"
        assert (node["match_reason"], node["score"]) == ("manual", 0.0)
    renamed.send(
        "DELETE", "/mappings", {"problem": renamed.named(name.format("ffn", "backward"))["id"]}
    )
    assert renamed.named(ours["name"])["match"] is None


def test_lists_see_the_mapping(renamed: Site) -> None:
    def unmatched() -> set[str]:
        listed = renamed.get("/pairs/0/0/nodes", show="unmatched", limit=2000)
        assert listed["total"] == len(listed["nodes"])
        return {node["name"] for node in listed["nodes"]}

    before = unmatched()
    renamed.send("POST", "/mappings", pair_of(renamed))
    assert {OURS, THEIRS} <= before - unmatched()


def test_divergent_pair_counts_upwards(site_of: Callable[..., Site]) -> None:
    """Against the faulty run, the module that holds the fault diverges once it is mapped."""
    site = site_of("renamed/problem", "statistics/problem")
    ours = site.named("Module.layers.1.ffn.MLP.forward.0")
    theirs = site.named("Module.layers.1.mlp.MLP.forward.0", "benchmark")
    layer = site.named("Module.layers.1.Block.forward.0")
    totals = site.get("")["pairs"][0]
    result = site.send("POST", "/mappings", {"problem": ours["id"], "benchmark": theirs["id"]})
    mapped = site.named(ours["name"])
    assert mapped["score"] > 0.9
    assert mapped["introduced"] == mapped["score"] - mapped["input_score"]
    above = site.named(layer["name"])
    assert above in result["nodes"]
    assert above["worst_below"] == max(layer["worst_below"] or 0, mapped["score"])
    assert above["divergent_below"] == layer["divergent_below"] + 1
    assert above["score"] == layer["score"]
    after = site.get("")["pairs"][0]
    scores = [n["score"] for n in result["nodes"] if n["match_reason"] == "manual" and n["score"]]
    assert after["divergent"] == totals["divergent"] + sum(score > 0.25 for score in scores)
    assert after["matched"] == totals["matched"] + 2  # and its backward


@pytest.mark.parametrize("by", ["DELETE", "PUT"])
def test_taking_a_pair_back_restores_everything(renamed: Site, by: str) -> None:
    before = renamed.get("/pairs/0/0/nodes", limit=2000)
    wanted = pair_of(renamed, descendants=True)
    renamed.send("POST", "/mappings", wanted)
    body = {"problem": wanted["problem"]} if by == "DELETE" else {"pairs": []}
    result = renamed.send(by, "/mappings", body)
    assert result["mappings"]["pairs"] == []
    assert {n["match_reason"] for n in result["nodes"]}.isdisjoint({"manual"})
    assert renamed.get("/pairs/0/0/nodes", limit=2000) == before


def test_tensor_pair_is_measured_from_its_files(
    samples: Path, tmp_path: Path, site_of: Callable[..., Site]
) -> None:
    dump = renamed_copy(samples / "tensor" / "problem", tmp_path / "copy", "1.mlp", "1.ffn")
    site = site_of(str(dump), "tensor/bench")
    ours = site.named("Module.layers.1.ffn.MLP.forward.0")
    theirs = site.named("Module.layers.1.mlp.MLP.forward.0", "benchmark")
    site.send("POST", "/mappings", {"problem": ours["id"], "benchmark": theirs["id"]})
    output = site.get(f"/nodes/{ours['id']}")["values"][-1]
    assert output["role"] == "output"
    assert 0.5 < output["measures"]["Cosine"] < 1
    assert output["error"] > 0.5


def renamed_copy(dump: Path, to: Path, old: str, new: str) -> Path:
    """A dump with a module under another name, tensor files included."""
    shutil.copytree(dump, to)
    for path in sorted(to.rglob("*")):
        if path.suffix == ".json":
            path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        elif old in path.name:
            path.rename(path.with_name(path.name.replace(old, new)))
    return to


def test_misfits_are_refused_with_the_reason(renamed: Site) -> None:
    ours = pair_of(renamed)
    theirs = renamed.get("/pairs/0/0/nodes", show="unmatched", side="benchmark", limit=2000)
    sibling = renamed.get("/pairs/0/0/nodes", show="unmatched", side="problem")["nodes"][-1]

    def unmatched(**wanted: str) -> int:
        fits = (n for n in theirs["nodes"] if wanted.items() <= n.items())
        return int(next(fits)["id"])

    refusals = {
        "already_matched": renamed.named("Module.emb.Embedding.forward.0", "benchmark")["id"],
        "kind_differs": unmatched(kind="api"),
        "direction_differs": unmatched(kind="module", direction="backward"),
        "not_mappable": renamed.get("/pairs/0/0")["benchmark"]["root"]["id"],
        "same_side": sibling["id"],
    }
    for code, other in refusals.items():
        wanted = {"problem": ours["problem"], "benchmark": other}
        result = renamed.send("POST", "/mappings", wanted)
        assert [r["reason"]["code"] for r in result["refused"]] == [code]
        assert (result["nodes"], result["mappings"]["pairs"]) == ([], [])
    assert not mapping_path(renamed.file).exists()


def test_nodes_of_different_steps_are_refused(statistics: Site) -> None:
    ours = statistics.named("Tensor.__mul__.0.forward", step=0)
    theirs = statistics.named("Module.emb.Embedding.forward.0", "benchmark", step=1)
    wanted = {"problem": ours["id"], "benchmark": theirs["id"]}
    result = statistics.send("POST", "/mappings", wanted)
    assert result["refused"][0]["reason"] == {"code": "other_pair"}


def test_node_that_is_not_mapped_cannot_be_unmapped(renamed: Site) -> None:
    url = f"/api/databases/{renamed.db}/mappings"
    answer = renamed.client.delete(url, json={"problem": 2})
    assert answer.status_code == 409


def test_imported_pair_with_an_unknown_name_is_refused(renamed: Site) -> None:
    pair = {"step": 0, "rank": 0, "problem": "Module.nowhere", "benchmark": THEIRS}
    result = renamed.send("PUT", "/mappings", {"pairs": [pair]})
    assert result["refused"][0]["reason"] == {"code": "unknown_name", "side": "problem"}


def test_broken_mapping_file_is_reported_and_never_overwritten(renamed: Site) -> None:
    path = mapping_path(renamed.file)
    path.write_text("{broken", encoding="utf-8")
    url = f"/api/databases/{renamed.db}/mappings"
    for method, body in (("GET", None), ("POST", pair_of(renamed))):
        answer = renamed.client.open(url, method=method, json=body)
        assert answer.status_code == 409
        assert "result.mapping.json" in answer.json["error"]  # type: ignore[index]
    assert path.read_text(encoding="utf-8") == "{broken"


def test_folder_that_cannot_be_written_keeps_pairs_in_the_session(
    renamed: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tb_graph_ascend.server.manual_pairs.write_mapping", refuse)
    result = renamed.send("POST", "/mappings", pair_of(renamed))
    assert result["mappings"]["saved"] is False
    assert renamed.named(OURS)["match"] is None
    header = {"X-Manual-Pairs": laid_down(renamed, result["mappings"]["pairs"])}
    url = f"/api/databases/{renamed.db}/nodes/{renamed.named(OURS)['id']}"
    seen = renamed.client.get(url, headers=header).json
    assert seen is not None
    assert seen["node"]["match_reason"] == "manual"
    monkeypatch.undo()
    taken = renamed.send("DELETE", "/mappings", {"problem": seen["node"]["id"]}, **header)
    assert (taken["mappings"]["pairs"], taken["mappings"]["saved"]) == ([], False)
    assert not mapping_path(renamed.file).exists()


def laid_down(site: Site, pairs: list[dict[str, Any]]) -> str:
    answer = site.client.post("/api/pair-sets", json={"pairs": pairs})
    assert answer.status_code == 200, answer.text
    return str(answer.json["id"])  # type: ignore[index]


def test_session_holds_thousands_of_pairs(renamed: Site) -> None:
    many = [
        {"problem": f"Module.a.{i}.Linear.forward.0", "benchmark": f"Module.b.{i}.Linear.forward.0"}
        for i in range(5000)
    ]
    real = {"problem": OURS, "benchmark": THEIRS}
    name = laid_down(renamed, [*many, real])
    assert len(name) < 100
    url = f"/api/databases/{renamed.db}/nodes/{renamed.named(OURS)['id']}"
    seen = renamed.client.get(url, headers={"X-Manual-Pairs": name}).json
    assert seen is not None
    assert seen["node"]["match_reason"] == "manual"


def test_session_that_the_server_does_not_know_is_asked_for(renamed: Site) -> None:
    url = f"/api/databases/{renamed.db}/findings"
    answer = renamed.client.get(url, headers={"X-Manual-Pairs": "bm90aGluZw"})
    assert answer.status_code == 412
    assert "X-Manual-Pairs" in answer.json["error"]  # type: ignore[index]


def test_change_takes_back_one_thing_whatever_others_mapped(renamed: Site) -> None:
    mine = renamed.send("POST", "/mappings", pair_of(renamed))
    other = {
        "problem": OURS.replace("layers.0", "layers.1"),
        "benchmark": THEIRS.replace("layers.0", "layers.1"),
        "descendants": False,
        "step": None,
        "rank": None,
    }
    theirs = renamed.send("PATCH", "/mappings", {"add": [other]})
    assert theirs["added"] == [other]
    undone = renamed.send("PATCH", "/mappings", {"remove": mine["added"], "add": mine["removed"]})
    assert undone["mappings"]["pairs"] == [other]
    assert undone["removed"] == mine["added"]
    url = f"/api/databases/{renamed.db}/mappings"
    again = renamed.client.patch(url, json={"remove": mine["added"]})
    assert again.status_code == 409
    assert OURS in again.json["error"]  # type: ignore[index]
    assert renamed.get("/mappings")["pairs"] == [other]


def test_renamed_modules_are_proposed_with_reasons_and_mapped_at_once(renamed: Site) -> None:
    proposed = renamed.get("/pairs/0/0/proposals")["proposals"]
    assert [one["names"] for one in proposed] == [
        ["ffn", "mlp"],
        ["linear_fc1", "fc1"],
        ["linear_fc2", "fc2"],
    ]
    proposal = proposed[0]
    assert (proposal["problem"]["name"], proposal["benchmark"]["name"]) == (OURS, THEIRS)
    assert [one["places"] for one in proposed] == [2, 2, 2]
    assert {"same_place", "same_parameters"} <= {reason["code"] for reason in proposal["reasons"]}
    result = renamed.send("PATCH", "/mappings", {"add": proposal["pairs"]})
    assert result["refused"] == []
    for layer in (0, 1):
        node = renamed.named(OURS.replace("layers.0", f"layers.{layer}"))
        assert node["match_reason"] == "manual"
    assert renamed.get("/pairs/0/0/proposals")["proposals"] == []
    undone = renamed.send("PATCH", "/mappings", {"remove": result["added"]})
    assert undone["mappings"]["pairs"] == []
    assert renamed.named(OURS)["match"] is None


def test_what_is_named_inside_a_pair_goes_before_its_order(renamed: Site) -> None:
    outer = {"problem": OURS, "benchmark": THEIRS, "descendants": True}
    crossed = {
        "problem": OURS.replace("ffn.MLP", "ffn.linear_fc1.Linear"),
        "benchmark": THEIRS.replace("mlp.MLP", "mlp.fc2.Linear"),
    }
    for pairs in ([outer, crossed], [crossed, outer]):
        result = renamed.send("PATCH", "/mappings", {"add": pairs})
        asked = {(refused["problem"], refused["benchmark"]) for refused in result["refused"]}
        assert not asked & {(pair["problem"], pair["benchmark"]) for pair in pairs}
        inner = renamed.named(crossed["problem"])
        assert inner["match"] == renamed.named(crossed["benchmark"], "benchmark")["id"]
        assert renamed.named(OURS)["match_reason"] == "manual"
        renamed.send("PATCH", "/mappings", {"remove": result["added"]})


def test_single_graph_takes_no_mapping(site_of: Callable[..., Site]) -> None:
    site = site_of("structure/bench", None)
    answer = site.client.get(f"/api/databases/{site.db}/mappings")
    assert answer.status_code == 409


def test_answer_counts_the_pairs_that_it_was_made_without(renamed: Site) -> None:
    assert renamed.get("/answer")["changed_pairs"] == 0
    renamed.send("POST", "/mappings", pair_of(renamed))
    assert renamed.get("/answer")["changed_pairs"] == 1


def test_two_servers_on_a_folder_lose_no_pair(
    renamed: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process saves between our reading and our writing is not overwritten."""
    path = mapping_path(renamed.file)
    other = MappedPair(problem="x", benchmark="y")
    held: list[bool] = []

    def written(to: Path, pairs: Sequence[MappedPair]) -> None:
        # Another server tries at the worst moment; it is kept out, and adds to what is there then.
        try:
            with locked(to, patience=0.0):
                held.append(False)
        except LockedError:
            held.append(True)
        write_mapping(to, pairs)

    monkeypatch.setattr(manual_pairs, "write_mapping", written)
    for method, body in (
        ("POST", pair_of(renamed)),
        ("PATCH", {"add": [], "remove": []}),
        ("PUT", {"pairs": []}),
    ):
        renamed.send(method, "/mappings", body)
    with locked(path):
        write_mapping(path, [*read_mapping(path), other])
    assert held == [True, True, True]
    assert read_mapping(path) == [other]
    assert not path.with_name(f".{path.name}.lock").exists()


def test_server_that_holds_the_file_too_long_is_named(
    renamed: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manual_file, "locked", partial(locked, patience=0.0))
    with locked(mapping_path(renamed.file)):
        answer = renamed.client.post(f"/api/databases/{renamed.db}/mappings", json=pair_of(renamed))
    assert answer.status_code == 409
    assert "another process is writing it" in answer.text
    assert str(renamed.file.parent) not in answer.text
    assert renamed.send("POST", "/mappings", pair_of(renamed))["added"]
