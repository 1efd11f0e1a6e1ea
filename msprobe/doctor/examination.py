"""All checks that a path asks for: a log folder, a result file, a dump or a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from builder.dump.inspection.check import Check, note, problem
from msprobe.doctor.environment import check_environment


def examine(path: Path | None, config: Path | None = None) -> Iterator[Check]:
    """The environment, then the path or the configuration; with both, one against the other."""
    from msprobe.doctor.configuration import check_config

    yield from check_environment()
    if config is not None:
        yield from check_config(config, path)
    elif path is not None:
        yield from _path(path)


def _path(path: Path) -> Iterator[Check]:
    from builder.dump.inspection.dump_checks import check_dump
    from builder.dump.sources import looks_like_dump
    from msprobe.doctor.configuration import check_config
    from tb_graph_ascend.logdir_checks import check_logdir, check_result

    if not path.exists():
        yield problem(str(path), "does not exist", "correct the path; relative ones start here")
    elif path.is_dir() and looks_like_dump(path):
        yield from check_dump(path)
    elif path.is_dir():
        yield from check_logdir(path)
    elif path.suffix == ".json":
        yield from check_config(path)
    else:
        yield check_result(path)
        yield note(str(path), "is a file", f"give TensorBoard its folder: --logdir {path.parent}")
