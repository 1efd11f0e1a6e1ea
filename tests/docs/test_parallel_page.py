"""The worked example of docs/howto/parallel.md, from the dumps to the first finding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from msprobe.cli import main
from tests.conftest import ROOT
from tests.docs.page import Block, blocks_of
from tests.docs.test_commands import check_output

PAGE = ROOT / "docs" / "howto" / "parallel.md"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parallel")
    for line in _block("about ten seconds").commands:
        if line[0].startswith("python "):
            words = line[0].split()[1:]
            command = [sys.executable, str(ROOT / words[0]), *words[1:]]
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
    return folder


def _block(title: str) -> Block:
    (found,) = [block for block in blocks_of(PAGE) if block.title == title]
    return found


def test_the_comparison_names_the_layer_that_does_not_add_up(
    dumps: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(dumps)
    block = _block("about ten seconds")
    command, shown = block.commands[-1]
    assert main(command.split()[1:]) == 0
    check_output(shown, capsys.readouterr().out, block, command)


def test_check_finds_something_without_a_benchmark(
    dumps: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(dumps)
    block = _block("exit code 4 when there are findings")
    ((command, shown),) = block.commands
    assert main(command.split()[1:]) == 4
    answer = capsys.readouterr().out
    check_output(shown, answer, block, command)
    assert "1. Module.layers.1.down.RowParallelLinear.forward.0 (step 0)" in answer
    assert "copies differ behind it" in answer  # the gradients of norms among them
