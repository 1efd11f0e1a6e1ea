"""Builds from the interface: real dumps, live progress, cancelling that leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, get_args

import pytest
from flask.testing import FlaskClient

import builder
from builder.work.phases import Phase
from tb_graph_ascend.server import Settings, build_jobs, create_app
from tests.tb_graph_ascend.conftest import Site

WAIT_SECONDS = 60
HELD_OPEN = Path(__file__).resolve().parents[2] / "held_open"


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
    monkeypatch.setenv("PYTHONPATH", str(HELD_OPEN))  # reading lasts as long as any build could
    (dumps / "problem" / "step0" / "rank0" / "stack.json.held").touch()
    job = start(client, **sides)
    again = client.post("/api/builds", json=sides)
    assert again.status_code == 409
    deadline = time.monotonic() + WAIT_SECONDS
    while not list(folder.rglob("*.partial*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    began = time.monotonic()
    answer = client.delete(f"/api/builds/{job['id']}", json={})
    assert answer.json["state"] == "cancelled"  # type: ignore[index]
    assert time.monotonic() - began < 10
    assert not list(folder.rglob("*.vis.db*"))
    assert list(events(client, job["id"]))[-1]["state"] == "cancelled"
    assert client.delete(f"/api/builds/{job['id']}", json={}).json == answer.json


# Put before the worker's own path: it stays in a phase for ever.
_STAY = """
import time

from builder.work import pair
from builder.run import pair_work

whole = pair.enter

def enter(phase):
    whole(phase)
    while phase == {phase!r}:
        time.sleep(1)

pair.enter = pair_work.enter = enter
"""


@pytest.mark.parametrize("phase", get_args(Phase))
def test_one_pair_tells_its_phase_and_is_cancelled_in_it(
    client: FlaskClient, folder: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stay = folder.parent / "stay"
    stay.mkdir()
    (stay / "sitecustomize.py").write_text(_STAY.format(phase=phase), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(stay))
    sides = {
        "problem": str(folder / "dumps" / "problem" / "step0" / "rank0"),
        "benchmark": str(folder / "dumps" / "bench" / "step0" / "rank0"),
    }
    job = start(client, **sides)
    deadline = time.monotonic() + WAIT_SECONDS
    running: list[dict[str, Any]] = []
    while [one["phase"] for one in running] != [phase] and time.monotonic() < deadline:
        time.sleep(0.05)
        build = client.get(f"/api/builds/{job['id']}").json
        assert build is not None
        running = build["running"]
        assert build["state"] == "running", build["error"]
    assert running == [{"step": 0, "rank": 0, "phase": phase}]
    assert build["total"] == 1
    answer = client.delete(f"/api/builds/{job['id']}", json={}).json
    assert answer is not None
    assert (answer["state"], answer["running"]) == ("cancelled", [])
    assert not list(folder.rglob("*.vis.db*"))
    assert not list(folder.glob(".building-*"))
    assert not _left_over(str(stay))


def _left_over(mark: str) -> list[str]:
    """Processes that were started with a mark in their environment and still run."""
    own = os.getpid()
    left = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if int(folder.name) != own and mark.encode() in text and state != "Z":
            left.append(folder.name)
    return left


@pytest.mark.parametrize("end", ["cancelled", "failed"])
def test_ended_build_leaves_what_others_write(
    client: FlaskClient, folder: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another build, begun later in the same folder, goes on."""
    workers: list[subprocess.Popen[bytes]] = []

    def remember(complaints: IO[bytes]) -> subprocess.Popen[bytes]:
        workers.append(start_worker(complaints))
        return workers[-1]

    start_worker = build_jobs._start_worker
    monkeypatch.setattr(build_jobs, "_start_worker", remember)
    monkeypatch.setenv("PYTHONPATH", str(HELD_OPEN))
    (folder / "dumps" / "problem" / "step0" / "rank0" / "stack.json.held").touch()
    sides = {
        "problem": str(folder / "dumps" / "problem"),
        "benchmark": str(folder / "dumps" / "bench"),
    }
    job = start(client, **sides)
    deadline = time.monotonic() + WAIT_SECONDS
    while not list(folder.rglob("*.partial")) and time.monotonic() < deadline:
        time.sleep(0.05)
    theirs = folder / "compare_20990101000000.vis.db.partial"
    theirs.touch()
    if end == "cancelled":
        client.delete(f"/api/builds/{job['id']}", json={})
    else:
        os.killpg(workers[0].pid, signal.SIGKILL)
    assert finished(client, job["id"])["state"] == end
    deadline = time.monotonic() + WAIT_SECONDS
    while len(list(folder.rglob("*.partial*"))) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(folder.rglob("*.partial*")) == [theirs]
    assert not list(folder.glob(".building-*"))


def test_worker_that_dies_is_an_outcome(
    client: FlaskClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.processes.own_imports.sys.executable", shutil.which("false"))
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


def test_result_says_how_to_build_it_again(client: FlaskClient, folder: Path) -> None:
    dumps = folder / "dumps"
    sides = {"problem": str(dumps / "problem"), "benchmark": str(dumps / "bench")}
    build = finished(client, start(client, **sides, overflow_check=True, threshold=0.3)["id"])
    url = f"/api/databases/{build['database']}"
    pairs = [{"problem": "Module.a.A.forward.0", "benchmark": "Module.b.B.forward.0"}]
    client.put(f"{url}/mappings", json={"pairs": pairs})
    shown = client.get(f"{url}/mappings").json["file"]  # type: ignore[index]
    wish = client.get(f"{url}/build").json
    assert wish is not None
    assert {side: wish[side] for side in sides} == sides
    assert (wish["overflow_check"], wish["threshold"], wish["outside"]) == (True, 0.3, [])
    assert wish["manual_mapping"] == str(folder / shown)
    assert wish["command"].startswith(f"msprobe graph_visualize -tp {dumps / 'problem'} -gp")
    assert wish["command"].endswith("-oc --threshold 0.3")
    again = {name: value for name, value in wish.items() if name not in ("outside", "command")}
    assert client.post("/api/builds", json=again).status_code == 200
    # The path as the interface prints it, below the log folder, is understood too.
    finished(client, client.get("/api/builds").json["builds"][0]["id"])  # type: ignore[index]
    job = start(client, problem="dumps/problem", benchmark="dumps/bench", manual_mapping=shown)
    assert finished(client, job["id"])["state"] == "failed"


def test_dumps_that_a_result_names_may_lie_anywhere(
    site_of: Callable[..., Site], samples: Path
) -> None:
    site = site_of("statistics/problem", "statistics/bench")
    wish = site.get("/build")
    problem = str(samples / "statistics/problem")
    assert (wish["problem"], wish["outside"]) == (problem, [])
    sides = {"problem": problem, "benchmark": str(samples / "statistics/bench")}
    refused = site.client.post("/api/builds", json=sides)
    assert refused.status_code == 400
    other = {**sides, "problem": str(samples / "ranks/problem"), "result": site.db}
    assert site.client.post("/api/builds", json=other).status_code == 400
    job = start(site.client, **sides, result=site.db)
    assert finished(site.client, job["id"])["state"] == "done"


def test_dumps_named_from_another_folder_are_found_above_the_result(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for side in ("problem", "bench"):
        shutil.copytree(samples / "statistics" / side, tmp_path / "job" / side)
    monkeypatch.chdir(tmp_path / "job")
    options = builder.BuildOptions(workers=1)
    builder.build(Path("problem"), Path("bench"), Path("graph_output"), options)
    monkeypatch.chdir(tmp_path)
    client = create_app([tmp_path / "job" / "graph_output"]).test_client()
    (entry,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    wish = client.get(f"/api/databases/{entry['id']}/build").json
    assert wish is not None
    assert (wish["problem"], wish["outside"]) == (str(tmp_path / "job" / "problem"), [])
    sides = {"problem": wish["problem"], "benchmark": wish["benchmark"], "result": entry["id"]}
    assert finished(client, start(client, **sides)["id"])["state"] == "done"


def test_dumps_that_are_gone_leave_a_command(
    site_of: Callable[..., Site], samples: Path, tmp_path: Path
) -> None:
    dump = shutil.copytree(samples / "statistics" / "problem", tmp_path / "gone")
    site = site_of(str(dump), "statistics/bench")
    shutil.rmtree(dump)
    wish = site.get("/build")
    assert (wish["problem"], wish["outside"]) == (None, [str(dump)])
    assert f"-tp {dump} -gp" in wish["command"]


def test_build_takes_no_module_from_the_working_folder(
    client: FlaskClient, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users name their own files `builder.py` or `queue.py`, and start servers beside them."""
    work, ran = tmp_path / "work", tmp_path / "ran"
    for name in ("builder", "queue", "msgspec", "numpy", "_socket"):
        (work / name).mkdir(parents=True)
        told = f"import os; os.mkdir({str(ran)!r}); raise SystemExit({name!r})\n"
        (work / f"{name}.py").write_text(told, encoding="utf-8")
        (work / name / "__init__.py").write_text(told, encoding="utf-8")
    monkeypatch.chdir(work)
    monkeypatch.setenv("PYTHONPATH", os.pathsep)  # as `$PYTHONPATH:` leaves it: the folder itself
    dump = str(folder / "dumps" / "bench")
    job = start(client, problem=dump, benchmark=dump)
    assert finished(client, job["id"])["state"] == "done"
    assert not ran.exists()
