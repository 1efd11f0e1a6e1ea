"""What cannot be asked for together, and what needs hardware or a framework that is not here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msprobe_core.config.model import Config
from msprobe_core.config.schema import EXCEPTION_DUMP
from msprobe_core.errors import ConfigError
from msprobe_core.format import NameSyntaxError, parse_entry
from msprobe_core.format.frameworks import framework_of_static_graphs

_STATIC_GRAPHS = framework_of_static_graphs().display
Conflict = tuple[str, str]
"""What is wrong, and what to do."""
_TASKS_ELSEWHERE = {
    "acc_check": ("the accuracy pre-check is another tool", "choose statistics or tensor"),
    "free_benchmark": ("it is another tool", "choose statistics or tensor"),
    "nan_analyze": ("it is another tool", "choose overflow_check"),
}


def refuse_unsupported(place: str, raw: dict[str, Any], of_kernels: bool = False) -> None:
    """Raise ConfigError for tasks and levels that this dumper does not have, saying why.

    `of_kernels` tells that its framework dumps the kernels of a static graph (level L2).
    """
    task, level = raw.get("task"), raw.get("level")
    if isinstance(task, str) and task in _TASKS_ELSEWHERE:
        why, instead = _TASKS_ELSEWHERE[task]
        raise ConfigError(f"{place}: task is {task!r}; {why}", instead)
    if task == EXCEPTION_DUMP and not (of_kernels and level == "L2"):
        why = "it is for level L2" if of_kernels else f"it exists for {_STATIC_GRAPHS} only"
        raise ConfigError(f"{place}: task is {task!r}; {why}", "choose overflow_check")


def refuse_impossible(
    place: str, config: Config, explicit: Iterable[str], of_kernels: bool = False
) -> None:
    """Raise ConfigError when two fields exclude each other.

    `explicit` are the section's keys, `of_kernels` as for `refuse_unsupported`.
    """
    keys = set(explicit)
    for problem in (
        _scope(config),
        _name_lists(config, of_kernels),
        _asynchronous(config),
        _benchmark(config, keys),
        _format_of_files(config, of_kernels),
        _data_mode(config),
        _debug_level(config),
        _graph_mode(config),
        _rows(config, of_kernels),
        _kernels(config) if of_kernels else _kernels_of_calls(config),
    ):
        if problem:
            what, mend = problem
            raise ConfigError(f"{place}: {what}", mend)


def _scope(config: Config) -> Conflict | None:
    if not config.scope:
        return None
    if len(config.scope) != 2:
        return f"scope has {len(config.scope)} names", "it must have exactly two"
    for name in config.scope:
        try:
            entry = parse_entry(name)
        except NameSyntaxError as error:
            return f"scope: {error}", "copy a name from dump.json"
        wanted = {"L0": "module", "L1": "api"}.get(config.level)
        if wanted and entry.kind != wanted:
            kinds = {"module": "module names", "api": "API names"}
            return f"scope has {name!r}", f"level {config.level} takes {kinds[wanted]} only"
    return None


def _name_lists(config: Config, of_kernels: bool) -> Conflict | None:
    for key in ("list", "tensor_list"):
        for name in getattr(config, key):
            if name.startswith("name-regex(") and not (of_kernels and config.level == "L2"):
                return (
                    f"{key} has {name!r}; expressions exist for {_STATIC_GRAPHS} "
                    "static graphs only",
                    "write a part of the name, such as 'relu'",
                )
    return None


def _asynchronous(config: Config) -> Conflict | None:
    if not config.async_dump:
        return None
    if config.summary_mode != "statistics":
        return f"async_dump is true with summary_mode {config.summary_mode!r}", "set one of the two"
    if config.task == "tensor" and not config.list:
        return "async_dump is true with task tensor", "name what to save in list, or set it false"
    return None


def _benchmark(config: Config, explicit: set[str]) -> Conflict | None:
    if config.bench_path is None:
        if "diff_nums" in explicit:
            return "diff_nums is set without bench_path", "give bench_path or remove diff_nums"
        return None
    if config.summary_mode != "md5":
        what = f"bench_path is set with summary_mode {config.summary_mode!r}"
        return what, "set summary_mode to 'md5'"
    if config.diff_nums == 0 or config.diff_nums < -1:
        return f"diff_nums is {config.diff_nums}", "allowed is -1 or a number from 1 up"
    if not Path(config.bench_path).is_dir():
        return f"bench_path is {config.bench_path!r}, which is no folder", "give a dump"
    return None


def _format_of_files(config: Config, of_kernels: bool) -> Conflict | None:
    if config.file_format is None or (config.level, config.file_format) == ("L2", "npy"):
        return None
    if of_kernels:
        return (
            f"file_format is {config.file_format!r} at level {config.level}; {_STATIC_GRAPHS} "
            "writes .npy",
            "remove it",
        )
    return (
        f"file_format is {config.file_format!r}; it belongs to {_STATIC_GRAPHS}'s kernel dumps "
        "(level L2)",
        "remove it: tensors are saved as .pt",
    )


def _data_mode(config: Config) -> Conflict | None:
    if "all" in config.data_mode and len(config.data_mode) > 1:
        return f"data_mode is {sorted(config.data_mode)}", "'all' stands alone"
    return None


def _graph_mode(config: Config) -> Conflict | None:
    if config.capture != "graph":
        return None
    wrong = {
        "task": config.task != "statistics",
        "level": config.level in ("debug", "L2"),
        "scope": bool(config.scope),
        "summary_mode": config.summary_mode != "statistics",
        "tensor_list": bool(config.tensor_list),
        "slice": bool(config.slice),
        "request_id": config.request_id is not None,
        "async_dump": config.async_dump,
        "rows": config.rows,
        "load": config.load is not None,
        "graft": config.graft is not None,
    }
    found = [key for key, is_wrong in wrong.items() if is_wrong]
    if not found:
        return None
    return (
        f"{found[0]} is {getattr(config, found[0])!r} in graph mode",
        "graph mode records statistics at levels L0, L1 and mix, without scope, checksums, files "
        'of tensors, slices, load and graft; set "capture": "eager" for those',
    )


def _rows(config: Config, of_kernels: bool) -> Conflict | None:
    if config.rows and of_kernels:
        return "rows is true, which exists for PyTorch only", "choose task tensor"
    if config.rows and config.level not in ("L0", "mix"):
        return f"rows is true at level {config.level!r}", "choose L0 or mix, which have modules"
    if config.rows and config.task not in ("statistics", "tensor"):
        return f"rows is true with task {config.task!r}", "choose statistics"
    return None


def _debug_level(config: Config) -> Conflict | None:
    if config.level != "debug":
        return None
    if config.scope or config.list or config.tensor_list:
        return (
            "level debug records what debugger.save is given",
            "remove scope, list and tensor_list",
        )
    if config.task in ("structure", "overflow_check"):
        return f"level debug has no task {config.task!r}", "choose statistics or tensor"
    return None


def _kernels_of_calls(config: Config) -> Conflict | None:
    """The kernels below all calls of a step would be many times the calls: some must be named."""
    if config.level != "L2" or config.list:
        return None
    return (
        "level is 'L2' without list",
        "name the calls or modules whose kernels to record, as they are in dump.json",
    )


def _kernels(config: Config) -> Conflict | None:
    """What kernels of a static graph do not have: modules, passes, parts of tensors."""
    if config.level != "L2":
        return None
    wrong = {
        "task": config.task == "structure",
        "scope": bool(config.scope),
        "tensor_list": bool(config.tensor_list),
        "data_mode": bool(config.data_mode - {"all", "input", "output"}),
        "summary_mode": config.summary_mode == "xor",
        "slice": bool(config.slice),
        "request_id": config.request_id is not None,
        "async_dump": config.async_dump,
        "bench_path": config.bench_path is not None,
    }
    found = [key for key, is_wrong in wrong.items() if is_wrong]
    if not found:
        return None
    value = getattr(config, found[0])
    return (
        f"{found[0]} is {sorted(value) if isinstance(value, frozenset) else value!r} at level L2",
        "kernels are selected by list, step, rank, and data_mode input or output; remove it",
    )
