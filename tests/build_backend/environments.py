"""The distribution built from a copy of the checkout, and environments to install it into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.conftest import ROOT

# pip and the build frontends warn of their own matters on stderr; only a failure counts here.
PLAIN = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
COMPILER = shutil.which("cc") or shutil.which("gcc")
if COMPILER is not None:  # it may lie beside Node, with the programs that it calls
    PLAIN["CC"] = f"{COMPILER} -B{Path(COMPILER).parent}"


def path_without_node() -> str:
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(
        folder
        for folder in folders
        if not any((Path(folder) / n).exists() for n in ("node", "npm"))
    )


def call(*command: object, cwd: Path, path: str | None = None, code: int = 0) -> str:
    environment = {**PLAIN, **({"PATH": path} if path is not None else {})}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def pip_for(python: Path) -> tuple[object, ...]:
    """The pip of the running environment, at work on another."""
    return (sys.executable, "-m", "pip", "--python", python)


def copy_checkout(place: Path) -> Path:
    """What git knows of the checkout, with the installed node_modules lent to it."""
    copy = place / "tree"
    listed = call("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / "node_modules").symlink_to(ROOT / "node_modules")
    return copy


def environment_with(wheel: Path, folder: Path) -> Path:
    """The scripts of a fresh environment with the wheel; what that needs is lent by this one."""
    # Without pip, for it brings a setuptools of its own that hides the one that torch asks for.
    call(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    install = (*pip_for(python), "install", "--quiet", "--no-deps", wheel)
    call(*install, cwd=folder, path=path_without_node())
    where = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    (Path(where.strip()) / "lent.pth").write_text(f"{_lend(folder / 'lent')}\n")
    return folder / "bin"


def _lend(folder: Path) -> Path:
    """All that is installed here but this project, which would be there twice."""
    folder.mkdir()
    for place in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
        for each in Path(place).iterdir():
            if "tb_graph_ascend" not in each.name:
                (folder / each.name).symlink_to(each)
    return folder
