"""Installs releases of packages side by side, without torch, and records programs with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation.upstream.cases import Release

# What the packages need besides torch and numpy; one release of each serves all.
SHARED = (
    "huggingface_hub==0.35.3", "regex", "requests", "urllib3", "idna", "certifi",
    "charset-normalizer", "tqdm", "pyyaml", "filelock", "packaging", "hf-xet", "pillow",
    "importlib_metadata", "zipp", "psutil", "lightning-utilities", "aiohttp", "xxhash",
    "pyparsing", "cloudpickle", "safetensors", "accelerate", "einops", "einx", "loguru",
    "frozendict", "scipy", "fsspec", "kornia_rs==0.1.7",
)  # fmt: skip
# Releases of transformers take one release of tokenizers each.
_TOKENIZERS = ((4, 40, "0.15.2"), (4, 45, "0.19.1"), (4, 56, "0.21.4"), (9, 0, "0.22.1"))


class RecordingError(Exception):
    """A release does not run its program; the message is the last line of what it said."""


def folder_of(root: Path, package: str, release: str) -> Path:
    """Where a release lies below the folder of all."""
    return root / f"{package}-{release}"


def folders_of(case: Release, root: Path) -> tuple[Path, Path]:
    """Where the two releases of a pair are installed, the problem's first."""
    return (
        folder_of(root, case.package, case.problem),
        folder_of(root, case.package, case.benchmark),
    )


def search_path(root: Path, package: str, release: str) -> str:
    """PYTHONPATH of a process that is to import this release."""
    here = Path(__file__).resolve().parents[2]
    return os.pathsep.join(map(str, (folder_of(root, package, release), here, root / "shared")))


def install(root: Path, releases: Sequence[tuple[str, str]]) -> None:
    """Install what is not there yet; raises subprocess.CalledProcessError when pip fails."""
    root.mkdir(parents=True, exist_ok=True)
    _install(root / "shared", SHARED)
    for package, release in releases:
        extra = [f"tokenizers=={_tokenizers(release)}"] if package == "transformers" else []
        _install(folder_of(root, package, release), [f"{package}=={release}", *extra])


def _install(folder: Path, requirements: Sequence[str]) -> None:
    if folder.is_dir():
        return
    partial = folder.with_name(f"{folder.name}.partial")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    subprocess.run([*command, "--target", str(partial), *requirements], check=True)
    partial.rename(folder)


def _tokenizers(release: str) -> str:
    major, minor = (int(part) for part in release.split(".")[:2])
    return next(version for above, below, version in _TOKENIZERS if (major, minor) < (above, below))


def recorded(case: Release, root: Path, kept: Path) -> tuple[Path, Path]:
    """The dumps of both releases in a folder, recorded if need be. Raises RecordingError."""
    folder = kept / "".join(c if c.isalnum() else "_" for c in case.title)
    folder.mkdir(parents=True, exist_ok=True)
    dumps = folder / "problem", folder / "benchmark"
    done = folder / "recorded"
    if not done.exists():
        for release, dump in zip((case.problem, case.benchmark), dumps, strict=True):
            _record(case, release, dump, root)
        done.touch()
    return dumps


def _record(case: Release, release: str, dump: Path, root: Path) -> None:
    """Run the program in a process that imports this release."""
    shutil.rmtree(dump, ignore_errors=True)
    path = {"PYTHONPATH": search_path(root, case.package, release), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "evaluation.upstream.record", case.program]
    done = subprocess.run(
        [*command, str(dump)], env=path, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RecordingError(f"{release}: {done.stderr.strip().splitlines()[-1]}")
