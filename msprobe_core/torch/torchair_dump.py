"""Has torchair, the compiler of graphs for Ascend devices, dump the nodes of the graph it runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msprobe_core.errors import UnsupportedError

FOLDER = "msprobe_fx_dump"
"""The folder below `dump_path`, named as scripts for mindstudio-probe expect it."""


def set_fx_dump_config(
    dump_path: str = "",
    op_list: Sequence[str] | None = None,
    compiler_config: Any = None,
) -> Any:
    """Options for torchair's backend with which it dumps the inputs and outputs of FX nodes.

    The files lie in `msprobe_fx_dump` below `dump_path`. `op_list` holds parts of node names, in
    any case; None dumps all. Returns `compiler_config`, or new options. Raises UnsupportedError
    without torchair and TypeError for arguments of other types.
    """
    config_type = _config_type()
    if compiler_config is not None and not isinstance(compiler_config, config_type):
        raise TypeError(f"compiler_config is {compiler_config!r}; give a torchair CompilerConfig")
    if isinstance(op_list, str) or not all(isinstance(name, str) for name in op_list or ()):
        raise TypeError(f"op_list is {op_list!r}; give a list of texts")
    config = config_type() if compiler_config is None else compiler_config
    dump = config.debug.data_dump
    folder = Path(dump_path).resolve() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(dump, "path"):  # earlier releases of torchair have a folder of their own
        dump.path = str(folder)
    if op_list:
        dump.filter = _filter(op_list)
    dump.type = "npy"
    return config


def _config_type() -> Any:
    try:
        return importlib.import_module("torchair.configs.compiler_config").CompilerConfig
    except ImportError:
        raise UnsupportedError(
            "set_fx_dump_config sets options of torchair, which is not installed here; install "
            "torch_npu with torchair, or run the model in eager mode and use PrecisionDebugger"
        ) from None


def _filter(names: Sequence[str]) -> Callable[[Any], Any]:
    parts = [name.lower() for name in names]
    return lambda node: node if any(part in node.name.lower() for part in parts) else None
