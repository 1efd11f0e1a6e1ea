"""Builds from the interface: real dumps, live progress, cancelling that leaves nothing behind."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tb_graph_ascend.server import Settings, create_app

WAIT_SECONDS = 60


@pytest.fixture
def folder(samples: Path, tmp_path: Path) -> Path:
    inside = tmp_path / "logs"
    for side in ("problem", "bench"):
        shutil.copytree(samples / "ranks" / side, inside / "dumps" / side)
    shutil.copytree(samples / "md5" / "bench" / "step0", inside / "one_step" / "step0")
    return inside


@pytest.fixture
def client(folder: Path) -> FlaskClient:
    return create_app([folder]).test_client()


def start(client: FlaskClient, **wanted: Any) -> Any:
    answer = client.post("/api/builds", json=wanted)
    assert answer.status_code == 200, answer.text
    return answer.json


def finished(client: FlaskClient, job: str) -> Any:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        build = client.get(f"/api/builds/{job}").json
        if build is not None and build["state"] != "running":
            return build
        time.sleep(0.05)
    pytest.fail("the build did not end")


def events(client: FlaskClient, job: str) -> Iterator[Any]:
    answer = client.get(f"/api/builds/{job}/events")
    assert answer.mimetype == "text/event-stream"
    for line in answer.get_data(as_text=True).splitlines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


def test_dumps_are_listed_at_their_outermost_level(client: FlaskClient, folder: Path) -> None:
    answer = client.get("/api/dumps").json
    assert answer is not None
    found = {dump["path"]: dump for dump in answer["dumps"]}
    whole = found[str(folder / "dumps" / "problem")]
    assert (whole["granularity"], whole["steps"], whole["ranks"]) == ("root", [0, 1], [0, 1])
    assert str(folder / "one_step") in found
    assert answer["outputs"] == [str(folder)]


def test_build_reports_every_pair_and_opens(client: FlaskClient, folder: Path) -> None:
    dumps = folder / "dumps"
    job = start(client, problem=str(dumps / "problem"), benchmark=str(dumps / "bench"))
    told = list(events(client, job["id"]))
    assert [build["state"] for build in told[:-1]] == ["running"] * (len(told) - 1)
    last = told[-1]
    assert (last["state"], last["done"], last["total"]) == ("done", 4, 4)
    assert len(last["log"]) == 4
    assert client.get(f"/api/databases/{last['database']}").status_code == 200
    assert client.get("/api/builds").json == {"builds": [last]}
    assert not list(folder.glob("*.partial*"))


def test_failure_is_told_in_full(client: FlaskClient, folder: Path) -> None:
    broken = folder / "broken" / "step0" / "rank0"
    broken.mkdir(parents=True)
    (broken / "dump.json").write_text("{", encoding="utf-8")
    job = start(client, problem=str(folder / "broken" / "step0"))
    build = finished(client, job["id"])
    told = "\n".join([*build["log"], build["error"] or ""])
    assert str(broken / "dump.json") in told
    sides = {"problem": str(folder / "dumps" / "problem"), "benchmark": str(folder / "one_step")}
    shutil.rmtree(folder / "one_step" / "step0")
    (folder / "one_step" / "nothing").touch()
    build = finished(client, start(client, **sides)["id"])
    assert build["state"] == "failed"
    assert str(folder / "one_step") in build["error"]


def test_cancelled_build_is_gone_at_once(
    client: FlaskClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = folder / "dumps"
    sides = {"problem": str(dumps / "problem"), "benchmark": str(dumps / "bench")}
    # Reading from a pipe nobody writes to lasts as long as any build could.
    import os

    (dumps / "problem" / "step0" / "rank0" / "dump.json").unlink()
    os.mkfifo(dumps / "problem" / "step0" / "rank0" / "dump.json")
    job = start(client, **sides)
    again = client.post("/api/builds", json=sides)
    assert again.status_code == 409
    deadline = time.monotonic() + WAIT_SECONDS
    while not list(folder.glob("*.partial*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    began = time.monotonic()
    answer = client.delete(f"/api/builds/{job['id']}", json={})
    assert answer.json["state"] == "cancelled"  # type: ignore[index]
    assert time.monotonic() - began < 10
    assert not list(folder.glob("*.vis.db*"))
    assert list(events(client, job["id"]))[-1]["state"] == "cancelled"
    assert client.delete(f"/api/builds/{job['id']}", json={}).json == answer.json


def test_worker_that_dies_is_an_outcome(
    client: FlaskClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_graph_ascend.server.build_jobs.sys.executable", shutil.which("false"))
    build = finished(client, start(client, problem=str(folder / "dumps" / "problem"))["id"])
    assert build["state"] == "failed"
    assert "ended unexpectedly" in build["error"]


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"problem": "/etc"}, "problem"),
        ({"problem": "{}/../outside"}, "problem"),
        ({"problem": "{}/door"}, "problem"),
        ({"problem": "{}/dumps/problem", "output": "/tmp"}, "output"),
        ({"problem": "{}/dumps/problem", "manual_mapping": "/etc/passwd"}, "manual_mapping"),
        ({"problem": "{}/missing"}, "problem"),
        ({"problem": "{}/dumps/problem", "threshold": 2}, "threshold"),
        ({"benchmark": "{}/dumps/problem"}, "problem"),
        ({"problem": "a\0b"}, "problem"),
    ],
)
def test_paths_stay_below_the_log_folders(
    client: FlaskClient, folder: Path, wanted: dict[str, Any], named: str
) -> None:
    (folder.parent / "outside").mkdir()
    (folder / "door").symlink_to(folder.parent / "outside")
    given = {k: v.format(folder) if isinstance(v, str) else v for k, v in wanted.items()}
    answer = client.post("/api/builds", json=given)
    assert answer.status_code == 400
    assert named in answer.json["error"]  # type: ignore[index]
    assert client.get("/api/builds").json == {"builds": []}


def test_read_only_server_builds_nothing(folder: Path) -> None:
    client = create_app([folder], Settings(read_only=True)).test_client()
    answer = client.post("/api/builds", json={"problem": str(folder / "dumps" / "problem")})
    assert answer.status_code == 403
