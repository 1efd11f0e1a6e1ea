"""The viewer of mindstudio-probe, in its own TensorBoard, over a `.trend.db` that we export.

`PEER=/path make contract`: the environment that mindstudio-probe is installed in. A package
tb-graph-ascend beside it is left out: both have a plugin of one name, which ends TensorBoard.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.series.run import TrendRun
from msprobe.trends.exporting import export
from msprobe_core.format.series import SEGMENT
from tests.builder.series.stores import write_steps

PEER = os.environ.get("PEER")
pytestmark = pytest.mark.skipif(PEER is None, reason="PEER names no environment of the peer")

STATISTICS = ("norm", "min", "max", "mean", "nans", "zeros")
_STARTS_WITHIN_S = 120


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks with a series each, in which a value is NaN and one infinite."""
    folder = tmp_path_factory.mktemp("run")
    values = np.random.default_rng(0).lognormal(0, 3, (SEGMENT + 5, 3))
    values[7, 0], values[9, 1] = np.nan, np.inf
    write_steps(folder, values, range(len(values)))
    write_steps(folder, values, range(len(values)), rank=1, kind="actv")
    return export(TrendRun(folder), "trend.db", tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def viewer(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert PEER is not None
    packages = tmp_path_factory.mktemp("packages")
    for path in next(Path(PEER).glob("lib/python3*/site-packages")).iterdir():
        if not path.name.startswith("tb_graph_ascend"):
            (packages / path.name).symlink_to(path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    python = (Path(PEER) / "bin/python").resolve()
    # Not in this folder, where our msprobe would stand in front of its own.
    command = [python, "-m", "tensorboard.main", "--logdir", database.parent, "--port", str(port)]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages)}
    with subprocess.Popen(command, env=environment, cwd=packages, **quiet) as process:
        yield _answering(f"http://localhost:{port}/data/plugin/TrendVis/", process)
        process.kill()


def _answering(address: str, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        try:
            ask(address, "db_files")
        except OSError:
            time.sleep(1)
        else:
            return address
    process.kill()
    raise AssertionError(f"the viewer does not answer; it ended with {process.wait()}")


def ask(address: str, route: str, **body: object) -> Any:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(address + route, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found = json.load(answer)
    assert found["success"], found
    return found["data"]


def test_it_finds_metrics_statistics_and_layers(viewer: str) -> None:
    assert ask(viewer, "db_files") == ["monitor_data.trend.db"]
    metrics = {each["name"]: sorted(each["stats"]) for each in ask(viewer, "metrics")}
    assert metrics == dict.fromkeys(("actv", "grad_reduced"), sorted(STATISTICS))
    tags = {tag["text"] for tag in ask(viewer, "tags?metric=actv")}
    assert {"layers.0", "layers.1", "layers.2"} <= tags


@pytest.mark.parametrize("metric", ["grad_reduced", "actv"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_it_draws_every_step_rank_and_module(
    viewer: str, database: Path, metric: str, statistic: str
) -> None:
    query = {"metric": metric, "stat": statistic, "tags": []}
    for dimension in ("step", "rank", "module_name"):
        places = list(ask(viewer, "values", dimension=dimension, **query))
        value = places[0 if metric == "grad_reduced" else -1]  # each is of one rank
        where = {"dimension": dimension, "value": value, **query}
        cells = ask(viewer, "heatmap_data", **where)
        assert cells, dimension
        x, y, _ = cells[-1]
        at = y[0] if isinstance(y, list) else y
        line = ask(viewer, "trend", dimX=str(x), dimYIdx=str(at), **where)
        assert len(line["dimensions"]) == len(line["values"]) > 0
    with sqlite3.connect(database) as ours:
        stored = ours.execute(
            f"SELECT {statistic} FROM trend_data JOIN monitoring_metrics USING (metric_id) "
            "WHERE metric_name = ? AND step = 7 ORDER BY target_id",
            (metric,),
        ).fetchall()
    seen = ask(viewer, "heatmap_data", dimension="step", value="7", **query)
    assert [value for _, _, value in seen] == [value for (value,) in stored]
