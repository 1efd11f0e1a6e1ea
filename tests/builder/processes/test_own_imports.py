"""Children of ours import what their parent imports, wherever the command runs."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builder.processes.own_imports import own_imports, python_command


def shadowed(folder: Path, *names: str) -> Path:
    """A folder whose modules leave a file when they are run."""
    ran = folder / "ran"
    for name in names:
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()\n", encoding="utf-8")
    return ran


def test_a_new_python_has_the_search_path_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = shadowed(tmp_path, "builder", "os", "socket")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "told.py").write_text(
        "import socket, builder, sys\ndef main(): print(builder.__file__)\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(elsewhere)
    command = python_command("told")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert Path(done.stdout.strip()).name == "__init__.py"
    assert not ran.exists()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="such a Python always looks there first")
def test_spawned_child_takes_nothing_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = shadowed(tmp_path, "multiprocessing", "pickle", "array")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    process = multiprocessing.get_context("spawn").Process(target=abs, args=(1,))
    with own_imports():
        process.start()
    process.join()
    assert process.exitcode == 0
    assert not ran.exists()
    assert "PYTHONSAFEPATH" not in os.environ
