"""Every route over a database of the real builder: what it answers when all is well."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import builder
from builder import BuildOptions
from evaluation.rollout.pairs import PAIRS
from evaluation.rollout.suite import answers
from tb_graph_ascend.server import create_app
from tests.builder.run.units.runs import layout
from tests.tb_graph_ascend.conftest import Site

MUL = "Tensor.__mul__.0.forward"


def test_databases_lists_files_at_any_depth(statistics: Site) -> None:
    answer = statistics.client.get("/api/databases").json
    assert answer is not None
    (entry,) = answer["databases"]
    assert entry["path"] == "runs/today/result.vis.db"
    assert entry["error"] is None
    assert entry["size"] == statistics.file.stat().st_size
    assert answer["searched"] == [str(statistics.folder)]


def test_new_file_appears_without_restart(
    site_of: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_graph_ascend.logdirs._FRESH_SECONDS", 0.0)
    monkeypatch.setattr("tb_graph_ascend.logdirs._RESTS", 0)
    site = site_of("statistics/problem", "statistics/bench")
    shutil.copy(site.file, site.folder / "second.vis.db")
    answer = site.client.get("/api/databases").json
    assert answer is not None
    assert {entry["path"] for entry in answer["databases"]} == {
        "runs/today/result.vis.db",
        "second.vis.db",
    }


def test_replaced_file_is_read_anew(statistics: Site, built: Callable[..., Any]) -> None:
    assert statistics.get("")["task"] == "statistics"
    shutil.copy(built("md5/problem", "md5/bench"), statistics.file.with_name("new"))
    statistics.file.with_name("new").replace(statistics.file)
    assert statistics.get("")["task"] == "md5"


def test_database_tells_each_pair(statistics: Site) -> None:
    answer = statistics.get("")
    assert (answer["task"], answer["comparison"], answer["writable"]) == ("statistics", True, True)
    assert [(p["step"], p["rank"], p["status"]) for p in answer["pairs"]] == [
        (0, 0, "ok"),
        (1, 0, "ok"),
    ]
    first = answer["pairs"][0]
    assert first["worst"] > 0.9
    assert first["unmatched_problem"] == 2
    assert first["unmatched_benchmark"] == 0


def test_a_word_that_no_name_has_is_told_once_however_often_it_is_asked_for(
    statistics: Site,
) -> None:
    unknown = statistics.get("/nodes", step=0, rank=0, q="sofmax linaer sofmax")["unknown"]
    assert [each["word"] for each in unknown] == ["sofmax", "linaer"]


def test_pair_has_both_roots(statistics: Site) -> None:
    answer = statistics.get("/pairs/0/0")
    for side in ("problem", "benchmark"):
        root = answer[side]["root"]
        assert (root["kind"], root["side"], root["parent"]) == ("root", side, None)
    assert answer["problem"]["root"]["match"] == answer["benchmark"]["root"]["id"]


def test_children_come_in_pages_and_in_order(statistics: Site) -> None:
    root = statistics.get("/pairs/0/0")["problem"]["root"]
    whole = statistics.get(f"/nodes/{root['id']}/children")
    assert whole["total"] == root["children"] == len(whole["children"])
    assert [node["position"] for node in whole["children"]] == list(range(whole["total"]))
    page = statistics.get(f"/nodes/{root['id']}/children", offset=3, limit=2)
    assert page["children"] == whole["children"][3:5]
    assert page["total"] == whole["total"]


def test_path_leads_from_the_root(statistics: Site) -> None:
    path = statistics.get(f"/nodes/{statistics.named(MUL)['id']}/path")["path"]
    assert [node["label"] for node in path] == ["DefaultModel", "1", "mlp", "__mul__"]


def test_details_show_values_of_both_sides_and_the_stack(statistics: Site) -> None:
    fc2 = statistics.named("Module.layers.1.mlp.fc2.Linear.forward.0")
    details = statistics.get(f"/nodes/{fc2['id']}")
    assert details["partner"]["id"] == fc2["match"]
    roles = [pair["role"] for pair in details["values"]]
    assert roles == sorted(roles, key=["input", "parameters", "output"].index)
    first = details["values"][0]
    problem, benchmark = first["problem"], first["benchmark"]
    assert first["measures"]["Norm diff"] == pytest.approx(problem["norm"] - benchmark["norm"])
    assert first["measures"]["NormRelativeErr"] == pytest.approx(0.7, abs=1e-3)
    assert sum(pair["worst"] for pair in details["values"]) == 1
    assert details["stack"]["problem"][0].startswith("File ")


def test_details_of_the_benchmark_node_show_the_same_pair(statistics: Site) -> None:
    fc2 = statistics.named("Module.layers.1.mlp.fc2.Linear.forward.0")
    there = statistics.get(f"/nodes/{fc2['match']}")
    here = statistics.get(f"/nodes/{fc2['id']}")
    assert there["values"] == here["values"]
    assert there["stack"] == here["stack"]
    assert (there["node"], there["partner"]) == (here["partner"], here["node"])


def test_values_that_are_not_finite_arrive_as_text(site_of: Callable[..., Site]) -> None:
    site = site_of("nan/problem", "statistics/bench")
    details = site.get(f"/nodes/{site.named('Torch.log.0.forward')['id']}")
    assert details["values"][-1]["problem"]["norm"] == "nan"
    assert details["node"]["overflow"] == "critical"


def test_tensor_measures_have_the_names_users_know(site_of: Callable[..., Site]) -> None:
    site = site_of("tensor/problem", "tensor/bench")
    fc2 = site.named("Module.layers.1.mlp.fc2.Linear.forward.0")
    output = site.get(f"/nodes/{fc2['id']}")["values"][-1]
    assert set(output["measures"]) == {
        "Cosine",
        "EucDist",
        "MaxAbsErr",
        "MaxRelativeErr",
        "One Thousandth Err Ratio",
        "Five Thousandths Err Ratio",
    }
    assert 0.5 < output["measures"]["Cosine"] < 1


def test_checksums_that_differ_are_called_out(site_of: Callable[..., Site]) -> None:
    site = site_of("md5/problem", "md5/bench")
    fc2 = site.named("Module.layers.1.mlp.fc2.Linear.forward.0")
    pair = site.get(f"/nodes/{fc2['id']}")["values"][0]
    assert "checksum" in pair["differs"]
    assert pair["problem"]["checksum"] != pair["benchmark"]["checksum"]


def test_findings_name_the_extra_call_first(statistics: Site) -> None:
    answer = statistics.get("/findings")
    assert answer["findings"][0]["node"]["name"] == MUL
    assert answer["findings"][0]["reasons"][0]["code"] == "extra_calls"
    assert answer["threshold"] == 0.25
    assert all(finding["step"] == 1 for finding in statistics.get("/findings", step=1)["findings"])


def test_node_list_filters_and_sorts(statistics: Site) -> None:
    answer = statistics.get(
        "/pairs/0/0/nodes", show="divergent", sort="score", descending=1, limit=5
    )
    scores = [node["score"] for node in answer["nodes"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0.25
    assert answer["total"] == statistics.get("")["pairs"][0]["divergent"]
    unmatched = statistics.get("/pairs/0/0/nodes", show="unmatched")["nodes"]
    assert {node["label"] for node in unmatched} == {"__mul__"}
    mine = statistics.get("/pairs/0/0/nodes", kind="module", side="benchmark", name="MLP")
    assert {(n["kind"], n["side"]) for n in mine["nodes"]} == {("module", "benchmark")}


def test_divergent_nodes_are_shared_out_among_the_causes(statistics: Site) -> None:
    shares = statistics.get("/pairs/0/0/shares")
    (own,) = shares["causes"]
    divergent = statistics.get("/pairs/0/0/nodes", show="divergent", limit=2000)
    assert shares["divergent"] == divergent["total"] == own["count"] + shares["others"]
    listed = statistics.get("/pairs/0/0/divergent", cause=own["node"], limit=2000)
    others = statistics.get("/pairs/0/0/divergent", limit=2000)
    assert (listed["total"], others["total"]) == (own["count"], shares["others"])
    assert own["count"] > 10
    ids = {node["id"] for node in listed["nodes"] + others["nodes"]}
    assert ids == {node["id"] for node in divergent["nodes"]}
    twice = statistics.get("/pairs/0/0/divergent", cause=f"{own['node']}.{own['node']}")
    assert twice["total"] == own["count"]
    no_cause = divergent["nodes"][-1]["id"]
    beside = statistics.get("/pairs/0/0/divergent", cause=f"{no_cause}.{own['node']}")
    assert beside["total"] == own["count"]
    assert statistics.get("/pairs/0/0/divergent", cause=no_cause)["nodes"] == []


def test_single_graph_has_no_benchmark(site_of: Callable[..., Site]) -> None:
    site = site_of("structure/bench", None)
    assert site.get("")["comparison"] is False
    assert site.get("/pairs/0/0")["benchmark"] is None
    assert site.get("/pairs/0/0/nodes", show="unmatched")["total"] == 0


def test_search_finds_text_in_any_case_and_expressions(statistics: Site) -> None:
    loose = statistics.get("/pairs/0/0/search", q="MLP.FC2")
    exact = statistics.get("/pairs/0/0/search", q="MLP.FC2", case=1)
    assert loose["total"] > 0
    assert exact["total"] == 0
    pattern = r"^module\.layers\.[01]\.mlp\.fc2.*forward"
    found = statistics.get("/pairs/0/0/search", q=pattern, regex=1, side="problem")
    assert [n["name"] for n in found["hits"]] == [
        f"Module.layers.{layer}.mlp.fc2.Linear.forward.0" for layer in (0, 1)
    ]


def test_search_pages_over_both_sides(statistics: Site) -> None:
    whole = statistics.get("/pairs/0/0/search", q="linear", limit=2000)
    page = statistics.get("/pairs/0/0/search", q="linear", offset=5, limit=3)
    assert page["hits"] == whole["hits"][5:8]
    assert {node["side"] for node in whole["hits"]} == {"problem", "benchmark"}
    assert statistics.get("/pairs/0/0/search", q="")["total"] == 0


def test_answers_are_compressed_and_known_ones_not_sent_again(statistics: Site) -> None:
    url = f"/api/databases/{statistics.db}/pairs/0/0/nodes"
    answer = statistics.client.get(url, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.data))["total"] > 100
    again = statistics.client.get(url, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_the_list_says_what_each_file_compares_and_when_it_was_mapped(renamed: Site) -> None:
    def entry() -> Any:
        (listed,) = renamed.client.get("/api/databases").json["databases"]  # type: ignore[index]
        return listed

    before = entry()
    assert before["problem"].endswith("renamed/problem")
    assert before["benchmark"].endswith("statistics/bench")
    assert before["mapped"] is None
    ours = renamed.named("Module.layers.0.ffn.MLP.forward.0")
    theirs = renamed.named("Module.layers.0.mlp.MLP.forward.0", "benchmark")
    renamed.send("POST", "/mappings", {"problem": ours["id"], "benchmark": theirs["id"]})
    assert entry()["mapped"] > 0


def test_the_way_back_says_in_which_module_each_call_stands(statistics: Site) -> None:
    node = statistics.named("Module.head.Linear.forward.0")
    hops = statistics.get(f"/nodes/{node['id']}/trace")["hops"]
    assert hops[0]["module"] == "head"
    assert (hops[-1]["name"], hops[-1]["module"]) == ("Tensor.__mul__.0.forward", "layers.1.mlp")
    assert all(hop["module"] for hop in hops if hop["name"].startswith("Functional."))


def test_every_member_of_a_communication_has_its_scores(site_of: Callable[..., Site]) -> None:
    ranks = site_of("ranks/problem", "ranks/bench")
    node = ranks.named("Distributed.send.0.forward", rank=0)
    (link,) = ranks.get(f"/nodes/{node['id']}")["communication"]
    peer = ranks.named("Distributed.recv.0.forward", rank=1)
    assert (link["peer_rank"], link["peer_node"]) == (1, peer["id"])
    assert link["peer_score"] == peer["score"]
    assert link["peer_input_score"] == peer["input_score"]
    assert peer["score"] is not None


@pytest.mark.parametrize("sample", ["statistics", "tensor", "md5"])
def test_a_single_graph_says_what_was_recorded_of_it(
    site_of: Callable[..., Site], sample: str
) -> None:
    assert site_of(f"{sample}/bench", None).get("")["task"] == sample


def test_file_of_msprobe_is_served_and_takes_no_mapping(samples: Path, tmp_path: Path) -> None:
    shutil.copy(samples / "vis-db" / "ranks.vis.db", tmp_path)
    client = create_app([tmp_path]).test_client()
    (entry,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    assert entry["error"] is None
    base = f"/api/databases/{entry['id']}"
    answer: Any = client.get(base).json
    assert answer["writable"] is False
    assert len(answer["pairs"]) == 4
    hits: Any = client.get(f"{base}/pairs/0/1/search?q=mlp.fc2&side=problem").json
    assert hits["total"] > 0
    node = hits["hits"][0]["id"]
    for path in (f"nodes/{node}", f"nodes/{node}/path", f"nodes/{node}/across", "findings"):
        assert client.get(f"{base}/{path}").status_code == 200
    listed: Any = client.get(f"{base}/pairs/1/1/nodes?show=divergent&sort=score").json
    assert listed["total"] == answer["pairs"][3]["divergent"]
    block = next(n for n in listed["nodes"] if n["name"] == "Module.layers.1.Block.backward.0")
    way: Any = client.get(f"{base}/nodes/{block['id']}/trace").json
    assert [hop["link"] for hop in way["hops"]] == ["start", "inside", "forward"]
    assert (way["step"], way["rank"], way["finding"]) == (1, 1, 1)
    assert client.get(f"{base}/mappings").status_code == 409
    assert client.get(f"{base}/nodes/{node}/values/0/picture").status_code in (404, 409)


def test_shards_tell_what_each_rank_holds(tmp_path: Path) -> None:
    sides = layout(tmp_path / "problem", 2, fault=True), layout(tmp_path / "benchmark", 1)
    builder.build(*sides, tmp_path / "runs", BuildOptions(workers=1))
    client = create_app([tmp_path / "runs"]).test_client()
    (database,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    place = f"/api/databases/{database['id']}"
    problem = client.get(f"{place}/pairs/0/0").json["problem"]  # type: ignore[index]
    answer = client.get(f"{place}/nodes/{problem['root']['id'] + 1}/shards").json
    assert answer is not None
    (output,) = [v for v in answer["values"] if (v["side"], v["role"]) == ("problem", "output")]
    assert [(s["rank"], s["guilty"]) for s in output["shards"]] == [(0, False), (1, True)]
    assert client.get(f"{place}/nodes/999999/shards").status_code == 404


def test_tokens_tell_where_a_value_begins_to_be_apart(tmp_path: Path) -> None:
    pair = next(pair for pair in PAIRS if pair.name == "scored-by-rows")
    (answer,) = answers(pair, ("scale",), tmp_path)
    client = create_app([tmp_path / "compared"]).test_client()
    (database,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    place = f"/api/databases/{database['id']}"
    (finding,) = client.get(f"{place}/findings").json["findings"]  # type: ignore[index]
    told = client.get(f"{place}/nodes/{finding['node']['id']}/tokens").json
    assert told is not None
    first = {"request": 1, "position": 1}
    assert (first["request"], first["position"]) == answer.first
    (line,) = [line for line in told["lines"] if line["role"] == "output"]
    assert (line["first"], line["apart"], line["tokens"]) == (first, 34, 38)
    root = client.get(f"{place}/pairs/0/0").json["problem"]["root"]["id"]  # type: ignore[index]
    assert client.get(f"{place}/nodes/{root}/tokens").json == {"cells": [], "lines": []}
    assert client.get(f"{place}/nodes/999999/tokens").status_code == 404
