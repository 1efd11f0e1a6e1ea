"""Checks of a configuration file, and of the dump that it says is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from builder.dump.inspection.check import Check, note, ok, problem
from builder.dump.inspection.dump_checks import NOTHING_RECORDED, check_dump

if TYPE_CHECKING:
    from msprobe_core.config import Config


def check_config(file: Path, dump: Path | None = None) -> Iterator[Check]:
    """A configuration file, and its dump: the given one, or the one that it names."""
    from msprobe_core.config import read_config
    from msprobe_core.errors import ConfigError

    try:
        config = read_config(file)
    except ConfigError as error:
        yield problem(str(file), error.message, error.hint)
        return
    yield ok(str(file), f"task {config.task}, level {config.level}, dump_path {config.dump_path}")
    yield from _level(config)
    folder = dump or Path(config.dump_path)
    if not folder.is_dir():
        yield _no_folder(folder)
        return
    yield from check_dump(folder, config)


def _no_folder(folder: Path) -> Check:
    parent = next(each for each in folder.absolute().parents if each.is_dir())
    if not os.access(parent, os.W_OK):
        mend = f"choose another dump_path or chmod u+w {parent}"
        return problem(str(folder), f"cannot be made: {parent} is not writable", mend)
    return problem(str(folder), "nothing has been dumped there", NOTHING_RECORDED)


def _level(config: Config) -> Iterator[Check]:
    if config.level == "L1":
        text = "level L1 records calls without modules: its graph is flat"
        yield note("level", text, 'set "level": "mix" for modules')
    if config.dump_enable is False:
        yield problem("dump_enable", "is false: nothing is recorded", "set it true, or remove it")
