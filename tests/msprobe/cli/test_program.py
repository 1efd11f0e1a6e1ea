"""Parsing, help, and how every mistake ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from builder import build
from msprobe.cli import diagnose, program
from msprobe.errors import CommandError
from tests.msprobe.conftest import Run

Program = Callable[..., subprocess.Popen[str]]


def test_help_lists_every_command(program: Program) -> None:
    out, _ = (process := program("--help")).communicate(timeout=60)
    assert process.returncode == 0
    for command in ("graph_visualize", "diagnose", "serve"):
        assert command in out


@pytest.mark.parametrize("arguments", [[], ["draw"], ["diagnose"], ["graph_visualize", "-tp", "x"]])
def test_wrong_usage_ends_with_code_2(run: Run, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2


def test_option_is_never_guessed_from_its_beginning(run: Run) -> None:
    with pytest.raises(SystemExit) as ended:
        run("diagnose", "x.vis.db", "--js")
    assert ended.value.code == 2


def test_mistake_is_one_line_and_debug_shows_where(run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "none.vis.db"
    answer = run("diagnose", missing)
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert str(missing) in answer.err
    with pytest.raises(Exception, match=r"none\.vis\.db"):
        run("diagnose", missing, "--debug")


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_options: object) -> int:
        raise error

    monkeypatch.setattr(diagnose, "run", fail)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            CommandError("port 80\nis taken", "choose another"),
            1,
            "port 80 is taken; choose another",
        ),
        (PermissionError(13, "Permission denied", "/some/file"), 1, "/some/file: Permission"),
        (RuntimeError("odd"), 1, "internal error: RuntimeError: odd; run again with --debug"),
    ],
)
def test_every_exception_becomes_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, words: str
) -> None:
    failing(monkeypatch, error)
    answer = run("diagnose", "x.vis.db")
    assert (answer.code, answer.err.count("\n")) == (code, 1)
    assert words in answer.err


def graph_visualize_of(samples: Path, tmp_path: Path) -> Path:
    sides = samples / "statistics"
    return build(sides / "problem", sides / "bench", tmp_path).path


def test_reader_that_leaves_early_is_no_error(
    program: Program, samples: Path, tmp_path: Path
) -> None:
    made = graph_visualize_of(samples, tmp_path)
    process = program("diagnose", made, "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


def test_commands_have_distinct_names() -> None:
    names = [command.__name__ for command in program.COMMANDS]
    assert len(set(names)) == len(names)
