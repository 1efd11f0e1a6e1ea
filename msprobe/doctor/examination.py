"""All checks that a path asks for: a log folder, a result file, a dump or a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msprobe.doctor.check import Check, note, problem
from msprobe.doctor.environment import check_environment

_DUMP_FILES = ("dump.json", "construct.json", "stack.json")


def examine(path: Path | None, config: Path | None = None) -> Iterator[Check]:
    """The environment, then the path or the configuration; with both, one against the other."""
    from msprobe.doctor.dumps import check_config

    yield from check_environment()
    if config is not None:
        yield from check_config(config, path)
    elif path is not None:
        yield from _path(path)


def _path(path: Path) -> Iterator[Check]:
    from msprobe.doctor.dumps import check_config, check_dump
    from msprobe.doctor.results import check_logdir, check_result

    if not path.exists():
        yield problem(str(path), "does not exist", "correct the path; relative ones start here")
    elif path.is_dir() and _looks_like_dump(path):
        yield from check_dump(path)
    elif path.is_dir():
        yield from check_logdir(path)
    elif path.suffix == ".json":
        yield from check_config(path)
    else:
        yield check_result(path)
        yield note(str(path), "is a file", f"give TensorBoard its folder: --logdir {path.parent}")


def _looks_like_dump(folder: Path) -> bool:
    if any((folder / name).exists() for name in _DUMP_FILES):
        return True
    folders = (child.name for child in folder.iterdir() if child.is_dir())
    return any(name.startswith(("step", "rank", "proc")) for name in folders)
