"""Makes what a release consists of: the sdist, a wheel with the kernel and one for any platform.

`python build_backend/release.py FOLDER` builds both wheels from the sdist, as pip would. Node is
needed for the sdist alone, a C compiler for the first wheel alone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build_release(folder: Path) -> list[Path]:
    """Build into a folder; one wheel where there is no compiler.

    CalledProcessError: a build failed, and what pip said of it was shown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _python("build", "--sdist", "--outdir", str(folder), str(ROOT))
    sdist = max(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)
    for settings in ([], ["-C", "kernel=off"]):
        target = ["--no-cache-dir", "--no-deps", "--wheel-dir", str(folder)]
        _python("pip", "wheel", "--quiet", *settings, *target, str(sdist))
    stem = sdist.name.removesuffix(".tar.gz")
    return [sdist, *sorted(folder.glob(f"{stem}-*.whl"))]


def _python(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


if __name__ == "__main__":
    for made in build_release(Path(sys.argv[1])):
        print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")
