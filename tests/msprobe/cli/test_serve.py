"""Serving results without TensorBoard."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from builder import build
from tests.msprobe.conftest import Run


def test_address_is_said_and_the_results_are_listed(
    program: Callable[..., subprocess.Popen[str]], samples: Path, tmp_path: Path
) -> None:
    side = samples / "statistics" / "bench"
    made = build(side, side, tmp_path).path
    process = program("serve", tmp_path, "--port", 0)
    assert process.stdout is not None
    address = process.stdout.readline().split()[0]
    with urllib.request.urlopen(f"{address}api/databases", timeout=30) as answer:
        listed = json.load(answer)["databases"]
    assert [entry["path"] for entry in listed] == [made.name]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_missing_folder_is_named(run: Run, tmp_path: Path) -> None:
    answer = run("serve", tmp_path / "none")
    assert answer.code == 1
    assert str(tmp_path / "none") in answer.err
    assert answer.err.count("\n") == 1


def test_taken_port_is_named(run: Run, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = run("serve", tmp_path, "--port", port)
    assert answer.code == 1
    assert f"127.0.0.1:{port}" in answer.err


@pytest.mark.parametrize("port", ["x", "-1", "70000"])
def test_port_that_is_none_is_refused(run: Run, tmp_path: Path, port: str) -> None:
    with pytest.raises(SystemExit) as ended:
        run("serve", tmp_path, f"--port={port}")
    assert ended.value.code == 2
