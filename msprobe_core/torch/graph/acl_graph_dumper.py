"""AclGraphDumper and acl_save: recording of graphs that are captured once and replayed.

The names, the folders and the way of counting are those that inference engines rely on.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from msprobe_core.config import Config, read_config
from msprobe_core.errors import ConfigError, LifecycleError
from msprobe_core.report import say
from msprobe_core.torch.graph.graph_capture import GraphCapture
from msprobe_core.torch.graph.graph_recorder import new_capture
from msprobe_core.torch.graph.operators import IS_SUPPORTED, define_operators, is_capturing
from msprobe_core.torch.graph.step_dump import StepDump
from msprobe_core.torch.rank import current_rank


class AclGraphDumper:
    """Records what captured or compiled graphs compute, one folder per step and process.

    `start` comes once, before anything is captured or compiled; there is no `stop`: a step ends
    with `step`. Raises ConfigError and UnsupportedError.
    """

    def __init__(self, config_path: str | Path | None = None) -> None:
        self._path = config_path
        self._config = _read(config_path)
        self._step = 0
        self._has_ended = False
        self._folder = Path.cwd()
        self._capture: GraphCapture | None = None

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config

    def start(self, model: torch.nn.Module) -> None:
        """Hook the model's modules, itself among them. Raises LifecycleError for what is none, and
        while a graph is being captured: tables are allocated and hooks set before.
        """
        if not isinstance(model, torch.nn.Module):
            raise LifecycleError(f"start({model!r}); give the model")
        if is_capturing():
            raise LifecycleError(
                "start while a graph is being captured; call it once after the model is loaded"
            )
        if self._capture is None:
            self._capture = new_capture(self._config, served=True)
        self._capture.start(model)
        self._switch()

    def step(self, dump: bool = True) -> None:
        """End the step: its folder is written, and the next is counted. `dump=False` forgets what
        was recorded and does not count.
        """
        capture = self._capture
        if capture is None or self._has_ended:
            return
        rows = capture.log.take()
        try:
            if dump:
                if rows or self._records():
                    self._write(capture, rows)
                self._step += 1
        except OSError as error:
            self._end(f"{self._config.dump_path}: {error.strerror or error}")
        capture.log.clear()
        self._reread()
        self._switch()

    def close(self) -> None:
        """Take the hooks off."""
        if self._capture is not None:
            self._capture.close()
            self._capture = None

    def _write(self, capture: GraphCapture, rows: list[Any]) -> None:
        if not self._records():
            return
        path = str(self._folder / self._config.dump_path)
        config = replace(self._config, dump_path=path, list=())
        dump = StepDump(
            config,
            self._step,
            current_rank(),
            self._wants,
            "pid",
        )
        seen = dump.write(rows, capture.log.lost, capture.log.errors, capture.facts)
        capture.say_unseen(seen)
        if dump.output.failed:
            self._has_ended = True

    def _wants(self, name: str) -> bool:
        if not self._config.records_modules and name.startswith("Module."):
            return False
        parts = self._config.list
        return not parts or any(part.lower() in name.lower() for part in parts)

    def _records(self) -> bool:
        config, rank = self._config, current_rank()
        if config.dump_enable is False or (config.step and self._step not in config.step):
            return False
        return not config.rank or rank is None or rank in config.rank

    def _switch(self) -> None:
        if self._capture is not None:
            kept = self._records() and not self._has_ended
            self._capture.log.switch(forward=kept, gradients=kept)

    def _reread(self) -> None:
        if self._config.dump_enable is None:
            return
        try:
            fresh = _read(self._path)
        except ConfigError as error:
            say(f"{error}; the settings of before stay in force")
            return
        self._config = fresh

    def _end(self, reason: str) -> None:
        self._has_ended = True
        say(f"{reason}; dumping has ended, the run goes on")


def acl_save(tensor: torch.Tensor, path: str) -> torch.Tensor:
    """Save a tensor as `<path without its ending>_<n>.pt`, n counting from 0, and return it.

    In code that torch.compile compiles each run saves. While a CUDA or ACL graph is captured
    nothing can be written: that raises LifecycleError.
    """
    if not IS_SUPPORTED:
        define_operators()  # says what is missing
    torch.ops.msprobe.save(tensor, path)
    return tensor


if IS_SUPPORTED:
    define_operators()  # before dynamo looks for the operator


def _read(config_path: str | Path | None) -> Config:
    raw = _raw(config_path)
    level = None if "level" in raw else "L0"
    config = read_config(config_path, level=level, capture="graph")
    if "dump_path" not in raw:
        raise ConfigError(f"{config_path}: dump_path is missing", "it must be given")
    return config


def _raw(config_path: str | Path | None) -> dict[str, Any]:
    if config_path is None:
        raise ConfigError("AclGraphDumper()", "give config_path, a file with dump_path")
    try:
        raw = json.loads(Path(config_path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # read_config says what is wrong with it
    return raw if isinstance(raw, dict) else {}
