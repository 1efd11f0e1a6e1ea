"""A named pipe in a dump is refused by its path: no reader waits for a writer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builder.dump.tensor_files import TensorFileError, open_tensor, shape_of
from tests.msprobe.conftest import ROOT

SECONDS = 60
FILES = ("dump.json", "stack.json", "construct.json")
COMMANDS = {
    "compare": ("graph_visualize", "-tp", "{dump}", "-gp", "{sound}", "-o", "{out}"),
    "tables": ("compare", "-tp", "{dump}", "-gp", "{sound}", "-o", "{out}"),
    "overflow": ("overflow_check", "-i", "{dump}", "-o", "{out}"),
    "inspect": ("inspect", "{dump}"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_the_pipe(
    samples: Path, tmp_path: Path, name: str, command: str
) -> None:
    sound = samples / "statistics" / "bench"
    shutil.copytree(samples / "statistics" / "problem", tmp_path / "dump")
    (file,) = sorted((tmp_path / "dump" / "step0").glob(f"*/{name}"))[:1]
    file.unlink()
    os.mkfifo(file)
    places = {"dump": tmp_path / "dump", "sound": sound, "out": tmp_path / "out"}
    asked = [part.format(**places) for part in COMMANDS[command]]
    done = subprocess.run(
        [sys.executable, "-m", "msprobe", *asked],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=ROOT,
        check=False,
    )
    told = f"{done.stdout}{done.stderr}"
    if command == "inspect":
        assert "no regular file" in told
        return
    assert f"{file}: is a named pipe, socket or device, no regular file" in told
    assert done.returncode not in (0, 1)


@pytest.mark.parametrize("ending", [".pt", ".npy"])
def test_a_tensor_file_too(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"value{ending}"
    os.mkfifo(path)
    with pytest.raises(TensorFileError, match="no regular file"), open_tensor(path):
        raise AssertionError("it was opened")
    with pytest.raises(TensorFileError, match="no regular file"):
        shape_of(str(path))
