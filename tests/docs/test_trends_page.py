"""The way of docs/trends.md from a leap of the loss to a line of source, run as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "trends.md").read_text(encoding="utf-8")


ONE_TORCH = """
import atexit, os, runpy, shlex, subprocess, sys
import msprobe.pytorch

for line in sys.stdin.read().splitlines():
    command = shlex.split(line)
    if command[:1] != ["python"]:
        subprocess.run(["sh", "-c", line])
        continue
    process = os.fork()
    if process == 0:
        sys.argv = command[1:]
        runpy.run_path(command[1], run_name="__main__")
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(process, 0)
"""
"""Runs a line after the other, as a shell does; importing torch once instead of in each program."""


def test_the_commands_say_what_the_page_says(tmp_path: Path) -> None:
    section = PAGE.split("## From a leap")[1].split("\n## ")[0]
    blocks = re.findall(r"```(sh)?\n(.*?)```", section, re.DOTALL)
    commands = "\n".join(text for kind, text in blocks if kind == "sh")
    promised = "\n".join(text for kind, text in blocks if not kind)
    assert commands.count("loss_spike.py") == 4
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # `msprobe trend` says by its exit code that the runs part; it goes on after that.
    done = subprocess.run(
        [sys.executable, "-c", ONE_TORCH],
        input=commands,
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.replace(str(tmp_path) + "/", "").replace(str(ROOT) + "/", "")
    missing = [line for line in promised.splitlines() if line.strip() not in said]
    assert missing == [], said + done.stderr


def test_the_page_lists_every_field_that_has_no_effect() -> None:
    from msprobe.pytorch.monitor.monitor_settings import _NO_EFFECT

    assert [field for field in _NO_EFFECT if f"`{field}`" not in PAGE] == []
