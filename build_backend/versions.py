"""Runs the dumper's core tests under every Python and torch that pyproject.toml allows.

`python build_backend/versions.py FOLDER` makes a virtual environment a pair there. Of torch the
oldest release that is allowed, the one of the Makefile and the newest of the registry are taken, as
builds for the CPU alone (TORCH_INDEX names a registry that has more of them). Where a Python gets
no torch, the tests that need none run. What could not be installed is said at the end; only a test
that fails is a failure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
NEWEST_PYTHON = 13  # the newest 3.x that torch has wheels for, beside the first that we allow
CORE = (
    "tests/msprobe_core/test_debugger.py",
    "tests/msprobe_core/test_sample_names.py",
    "tests/msprobe_core/test_bit_identity.py",
    "tests/msprobe_core/torch/record",
    "tests/msprobe_core/torch/watch",
    "tests/msprobe_core/torch/memory",
    "tests/msprobe_core/values",
    "tests/msprobe_core/writer",
)
WITHOUT_TORCH = (
    "tests/msprobe_core/config/test_reading.py",
    "tests/msprobe_core/values/test_crc.py",
)
_TOOLS = ("pytest>=8.2", "hypothesis>=6.100")
_TORCH = re.compile(r"^TORCH\s*=\s*torch==(\S+)", re.MULTILINE)
_PYTHON, _OLDEST = re.compile(r">=3\.(\d+)"), re.compile(r"torch>=([\d.]+)")


def pythons(requires: str) -> list[str]:
    """The releases from the first that `requires-python` allows on."""
    first = _PYTHON.search(requires)
    assert first is not None, f"requires-python has no lower bound: {requires}"
    return [f"3.{minor}" for minor in range(int(first[1]), NEWEST_PYTHON + 1)]


def torches(extra: list[str], makefile: str, listed: str) -> list[str]:
    """The oldest torch that is allowed, the pinned one and the newest, each once.

    `listed` is what `pip index versions torch` printed.
    """
    bounds = [found[1] for found in map(_OLDEST.match, extra) if found is not None]
    pinned = _TORCH.search(makefile)
    assert bounds, "the extra names no torch"
    assert pinned is not None, "the Makefile pins no torch"
    oldest = bounds[0] if bounds[0].count(".") == 2 else f"{bounds[0]}.0"
    released = re.findall(r"\b\d+\.\d+\.\d+\b", listed.partition("Available versions:")[2])
    newest = max(released, key=_ordered, default=pinned[1])
    return list(dict.fromkeys((oldest, pinned[1], newest)))


def interpreter(release: str) -> str | None:
    """The command of a Python: on the path, or among those of pyenv."""
    found = shutil.which(f"python{release}")
    if found is not None and _runs(found):
        return found
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(home.glob(f"versions/{release}.*/bin/python"))
    return str(kept[-1]) if kept else None


def main(folder: Path) -> int:
    """Install and test; 1 where a test failed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    said: list[str] = []
    failed = False
    for release in pythons(project["requires-python"]):
        command = interpreter(release)
        if command is None:
            said.append(f"Python {release}: not installed here")
            continue
        ask = [command, "-m", "pip", "index", "versions", "torch", *_index()]
        listed = subprocess.run(ask, capture_output=True, text=True, check=False).stdout
        versions = torches(project["optional-dependencies"]["dump"], makefile, listed)
        results = list(_tested(command, release, versions, folder, project["dependencies"]))
        said += [text for text, _ in results]
        failed = failed or not all(is_good for _, is_good in results)
    print("\n" + "\n".join(said))
    return int(failed)


def _tested(
    command: str, release: str, versions: list[str], folder: Path, needs: list[str]
) -> Iterator[tuple[str, bool]]:
    """What became of each torch under one Python, and whether its tests passed."""
    has_torch = False
    for version in versions:
        place = folder / f"python{release}-torch{version}"
        head = f"Python {release}, torch {version}"
        if not _is_installed(command, place, [*_torch(version), *needs, *_TOOLS]):
            yield f"{head}: no build for the CPU in the registry", True
            continue
        has_torch = True
        is_good = _test(place, CORE, ())
        yield f"{head}: the core tests {'pass' if is_good else 'FAIL'}", is_good
    if not has_torch:
        place, head = folder / f"python{release}", f"Python {release} without torch"
        if not _is_installed(command, place, [*needs, *_TOOLS]):
            yield f"{head}: its dependencies are not in the registry", True
            return
        is_good = _test(place, WITHOUT_TORCH, ("--noconftest",))
        yield f"{head}: the tests that need none {'pass' if is_good else 'FAIL'}", is_good


def _torch(version: str) -> list[str]:
    """On Linux a plain wheel brings CUDA; torch before 2.3 was built for NumPy 1."""
    build = f"torch=={version}+cpu" if sys.platform == "linux" else f"torch=={version}"
    return [build, *(["numpy<2"] if _ordered(version) < (2, 3) else [])]


def _is_installed(command: str, place: Path, wanted: list[str]) -> bool:
    if (place / ".whole").exists():
        return True
    subprocess.run([command, "-m", "venv", "--clear", str(place)], check=True)
    install = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", *_index()]
    done = subprocess.run([*install, *wanted], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        (place / ".whole").touch()
        return True
    shutil.rmtree(place)
    if "No matching distribution" not in done.stderr:
        print(done.stderr, file=sys.stderr)
    return False


def _test(place: Path, tests: tuple[str, ...], flags: tuple[str, ...]) -> bool:
    command = [str(place / "bin" / "python"), "-m", "pytest", "--quiet", *flags]
    command += ["-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def _index() -> list[str]:
    index = os.environ.get("TORCH_INDEX")
    return ["--extra-index-url", index] if index else []


def _runs(command: str) -> bool:
    """Whether a command is more than a shim of pyenv for a Python that is not chosen."""
    asked = subprocess.run([command, "-c", ""], capture_output=True, check=False)
    return asked.returncode == 0


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
