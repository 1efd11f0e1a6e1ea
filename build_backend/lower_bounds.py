"""Runs the tests with the oldest dependencies that pyproject.toml allows.

`python build_backend/lower_bounds.py FOLDER [pytest arguments]` makes a virtual environment there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BOUND = re.compile(r'^\s*"([A-Za-z0-9._-]+)>=([0-9.]+)"', re.MULTILINE)
# The torch is the newest: the oldest one has no build for the NumPy that goes with new Pythons.
_TESTS = ("tests/builder", "tests/tb_graph_ascend", "tests/msprobe")
# TensorBoard before 2.21 imports pkg_resources, which later releases of setuptools do not have.
_TOOLS = ("pytest>=8.2", "hypothesis>=6.100", "schemathesis>=4.0", "setuptools<81")
# What was deprecated by newer Pythons since those releases is not ours to mend.
_PYTEST = ("--quiet", "-W", "default", "-p", "no:cacheprovider")


def oldest_requirements(root: Path = ROOT) -> list[str]:
    """The dependencies of the project, each at its lower bound."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.partition("\ndependencies = [\n")[2].partition("\n]")[0]
    bounds = _BOUND.findall(listed)
    assert len(bounds) == len(listed.splitlines()), "every dependency has a lower bound"
    return [f"{name}=={version}" for name, version in bounds]


def main(folder: Path, arguments: list[str]) -> int:
    """Install and test; pytest's exit code."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet"]
    pinned = oldest_requirements()
    print("with", ", ".join(pinned), flush=True)
    torch = next(line for line in (ROOT / "Makefile").read_text().splitlines() if "torch==" in line)
    subprocess.run([*install, *pinned, *_TOOLS, torch.split("=", 1)[1].strip()], check=True)
    subprocess.run([*install, "--no-deps", "--editable", str(ROOT)], check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    tests = arguments or list(_TESTS)
    done = subprocess.run([python, "-m", "pytest", *_PYTEST, *tests], cwd=ROOT, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
