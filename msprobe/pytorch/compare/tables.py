"""The Python forms of `msprobe compare`: one pair of files, the ranks of two steps, and `-da`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from builder.errors import InputError

if TYPE_CHECKING:
    from builder.match.rollout_mapping import Backend
    from builder.tables.comparing import TableOptions, TablesResult

Place = str | Path
_SWITCHES = (
    *("fuzzy_match", "xlsx", "first_diff_analyze", "is_print_compare_log"),
    "consistent_check",
)
_FILES = ("data_mapping", "cell_mapping", "layer_mapping", "config")
_BACKENDS = ("fsdp", "megatron")


def pt_compare(
    input_param: Mapping[str, object], output_path: Place, **options: object
) -> TablesResult:
    """Compare two dump.json (or debug.json) files, ranks, steps or whole dumps into tables.

    `input_param` holds npu_path, bench_path and perhaps is_print_compare_log. Options are
    fuzzy_match, xlsx, first_diff_analyze, data_mapping (a path or a dictionary), cell_mapping,
    layer_mapping, config (matrices), consistent_check with backend ("fsdp" or "megatron"), and
    suffix, which stands in the tables' names before the time. Raises InputError for what cannot be
    used and OutputError when nothing can be written; the result lists the files.
    """
    given = dict(options)
    problem = _side(input_param, "npu_path", "npu_json_path")
    benchmark = _side(input_param, "bench_path", "bench_json_path")
    given.setdefault("is_print_compare_log", input_param.get("is_print_compare_log", False))
    return _compare(problem, benchmark, Path(output_path), given)


def compare_ranks(
    npu_dump_dir: Place, bench_dump_dir: Place, output_path: Place, **options: object
) -> TablesResult:
    """Compare all ranks of two step folders, or two whole dumps, a table for each rank."""
    if "suffix" in options:
        raise InputError("suffix: tables of several ranks are named by rank", "leave suffix out")
    return _compare(Path(npu_dump_dir), Path(bench_dump_dir), Path(output_path), options)


def pt_diff_analyze(
    npu_dump_dir: Place,
    bench_dump_dir: Place,
    output_path: Place,
    first_diff_analyze: bool = True,
    **options: object,
) -> TablesResult:
    """Say over all ranks where the runs begin to differ, as the JSON files of `-da`."""
    given = {**options, "first_diff_analyze": first_diff_analyze}
    return _compare(Path(npu_dump_dir), Path(bench_dump_dir), Path(output_path), given)


def _compare(
    problem: Path, benchmark: Path, output: Path, given: Mapping[str, object]
) -> TablesResult:
    from builder.tables.comparing import compare_into_tables

    return compare_into_tables(problem, benchmark, output, _table_options(given))


def _table_options(given: Mapping[str, object]) -> TableOptions:
    from builder import BuildOptions
    from builder.tables.comparing import TableOptions

    _check(given)
    return TableOptions(
        form="xlsx" if given.get("xlsx") else "csv",
        first_differences=bool(given.get("first_diff_analyze")),
        log=_log if given.get("is_print_compare_log") else None,
        suffix=str(given.get("suffix") or ""),
        backend=_backend(given),
        matrices=_path(given.get("config")),
        build=BuildOptions(
            fuzzy_match=bool(given.get("fuzzy_match")),
            data_mapping=_data_mapping(given.get("data_mapping")),
            cell_mapping=_path(given.get("cell_mapping")),
            layer_mapping=_path(given.get("layer_mapping")),
        ),
    )


def _check(given: Mapping[str, object]) -> None:
    known = (*_SWITCHES, *_FILES, "backend", "suffix")
    for name, value in given.items():
        if name not in known:
            raise InputError(f"{name}: no option of compare", f"choose from {', '.join(known)}")
        if name in _SWITCHES and not isinstance(value, bool):
            raise InputError(f"{name}: {value!r} is no switch", "give True or False")


def _backend(given: Mapping[str, object]) -> Backend | None:
    backend, wanted = given.get("backend"), given.get("consistent_check", False)
    if wanted and backend not in _BACKENDS:
        raise InputError(
            f"backend: {backend!r}; consistent_check translates the names of what trains",
            f"give {' or '.join(_BACKENDS)}",
        )
    if backend is not None and not wanted:
        raise InputError("backend: belongs to consistent_check", "give both or none")
    return "fsdp" if backend == "fsdp" else "megatron" if wanted else None


def _path(given: object) -> Path | None:
    return Path(str(given)) if given else None


def _data_mapping(given: object) -> Path | dict[str, str] | None:
    if isinstance(given, Mapping):
        return {str(name): str(other) for name, other in given.items()}
    return _path(given)


def _side(given: Mapping[str, object], *names: str) -> Path:
    for name in names:
        path = given.get(name)
        if isinstance(path, str | Path):
            return Path(path)
    raise InputError(f"{names[0]}: missing in input_param", "give the path of that side")


def _log(line: str) -> None:
    print(f"[msprobe] {line}", file=sys.stderr)
