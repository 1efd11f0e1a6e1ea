"""The rows of a pair: windows of one list, opened and folded on the server."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import builder
from tb_graph_ascend.server import create_app
from tests.builder.results.test_shared_weights import program
from tests.tb_graph_ascend.conftest import Site

Json = dict[str, Any]


def titles(rows: list[Json]) -> list[str]:
    return [(row["problem"] or row["benchmark"])["title"] for row in rows]


def everything(site: Site) -> Json:
    first = site.get("/pairs/0/0/rows", limit=1)["rows"][0]
    answer: Json = site.get("/pairs/0/0/rows", open=f"{first['key']}a", limit=500)
    return answer


def test_windows_are_parts_of_one_list(statistics: Site) -> None:
    whole = everything(statistics)
    assert whole["total"] == len(whole["rows"])
    opened = f"{whole['rows'][0]['key']}a"
    parts = [
        statistics.get("/pairs/0/0/rows", open=opened, offset=offset, limit=50)
        for offset in range(0, whole["total"], 50)
    ]
    assert [row for part in parts for row in part["rows"]] == whole["rows"]
    edges = {(e["producer"], e["consumer"]) for part in parts for e in part["rails"]}
    assert edges == {(e["producer"], e["consumer"]) for e in whole["rails"]}


def test_rows_follow_execution_and_stand_below_what_called_them(statistics: Site) -> None:
    rows = everything(statistics)["rows"]
    ids = [row["problem"]["id"] for row in rows if row["problem"]]
    assert ids == sorted(ids)
    above: list[int] = []
    for row in rows:
        del above[row["depth"] :]
        assert len(above) == row["depth"]
        above.append(row["key"])
    assert sum(row["children"] for row in rows) == len(rows) - 1
    assert all(row["open"] == (row["children"] > 0) for row in rows)


def test_a_node_is_revealed_with_all_above_it_open(statistics: Site) -> None:
    node = statistics.named("Tensor.__mul__.0.forward")
    answer = statistics.get("/pairs/0/0/rows", reveal=node["id"], limit=20)
    row = answer["rows"][answer["found"] - answer["offset"]]
    assert row["problem"]["name"] == node["name"]
    assert (row["word"], row["benchmark"]) == ("begins", None)
    again = statistics.get("/pairs/0/0/rows", open=answer["opened"], limit=20)
    assert titles(again["rows"]) == titles(answer["rows"]) or answer["offset"] > 0


def test_what_stands_above_a_window_comes_with_it(statistics: Site) -> None:
    whole = everything(statistics)
    opened = f"{whole['rows'][0]['key']}a"
    inside = next(i for i, row in enumerate(whole["rows"]) if row["depth"] == 3)
    above = statistics.get("/pairs/0/0/rows", open=opened, offset=inside, limit=5)["above"]
    assert [one["row"]["depth"] for one in above] == [0, 1, 2]
    assert all(whole["rows"][one["place"]] == one["row"] for one in above)


def test_the_outline_opens_its_modules_and_finds_what_is_asked_for(statistics: Site) -> None:
    closed = statistics.get("/pairs/0/0/outline")
    assert closed["total"] == len(closed["rows"]) < closed["modules"]
    layers = next(row for row in closed["rows"] if row["children"] and row["depth"] == 1)
    assert not layers["open"]
    opened = statistics.get("/pairs/0/0/outline", toggled=layers["entry"])
    assert opened["total"] == closed["total"] + layers["children"]
    inside = [row for row in opened["rows"] if row["depth"] == 2]
    assert [row["position"] for row in inside] == list(range(layers["children"]))
    node = statistics.named("Module.layers.1.mlp.fc2.Linear.forward.0")["id"]
    whole = statistics.get("/pairs/0/0/outline", divergent=1, here=node, prefix="fc2")
    assert whole["rows"][whole["here"]]["node"] == node
    assert whole["rows"][whole["found"]]["title"] == "fc2"
    window = statistics.get("/pairs/0/0/outline", divergent=1, offset=2, limit=3)
    assert window["rows"] == whole["rows"][2:5]
    refused = statistics.client.get(
        f"/api/databases/{statistics.db}/pairs/0/0/outline", query_string={"toggled": "1,2"}
    )
    assert refused.status_code == 400


def test_the_way_leaves_out_what_does_not_lead_to_the_target(statistics: Site) -> None:
    cause = statistics.named("Tensor.__mul__.0.forward")["id"]
    target = statistics.named("Module.layers.1.mlp.fc2.Linear.forward.0")["id"]
    whole = everything(statistics)
    opened = f"{whole['rows'][0]['key']}a"
    way = statistics.get("/pairs/0/0/rows", open=opened, cause=cause, target=target, limit=500)
    assert set(titles(way["rows"])) >= {"__mul__", "fc2", "layers.1", "mlp"}
    assert way["total"] < whole["total"] / 4


@pytest.mark.parametrize("opened", ["x", "1..2", "f", "-", "1b", "1.2.", "9" * 19])
def test_what_does_not_say_what_is_open_is_refused(statistics: Site, opened: str) -> None:
    url = f"/api/databases/{statistics.db}/pairs/0/0/rows"
    answer = statistics.client.get(url, query_string={"open": opened})
    assert answer.status_code == 400
    assert "open" in answer.json["error"]  # type: ignore[index]


def test_a_mapped_pair_becomes_one_row(renamed: Site) -> None:
    ours = renamed.named("Module.layers.0.ffn.MLP.forward.0")
    theirs = renamed.named("Module.layers.0.mlp.MLP.forward.0", "benchmark")
    before = everything(renamed)
    renamed.send("POST", "/mappings", {"problem": ours["id"], "benchmark": theirs["id"]})
    after = everything(renamed)
    row = next(r for r in after["rows"] if r["problem"] and r["problem"]["id"] == ours["id"])
    assert row["benchmark"]["id"] == theirs["id"]
    assert row["word"] == "agrees"
    assert after["total"] < before["total"]


def test_gradients_of_parameters_are_called_by_their_modules(statistics: Site) -> None:
    sides = [row["problem"] for row in everything(statistics)["rows"] if row["problem"]]
    gradients = [one for one in sides if one["detail"] == "parameters_grad"]
    assert "layers.1.mlp.fc1" in [one["title"] for one in gradients]
    assert len({one["title"] for one in gradients}) == len(gradients) > 3


def test_the_profile_is_a_few_hundred_numbers_over_all_rows(statistics: Site) -> None:
    profile = statistics.get("/pairs/0/0/profile")
    assert profile["rows"] == everything(statistics)["total"]
    assert 0 < len(profile["worst"]) <= 400
    assert [phase["name"] for phase in profile["phases"]] == ["forward", "backward", "optimizer"]
    (cause,) = profile["causes"]
    assert all(worst in (None, 0.0) for worst in profile["worst"][:cause])
    assert max(worst or 0 for worst in profile["worst"][cause:]) > 0.9


def test_msprobes_own_files_have_rows_as_well(samples: Path, tmp_path: Path) -> None:
    shutil.copy(samples / "vis-db" / "ranks.vis.db", tmp_path)
    client = create_app([tmp_path]).test_client()
    (entry,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    site = Site(tmp_path, tmp_path / "ranks.vis.db", client, entry["id"])
    rows = everything(site)["rows"]
    assert sum(row["word"] == "begins" and not row["inside"] for row in rows) == 1
    assert {"agrees", "carries"} <= {row["word"] for row in rows}
    matched = [row for row in rows if row["problem"] and row["benchmark"]]
    assert len(matched) > 100
    assert site.get("/pairs/0/0/profile")["rows"] == len(rows)


def test_a_single_graph_has_rows_of_one_side(site_of: Callable[..., Site]) -> None:
    rows = everything(site_of("communication/bench", None))["rows"]
    assert {row["word"] for row in rows} == {"none"}
    assert all(row["benchmark"] is None for row in rows)


def test_weights_of_two_programs_come_in_pages_and_by_part_and_relation(tmp_path: Path) -> None:
    sides = program(tmp_path / "a", "a"), program(tmp_path / "b", "b")
    file = builder.build(*sides, tmp_path / "runs").path
    client = create_app([tmp_path / "runs"]).test_client()
    (entry,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    site = Site(tmp_path / "runs", file, client, entry["id"])
    page = site.get("/pairs/0/0/weights", limit=2, offset=1)
    assert (page["all"], page["total"], page["offset"]) == (3, 3, 1)
    assert [each["problem"] for each in page["weights"]] == [["a.two.weight"], ["a.three.weight"]]
    found = site.get("/pairs/0/0/weights", part="ONE", relation="same")
    assert (found["all"], found["total"]) == (3, 1)
    assert found["weights"][0]["benchmark"] == ["b.one.weight"]
    assert site.get("/pairs/0/0/weights", relation="scaled")["total"] == 0
    assert site.get("/pairs/7/0/weights")["all"] == 0
