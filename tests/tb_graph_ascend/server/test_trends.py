"""The routes of the trends against what the store holds."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from builder.series.heat import ABSENT, BROKEN
from builder.series.run import TrendRun
from msprobe_core.format.alerts import Alert
from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run
from tb_graph_ascend.server import create_app
from tests.builder.series.stores import table, without

NAMES = ("emb.weight", "layers.0.fc1.weight", "layers.0.fc2.weight", "layers.1.fc1.weight")
STEPS = 400


def write(folder: Path, change: float = 1.0, ranks: int = 1) -> None:
    modules = [[name, "M"] for name in ("emb", "layers", "layers.0", "layers.1")]
    write_run(folder, {"modules": modules})
    for rank in range(ranks):
        writer = SeriesWriter(folder, rank)
        writer.add_targets(
            [TrendTarget("grad", name, (2, 2), "float32", 9 - i) for i, name in enumerate(NAMES)]
        )
        writer.add_targets([TrendTarget("loss", "loss")])
        for step in range(STEPS):
            values = [1.0, 2.0, 4.0, 8.0, 3.0]
            if step >= 300:
                values[2] *= change
            if step == 350:
                values[1] = np.nan
            if rank == 1:
                values[0] = 1.5
            made = table(values)
            writer.write(step, without(made, 3) if step % 2 else made)
        writer.write_alert(Alert(350, "not finite", ("grad", NAMES[1]), rank=rank).facts())
        writer.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    folder = tmp_path_factory.mktemp("logs")
    write(folder / "first", 4.0, ranks=3)
    write(folder / "second")
    (folder / "first" / "checkpoint-200").mkdir()
    (folder / "other").mkdir()
    (folder / "other" / "run.json").write_text('{"format": "something else"}')
    return create_app([folder]).test_client()


def get(client: FlaskClient, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/trends{path}", query_string=query)
    assert answer.status_code == 200, answer.text
    return answer.json


def run_id(client: FlaskClient, name: str) -> str:
    return next(run["id"] for run in get(client, "")["runs"] if run["path"] == name)


def cells_of(heat: Any) -> np.ndarray:
    raw = np.frombuffer(base64.b64decode(heat["cells"]), np.uint8)
    return raw.reshape(len(heat["rows"]), len(heat["steps"]))


def test_runs_are_listed_and_nothing_else(client: FlaskClient) -> None:
    assert sorted(run["path"] for run in get(client, "")["runs"]) == ["first", "second"]
    for token in ("x", "MC8uLi8uLg", base64.urlsafe_b64encode(b"0/other").decode().rstrip("=")):
        assert client.get(f"/api/trends/{token}").status_code in (404, 422)


def test_a_run_as_a_whole(client: FlaskClient) -> None:
    found = get(client, f"/{run_id(client, 'first')}")
    assert (found["steps"], found["first"], found["last"]) == (STEPS, 0, STEPS - 1)
    assert found["ranks"] == [0, 1, 2]
    assert found["kinds"] == [{"kind": "grad", "targets": 4}]
    assert found["scalars"] == [["loss", "loss"]]


def test_rows_follow_the_model_and_fold(client: FlaskClient) -> None:
    place = f"/{run_id(client, 'first')}/heat"
    folded = get(client, place, kind="grad")
    assert [(row["name"], row["leaves"]) for row in folded["rows"]] == [
        ("emb.weight", 1),
        ("layers", 3),
    ]
    opened = get(client, place, kind="grad", open="layers,layers.0")
    names = [(row["name"], row["depth"], row["target"]) for row in opened["rows"]]
    assert [name for name, _, _ in names] == [
        "emb.weight",
        "layers",
        "layers.0",
        "layers.0.fc1.weight",
        "layers.0.fc2.weight",
        "layers.1.fc1.weight",
    ]
    page = get(client, place, kind="grad", open="layers,layers.0", offset=2, limit=2)
    assert page["total"] == 6
    assert [row["name"] for row in page["rows"]] == ["layers.0", "layers.0.fc1.weight"]
    assert (cells_of(page) == cells_of(opened)[2:4]).all()


def test_a_cell_says_how_far_a_value_is_from_its_rows_own(client: FlaskClient) -> None:
    heat = get(client, f"/{run_id(client, 'first')}/heat", kind="grad", open="layers,layers.0")
    cells = dict(zip([row["name"] for row in heat["rows"]], cells_of(heat), strict=True))
    changed = cells["layers.0.fc2.weight"].astype(int)
    assert changed[350] - changed[100] == pytest.approx(2 / 8 * 253, abs=1)
    assert cells["layers.0.fc1.weight"][350] == BROKEN
    assert cells["layers.0"][350] == BROKEN
    assert cells["layers.0"][320] == changed[320]
    odd = cells["layers.1.fc1.weight"]
    assert odd[1] == ABSENT
    assert odd[2] != ABSENT


def test_two_runs_show_only_where_they_are_apart(client: FlaskClient) -> None:
    first, second = run_id(client, "first"), run_id(client, "second")
    heat = get(client, f"/{first}/heat", kind="grad", open="layers,layers.0", other=second)
    cells = dict(zip([row["name"] for row in heat["rows"]], cells_of(heat), strict=True))
    assert set(cells["emb.weight"].tolist()) == {1}
    assert cells["layers.0.fc2.weight"][299] == 1
    assert cells["layers.0.fc2.weight"][300] > 230
    folded = cells_of(get(client, f"/{first}/heat", kind="grad", other=second))[1]
    assert (folded == cells["layers.0.fc2.weight"])[[299, 300, 320]].all()
    parted = get(client, f"/{first}/parting", other=second)
    assert (parted["verdict"], parted["step"]) == ("parts", 300)
    assert parted["target"] == ["grad", "layers.0.fc2.weight"]


def test_a_line_is_thinned_to_least_and_largest(client: FlaskClient) -> None:
    place = f"/{run_id(client, 'first')}/line"
    whole = get(client, place, kind="grad", name=NAMES[2])
    assert whole["high"] == [4.0] * 300 + [16.0] * 100
    thin = get(client, place, kind="grad", name=NAMES[2], points=7)
    assert len(thin["steps"]) == 7
    assert (thin["low"][5], thin["high"][5]) == (4.0, 16.0)
    broken = get(client, place, kind="grad", name=NAMES[1], first=349, last=351)
    assert broken["high"] == [2.0, None, 2.0]
    missing = client.get(f"/api/trends{place}", query_string={"kind": "grad", "name": "none"})
    assert missing.status_code == 422


def test_scalars_and_alerts(client: FlaskClient) -> None:
    place = f"/{run_id(client, 'first')}"
    (loss,) = get(client, place + "/scalars", points=10)["lines"]
    assert (loss["name"], loss["high"]) == ("loss", [3.0] * 10)
    alerts = get(client, place + "/alerts")["alerts"]
    assert [(a["step"], a["ranks"], a["target"][1]) for a in alerts] == [(350, [0, 1, 2], NAMES[1])]


def test_a_cell_leads_to_a_dump(client: FlaskClient) -> None:
    place = f"/{run_id(client, 'first')}/cell"
    found = get(client, place, kind="grad", name=NAMES[0], step=250)
    assert [(r["rank"], r["value"], r["minority"]) for r in found["ranks"]] == [
        (0, 1.0, False),
        (1, 1.5, True),
        (2, 1.0, False),
    ]
    assert {(r["other"], r["octaves"]) for r in found["ranks"]} == {(None, None)}
    beside = run_id(client, "second")
    apart = get(client, place, kind="grad", name=NAMES[2], step=350, other=beside)["ranks"]
    # The other run has rank 0 alone; four times is two octaves, beyond any scale of colours.
    assert [(r["other"], r["octaves"]) for r in apart] == [(4.0, 2.0), (None, None), (None, None)]
    assert found["config"]["step"] == [249, 250]
    assert found["config"]["statistics"]["list"] == []
    assert found["checkpoint"] == "checkpoint-200"
    assert found["comparisons"] == []


def test_a_run_that_grows_is_followed(tmp_path: Path) -> None:
    client = create_app([tmp_path]).test_client()
    write_run(tmp_path / "run", {"modules": []})
    writer = SeriesWriter(tmp_path / "run", 0)
    writer.add_targets([TrendTarget("loss", "loss")])
    writer.write(0, table([1]))
    token = run_id(client, "run")
    assert get(client, f"/{token}")["steps"] == 1
    writer.write(1, table([2]))
    assert get(client, f"/{token}")["steps"] == 2
    writer.close()


def test_a_comparison_of_the_step_is_named(tmp_path: Path, built: Any) -> None:
    import shutil

    shutil.copy(built("statistics/problem", "statistics/bench"), tmp_path / "a.vis.db")
    write(tmp_path / "run")
    client = create_app([tmp_path]).test_client()
    query = {"kind": "grad", "name": NAMES[0]}
    place = f"/{run_id(client, 'run')}/cell"
    assert [c["path"] for c in get(client, place, step=0, **query)["comparisons"]] == ["a.vis.db"]
    assert get(client, place, step=399, **query)["comparisons"] == []
    assert json.loads((tmp_path / "run" / "run.json").read_text())["version"] == 1
    assert TrendRun(tmp_path / "run").steps[-1] == STEPS - 1


def test_small_lines_are_the_rows_of_the_heat_map(client: FlaskClient) -> None:
    first, second = run_id(client, "first"), run_id(client, "second")
    asked = {"kind": "grad", "open": "layers,layers.0"}
    heat = get(client, f"/{first}/heat", **asked)
    found = get(client, f"/{first}/tiles", **asked, other=second, points=STEPS)
    assert [tile["row"] for tile in found["tiles"]] == heat["rows"]
    lines = {tile["row"]["target"]: tile for tile in found["tiles"] if tile["row"]["target"]}
    changed = lines["layers.0.fc2.weight"]
    assert (changed["values"][100], changed["values"][320]) == (4.0, 16.0)
    assert (changed["other"][100], changed["other"][320]) == (4.0, 4.0)
    assert lines["layers.0.fc1.weight"]["values"][350] is None
    assert found["steps"] == list(range(STEPS))
    modules = [tile for tile in found["tiles"] if tile["row"]["target"] is None]
    assert [(tile["values"], tile["other"]) for tile in modules] == [([], [])] * 2


def test_small_lines_come_by_the_page_and_hold_the_largest(client: FlaskClient) -> None:
    place = f"/{run_id(client, 'first')}/tiles"
    page = get(client, place, kind="grad", open="layers", offset=2, limit=1, points=4)
    assert (page["total"], page["offset"], page["steps"]) == (4, 2, [0, 100, 200, 300])
    (tile,) = page["tiles"]
    assert (tile["row"]["name"], tile["values"]) == ("layers.0", [])
    (tile,) = get(client, place, kind="grad", open="layers,layers.0", offset=4, limit=1, points=4)[
        "tiles"
    ]
    assert tile["values"] == [4.0, 4.0, 4.0, 16.0]
    assert get(client, place, kind="exp_avg")["tiles"] == []
