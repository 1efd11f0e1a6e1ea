"""The plugin inside a real TensorBoard process: every address, prefix and log folder form."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from tb_graph_ascend.plugin import GraphAscendLoader, log_folders

ROOT = Path(__file__).resolve().parents[2]
MOUNT = "/data/plugin/tb_graph_ascend"
WAIT_SECONDS = 60


@pytest.fixture(scope="module")
def logs(built: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    for name in ("one", "two"):
        (folder / name).mkdir()
        shutil.copy(built("statistics/problem", "statistics/bench"), folder / name / "r.vis.db")
    return folder


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that registers the plugin where the checkout is not installed."""
    folder = tmp_path_factory.mktemp("site")
    known = {point.name for point in entry_points(group="tensorboard_plugins")}
    if "tb_graph_ascend" not in known:
        metadata = folder / "plugin_of_the_checkout-0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 0\n")
        (metadata / "entry_points.txt").write_text(
            "[tensorboard_plugins]\ntb_graph_ascend = tb_graph_ascend.plugin:GraphAscendLoader\n"
        )
    return folder


Start = Callable[..., Any]


@pytest.fixture(scope="module")
def tensorboard(site_packages: Path) -> Start:
    @contextmanager
    def start(*flags: str) -> Iterator[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {**os.environ, "PYTHONPATH": f"{site_packages}{os.pathsep}{ROOT}"}
        process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--port", str(port), *flags],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port, process)
            yield f"http://localhost:{port}"
        finally:
            process.kill()
            process.wait()

    return start


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("TensorBoard did not start")


def fetch(url: str, **headers: str) -> tuple[int, str, Any]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


def send(url: str, body: object, **headers: str) -> tuple[int, Any]:
    data = json.dumps(body).encode()
    known = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, data=data, headers=known, method="POST")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_plugin_in_tensorboard(tensorboard: Start, logs: Path) -> None:
    with tensorboard("--logdir", str(logs)) as site:
        listed = json.loads(fetch(f"{site}/data/plugins_listing")[1])["tb_graph_ascend"]
        assert listed["enabled"] is True
        assert listed["loading_mechanism"]["module_path"] == f"{MOUNT}/index.js"
        frame = fetch(f"{site}/data/plugin_entry.html?name=tb_graph_ascend")[1]
        assert 'import("./index.js")' in frame
        module = fetch(f"{site}{MOUNT}/index.js")
        assert module[2]["Content-Type"].startswith("text/javascript")
        page = fetch(f"{site}{MOUNT}/index.html")
        assert (page[0], page[2]["X-Content-Type-Options"]) == (200, "nosniff")
        assert "unsafe-inline" not in page[2]["Content-Security-Policy"]
        databases = json.loads(fetch(f"{site}{MOUNT}/api/databases")[1])["databases"]
        assert {entry["path"] for entry in databases} == {"one/r.vis.db", "two/r.vis.db"}
        db = f"{site}{MOUNT}/api/databases/{databases[0]['id']}"
        assert json.loads(fetch(f"{db}/findings")[1])["findings"]
        code, text, _ = fetch(f"{db}/nothing")
        assert (code, set(json.loads(text))) == (404, {"error", "hint"})
        assert send(f"{db}/mappings", {}, Host="elsewhere.example")[0] == 403
        status, failure = send(f"{db}/mappings", {"problem": 1, "benchmark": 2})
        assert (status, failure["refused"][0]["reason"]["code"]) == (200, "same_side")


def test_plugin_behind_a_prefix_with_logdir_spec(tensorboard: Start, logs: Path) -> None:
    flags = ("--path_prefix", "/deep/prefix", "--graph_ascend_read_only")
    with tensorboard("--logdir_spec", f"a:{logs}/one,second:{logs}/two", *flags) as site:
        base = f"{site}/deep/prefix"
        listed = json.loads(fetch(f"{base}/data/plugins_listing")[1])["tb_graph_ascend"]
        assert listed["loading_mechanism"]["module_path"] == f"/deep/prefix{MOUNT}/index.js"
        answer = json.loads(fetch(f"{base}{MOUNT}/api/databases")[1])
        assert [entry["path"] for entry in answer["databases"]] == ["r.vis.db", "r.vis.db"]
        assert answer["searched"] == [f"{logs}/one", f"{logs}/two"]
        assert answer["read_only"] is True
        assert fetch(f"{base}{MOUNT}/index.html")[0] == 200
        db = f"{base}{MOUNT}/api/databases/{answer['databases'][0]['id']}"
        assert fetch(db)[0] == 200
        code, failure = send(f"{db}/mappings", {"problem": 1, "benchmark": 2})
        assert (code, "read-only" in failure["error"]) == (403, True)


@pytest.mark.parametrize(
    ("logdir", "spec", "folders"),
    [
        ("/a,b", "", ["/a,b"]),
        ("", "x:/a,/b,y:/c:d", ["/a", "/b", "/c:d"]),
        ("", "gs://bucket/x,/b", ["/b"]),
        ("", "", []),
        (None, None, []),
    ],
)
def test_log_folders_are_read_as_tensorboard_reads_them(
    logdir: str | None, spec: str | None, folders: list[str]
) -> None:
    assert [str(folder) for folder in log_folders(logdir, spec)] == folders


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    heavy = "{'flask', 'sqlalchemy', 'numpy', 'msgspec', 'torch', 'builder'}"
    code = (
        "import sys, tb_graph_ascend.plugin as p; "
        "from tensorboard.plugins.base_plugin import TBContext; "
        "plugin = p.GraphAscendLoader().load(TBContext(logdir='.')); plugin.is_active(); "
        f"plugin.get_plugin_apps(); print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_plugin_is_active_only_with_something_to_show(tmp_path: Path, logs: Path) -> None:
    from tensorboard.plugins.base_plugin import TBContext

    loader = GraphAscendLoader()
    assert loader.load(TBContext(logdir=str(logs))).is_active()
    assert not loader.load(TBContext(logdir=str(tmp_path))).is_active()
    assert not loader.load(TBContext(logdir=str(tmp_path / "missing"))).is_active()
