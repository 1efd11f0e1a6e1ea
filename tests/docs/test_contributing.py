"""The worked examples of CONTRIBUTING.md, followed step by step in a copy of the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build_backend.environments import copy_checkout
from tests.conftest import ROOT
from tests.docs.page import Block, blocks_of

PAGE = ROOT / "CONTRIBUTING.md"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return copy_checkout(tmp_path)


def _blocks(example: str) -> tuple[Block, Block]:
    """The change and the commands below a heading."""
    text = PAGE.read_text(encoding="utf-8")
    begin = text.count("\n", 0, text.index(f"### {example}\n")) + 1
    change, commands = [block for block in blocks_of(PAGE) if block.line > begin][:2]
    return change, commands


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def _apply(which: str, checkout: Path) -> None:
    """Apply the tests of a change (`--include`) or the rest of it (`--exclude`)."""
    done = _run(f"git apply --verbose {which}='tests/*' change.diff", checkout)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", ["A command", "A column", "A rule"])
def test_the_example_can_be_followed(example: str, checkout: Path) -> None:
    if example == "A rule" and not (ROOT / "node_modules").is_dir():
        pytest.skip("npm ci has not run here, which writes the page's types")
    change, commands = _blocks(example)
    assert change.language == "diff"
    tests = commands.commands[-1][0]
    assert tests.startswith("pytest -q ")
    (checkout / "change.diff").write_text(change.body, encoding="utf-8")
    _apply("--include", checkout)
    before = _run(tests, checkout)
    assert before.returncode != 0, "its tests pass without the change"
    _apply("--exclude", checkout)
    for command, _ in commands.commands:
        done = _run(command, checkout)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
