"""Files that another package replaced or took along, found by the hashes of the installation."""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata
from pathlib import Path

import pytest

from msprobe.doctor.installed_files import check_files


@pytest.fixture
def installed(tmp_path: Path) -> metadata.Distribution:
    """A distribution of two files and a script, as pip leaves it."""
    folder = tmp_path / "some_package-1.0.dist-info"
    folder.mkdir()
    lines = ["../../bin/some,sha256=replaced,1", f"{folder.name}/RECORD,,"]
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()).decode()
        lines.append(f"{name},sha256={digest.rstrip('=')},{len(name)}")
    (folder / "RECORD").write_text("\n".join(lines) + "\n")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n")
    return metadata.PathDistribution(folder)


def test_what_pip_left_is_no_problem(installed: metadata.Distribution) -> None:
    assert list(check_files(installed, "install it again")) == []


def test_replaced_and_missing_files_are_one_problem(
    installed: metadata.Distribution, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("another package's")
    (tmp_path / "b.py").unlink()
    (check,) = check_files(installed, "install it again")
    assert check.state == "problem"
    assert check.text == "2 of its files are missing or were replaced: a.py, b.py"
    assert check.next_step == "install it again"
