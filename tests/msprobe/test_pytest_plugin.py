"""The fixture `precision_diff` in a session of pytest as a user starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from msprobe.pytest_plugin import configured_threshold
from tests.builder.dumps import forward, tensor, write_dump

CALL = "Torch.op.0.forward"
STACK = {"0": [[CALL], ["File /job/model.py, line 14, in forward, \n y = op(x)"]]}
TESTS = """
def test_equal(precision_diff):
    result = precision_diff("again", "sound")
    assert result.all_clear and result.path.exists() and "no difference found" in result.text

def test_twice(precision_diff):
    paths = [precision_diff("again", "sound").path for _ in range(2)]
    assert paths[0] != paths[1] and all(path.exists() for path in paths)

def test_wrong(precision_diff):
    precision_diff("wrong", "sound")

def test_longer(precision_diff):
    precision_diff("longer", "sound")

def test_near(precision_diff):
    precision_diff("near", "sound")

def test_near_enough(precision_diff):
    assert not precision_diff("near", "sound", threshold=0.9).all_clear

def test_wrong_beyond(precision_diff):
    precision_diff("wrong", "sound", threshold=0.2)

def test_nowhere(precision_diff):
    precision_diff("nowhere", "sound")

def test_zero(precision_diff):
    precision_diff("again", "sound", threshold=0.0)

def test_nan(precision_diff):
    precision_diff("again", "sound", threshold=float("nan"))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps of a sound run, one off by a factor, one off by little, and one with a call more."""
    folder = tmp_path_factory.mktemp("runs")
    outputs = {"sound": 2.0, "again": 2.0, "wrong": 3.0, "near": 2.002}
    for name, out in outputs.items():
        data = {CALL: forward([tensor(1.0)], [tensor(out)])}
        write_dump(folder / name, data, {CALL: None}, STACK)
    more = {name: forward([tensor(1.0)], [tensor(2.0)]) for name in (CALL, "Torch.more.0.forward")}
    write_dump(folder / "longer", more, dict.fromkeys(more), STACK)
    (folder / "test_it.py").write_text(TESTS)
    return folder


def session(folder: Path, *options: str) -> str:
    # Other plugins take more time than the comparisons; docs/howto/ci.md is run with all of them.
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "msprobe.pytest_plugin", *options]
    done = subprocess.run(
        command, cwd=folder, env=alone, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def said(runs: Path) -> str:
    return session(runs, "-rA")


def outcome(said: str, test: str) -> str:
    (found,) = re.findall(rf"^(PASSED|FAILED|ERROR) test_it.py::{test}(?: |$)", said, re.MULTILINE)
    return str(found)


def failure(said: str, test: str) -> str:
    """What a test that failed says."""
    text = said.partition(f" {test} _")[2]
    return re.split(r"^_+ test_|^=+ ", text, maxsplit=1, flags=re.MULTILINE)[0]


def test_runs_that_agree_pass_with_their_claim(said: str) -> None:
    assert outcome(said, "test_equal") == "PASSED"
    assert outcome(said, "test_twice") == "PASSED"


def test_a_difference_fails_with_the_first_findings_text(said: str) -> None:
    assert outcome(said, "test_wrong") == "FAILED"
    text = failure(said, "test_wrong")
    assert f"1. {CALL} (api, forward, step 0" in text
    assert "File /job/model.py, line 14, in forward, y = op(x)" in text
    assert "msprobe serve " in text
    assert "pytest_plugin.py" not in text


def test_what_was_not_compared_whole_is_no_all_clear(said: str) -> None:
    assert outcome(said, "test_longer") == "FAILED"
    assert "1 nodes have no partner" in failure(said, "test_longer")


def test_a_threshold_lets_smaller_differences_pass(said: str) -> None:
    assert outcome(said, "test_near") == "FAILED"
    assert outcome(said, "test_near_enough") == "PASSED"
    assert outcome(said, "test_wrong_beyond") == "FAILED"


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("test_nowhere", "nowhere"),
        ("test_zero", "a threshold of 0.0 is no score between 0 and 1"),
        ("test_nan", "a threshold of nan is no score between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_fails_in_words(said: str, test: str, words: str) -> None:
    assert outcome(said, test) == "FAILED"
    assert words in failure(said, test)


def test_a_project_has_one_threshold(runs: Path) -> None:
    said = session(runs, "-rA", "-o", "precision_threshold=0.9", "-k", "near")
    assert outcome(said, "test_near") == "PASSED"


def test_a_wrong_threshold_of_a_project_is_said() -> None:
    with pytest.raises(pytest.UsageError, match="high: is no number; give a score between 0 and 1"):
        configured_threshold("high")


def test_a_session_that_does_not_use_it_loads_nothing() -> None:
    heavy = "{'numpy', 'sqlalchemy', 'msgspec', 'builder', 'torch', 'mcp'}"
    code = f"import msprobe.pytest_plugin, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
