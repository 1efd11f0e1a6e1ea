"""Builds the React bundle with npm and webpack, when the sources are newer than the bundle.

`python build_backend/bundle.py` does the same as an install does.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bill_of_materials import LICENSES, SBOM, write_bill

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "tb_graph_ascend" / "static"
MINIMUM_NODE = 20
NODEENV_NODE = "22.12.0"

_ENTRY = STATIC / "index.html"
_STAMP = STATIC / ".sources"
_INPUTS = ("package.json", "package-lock.json", "webpack.config.js", "tsconfig.json")


class FrontEndError(RuntimeError):
    """The bundle could not be built; the text is the reason."""


def build_bundle() -> None:
    """Make tb_graph_ascend/static/ current; FrontEndError quotes the command that failed."""
    if carries_bundle():
        return
    digest = _sources_digest()
    if _STAMP.is_file() and _STAMP.read_text() == digest and _is_whole():
        return
    environment = _node_environment()
    if not _modules_current():
        _npm(["ci", "--no-audit", "--no-fund"], environment)
    _npm(["run", "build"], environment)
    if not _ENTRY.is_file():
        raise FrontEndError(f"npm run build ended without writing {_ENTRY}; see webpack.config.js")
    write_bill(STATIC)
    _STAMP.write_text(digest)


def carries_bundle() -> bool:
    """Whether this is an unpacked sdist that brought the built bundle along."""
    return (ROOT / "PKG-INFO").is_file() and _ENTRY.is_file()


def find_node() -> Path | None:
    """The Node on PATH if it is new enough and has npm beside it, else None."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.", answer.stdout)
    return Path(node) if version and int(version[1]) >= MINIMUM_NODE else None


def _is_whole() -> bool:
    return all((STATIC / name).is_file() for name in (_ENTRY.name, LICENSES, SBOM))


def _sources_digest() -> str:
    frontend = ROOT / "tb_graph_ascend" / "frontend"
    files = [ROOT / name for name in _INPUTS if (ROOT / name).is_file()]
    files += sorted(path for path in frontend.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _modules_current() -> bool:
    installed = ROOT / "node_modules" / ".package-lock.json"
    lock = ROOT / "package-lock.json"
    return installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime


def _node_environment() -> dict[str, str]:
    if find_node():
        return dict(os.environ)
    folder = ROOT / "build" / "nodeenv"
    if not (folder / "bin" / "node").is_file():
        command = [sys.executable, "-m", "nodeenv", "--prebuilt", f"--node={NODEENV_NODE}"]
        _run([*command, str(folder)], dict(os.environ), "install Node >= 20 and put it on PATH")
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    return {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"}


def _npm(arguments: list[str], environment: dict[str, str]) -> None:
    npm = shutil.which("npm", path=environment["PATH"])
    if npm is None:
        raise FrontEndError("npm is not beside the Node on PATH; install Node >= 20 with npm")
    _run([npm, *arguments], environment, "mend what npm says above, or install from a wheel")


def _run(command: list[str], environment: dict[str, str], advice: str) -> None:
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise FrontEndError(f"cannot run {command[0]}: {error}; {advice}") from error
    if done.returncode:
        words = (done.stdout + done.stderr).strip()[-4000:]
        raise FrontEndError(
            f"the front end was not built: `{' '.join(command)}` failed with code "
            f"{done.returncode}.\n{words}\n{advice}"
        )


if __name__ == "__main__":
    try:
        build_bundle()
    except FrontEndError as failure:
        sys.exit(str(failure))
