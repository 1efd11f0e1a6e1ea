"""Which Pythons and torches `make versions` asks for, and that the project has one version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tomllib

from build_backend import versions
from tests.conftest import ROOT

LISTED = "torch (2.15.0)\nAvailable versions: 2.15.0, 2.14.1, 2.13.0+cpu, 2.13.0, 2.9.1, 2.1.0"


def test_every_python_from_the_first_allowed_on() -> None:
    assert versions.pythons(">=3.10") == ["3.10", "3.11", "3.12", "3.13"]
    with pytest.raises(AssertionError, match="no lower bound"):
        versions.pythons("==3.11")


@pytest.mark.parametrize(
    ("bound", "listed", "wanted"),
    [
        ("torch>=2.1", LISTED, ["2.1.0", "2.13.0", "2.15.0"]),
        ("torch>=2.13.0", LISTED, ["2.13.0", "2.15.0"]),
        ("torch>=2.1", "", ["2.1.0", "2.13.0"]),
    ],
)
def test_oldest_pinned_and_newest_torch(bound: str, listed: str, wanted: list[str]) -> None:
    makefile = "TORCH     = torch==2.13.0\n"
    assert versions.torches([bound, "isal>=1.6"], makefile, listed) == wanted


def test_the_interpreter_is_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = tmp_path / "bin" / "python3.99"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert versions.interpreter("3.99") is None
    kept = tmp_path / "pyenv" / "versions" / "3.99.1" / "bin" / "python"
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert versions.interpreter("3.99") == str(kept)


def test_what_is_run_is_there() -> None:
    assert all((ROOT / path).exists() for path in (*versions.CORE, *versions.WITHOUT_TORCH))


def test_the_page_has_the_version_of_the_project() -> None:
    """Node writes 1.0.0-rc.1 where Python writes 1.0.0rc1."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    node = re.sub(r"(?<=\d)(a|b|rc)(\d+)$", r"-\1.\2", project["version"])
    for name in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / name).read_text(encoding="utf-8"))["version"] == node, name
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    assert lock["packages"][""]["version"] == node
