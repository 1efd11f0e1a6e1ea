"""`msprobe compare`: two dumps value by value, as the tables that users' scripts read.

Both command lines are understood: today's `-tp -gp`, and `-i compare.json` of before 2025-11.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.build_summary import beginning
from msprobe.cli.dump_flags import add_naming, add_sides, add_tensor_log, add_workers, naming
from msprobe.cli.outcome import Exit, exit_of
from msprobe.cli.progress import Progress
from msprobe.errors import CommandError
from msprobe_core.format.frameworks import (
    PYTORCH,
    framework_of_static_graphs,
    translated_frameworks,
)

if TYPE_CHECKING:
    from builder import BuildOptions
    from builder.tables.comparing import TableOptions, TablesResult

SUMMARY = "compare two dumps value by value into csv or xlsx tables"
OUTPUT = Path("output")
NAMES_ONLY = Path()  # -cm or -am without a file
_BACKENDS = ("fsdp", "megatron")
_FOREIGN_MODES = ("offline_data", "torchair", "offline_model", "atb")
_SIDES = ("npu_path", "bench_path")  # of compare.json
_STATIC_GRAPHS = framework_of_static_graphs().display
_TRANSLATED = " or ".join(framework.display for framework in translated_frameworks())
# What mindstudio-probe has for dumps that only an NPU writes.
_FOREIGN_FLAGS = {
    "rank": f"--rank chooses kernels of {_STATIC_GRAPHS}",
    "step": f"--step chooses kernels of {_STATIC_GRAPHS}",
    "fusion_rule_file": "-fr belongs to fused NPU graphs",
    "quant_fusion_rule_file": "-qfr belongs to fused NPU graphs",
    "close_fusion_rule_file": "-cfr belongs to fused NPU graphs",
    "input_data": "--input_data belongs to offline models",
    "input_shape": "--input_shape belongs to offline models",
    "output_size": "--output_size belongs to offline models",
    "dym_shape_range": "--dym_shape_range belongs to offline models",
    "ofs": "-ofs belongs to offline models",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    _add_places(parser)
    _add_pairing(parser)
    _add_former(parser)
    _add_foreign(parser)


def _add_places(parser: argparse.ArgumentParser) -> None:
    kinds = "dump.json or debug.json, a rank, a step or a whole dump"
    add_sides(parser, kinds, place=Path, required=False)
    parser.add_argument(
        "-o",
        "--output_path",
        type=Path,
        nargs="?",
        default=OUTPUT,
        const=OUTPUT,
        metavar="DIR",
        help="folder for the tables, made if need be [./output]",
    )
    parser.add_argument("--xlsx", action="store_true", help="spreadsheets in place of csv")
    parser.add_argument(
        "-da",
        "--diff_analyze",
        action="store_true",
        help="say over all ranks where the runs begin to differ, as JSON",
    )
    add_tensor_log(parser, "two lines per value while tensors are compared")
    add_workers(parser)


def _add_pairing(parser: argparse.ArgumentParser) -> None:
    add_naming(parser)
    parser.add_argument(
        "-cm",
        "--cell_mapping",
        type=Path,
        nargs="?",
        const=NAMES_ONLY,
        metavar="YAML",
        help="`<path>.<Class>: <path>.<Class>` lines that rename modules",
    )
    parser.add_argument(
        "-am",
        "--api_mapping",
        type=Path,
        nargs="?",
        const=NAMES_ONLY,
        metavar="YAML",
        help=f"which calls of {_TRANSLATED} are which of {PYTORCH.display}, where names "
        "do not tell",
    )
    parser.add_argument(
        "-dm", "--data_mapping", type=Path, metavar="YAML", help="pair single values by full name"
    )
    parser.add_argument(
        "--consistent_check",
        action="store_true",
        help="compare a training run with an inference run of the same model; needs --backend",
    )
    parser.add_argument(
        "--backend", choices=_BACKENDS, help="what trains: its names of modules are translated"
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="YAML",
        help="matrices to multiply tensors with before they are compared",
    )


def _add_former(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-i",
        "--input_path",
        type=Path,
        metavar="JSON",
        help="compare.json of earlier releases: npu_path, bench_path, is_print_compare_log",
    )
    parser.add_argument("-f", dest="fuzzy_match", action="store_true", help="earlier name of -fm")
    for flag, meaning in (
        ("-s", "stacks stand in the table wherever the dump has them"),
        ("-c", "tables alone are written anyway"),
        ("-hl", "the column Result says what colours said"),
    ):
        parser.add_argument(flag, dest="former", action="append_const", const=flag, help=meaning)


def _add_foreign(parser: argparse.ArgumentParser) -> None:
    modes = ("auto", *_FOREIGN_MODES)
    parser.add_argument("-m", "--mode", choices=modes, default="auto", help=argparse.SUPPRESS)
    short = {
        "fusion_rule_file": ("-fr",),
        "quant_fusion_rule_file": ("-qfr",),
        "close_fusion_rule_file": ("-cfr",),
    }
    for name in _FOREIGN_FLAGS:
        flags = (*short.get(name, ()), f"--{name}") if name != "ofs" else ("-ofs",)
        parser.add_argument(*flags, dest=name, nargs="*", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> Exit:
    """Compare, write the tables and say where they lie and where the difference begins."""
    _refuse_foreign(options)
    _check_backend(options)
    problem, benchmark = _places(options)
    from builder.tables.comparing import compare_into_tables

    progress = Progress(sys.stderr)
    try:
        result = compare_into_tables(
            problem, benchmark, options.output_path, _table_options(options), progress
        )
    finally:
        progress.close()
    print_summary(result)
    return exit_code(result)


def _refuse_foreign(options: argparse.Namespace) -> None:
    if options.mode != "auto":
        raise CommandError(
            f"-m {options.mode} compares dumps that only an NPU writes",
            "leave -m out for dumps of PyTorch",
        )
    for name, meaning in _FOREIGN_FLAGS.items():
        if getattr(options, name) is not None:
            raise CommandError(meaning, "leave it out")


def _check_backend(options: argparse.Namespace) -> None:
    if options.consistent_check and options.backend is None:
        raise CommandError("--consistent_check needs --backend", "give fsdp or megatron")
    if options.backend is not None and not options.consistent_check:
        raise CommandError("--backend belongs to --consistent_check", "give both or none")


def _places(options: argparse.Namespace) -> tuple[Path, Path]:
    if options.input_path is not None:
        return _former_places(options)
    if options.target_path is None or options.golden_path is None:
        missing = "-tp" if options.target_path is None else "-gp"
        raise CommandError(f"{missing} is missing", "give both sides, or -i compare.json")
    return options.target_path, options.golden_path


def _former_places(options: argparse.Namespace) -> tuple[Path, Path]:
    from msprobe_core.format.bounded import parse_json

    path = options.input_path
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", "give -i a compare.json") from error
    except ValueError as error:
        raise CommandError(f"{path}: no valid JSON ({error})", "correct it") from error
    sides = [content.get(key) for key in _SIDES] if isinstance(content, dict) else []
    paths = [Path(side) for side in sides if isinstance(side, str)]
    if len(paths) != len(_SIDES):
        raise CommandError(
            f"{path}: {' and '.join(_SIDES)} are not both there", "give both, as text"
        )
    options.is_print_compare_log |= content.get("is_print_compare_log") is True
    return paths[0], paths[1]


def _table_options(options: argparse.Namespace) -> TableOptions:
    from builder.tables.comparing import TableOptions

    return TableOptions(
        form="xlsx" if options.xlsx else "csv",
        first_differences=options.diff_analyze,
        log=_log if options.is_print_compare_log else None,
        backend=options.backend,
        matrices=options.config,
        build=_build_options(options),
    )


def _build_options(options: argparse.Namespace) -> BuildOptions:
    from builder import BuildOptions

    return BuildOptions(
        # Cell and Module are the same word to the matching, and it knows the calls' names.
        cell_mapping=None if options.cell_mapping == NAMES_ONLY else options.cell_mapping,
        data_mapping=options.data_mapping,
        api_mapping=None if options.api_mapping == NAMES_ONLY else options.api_mapping,
        workers=options.workers,
        **naming(options),
    )


def _log(line: str) -> None:
    print(f"[msprobe] {line}", file=sys.stderr)


def print_summary(result: TablesResult) -> None:
    """What was compared, where it begins to differ, and the files."""
    from builder.reasons import sentence
    from builder.work.outcome import notes_on

    for missing in result.missing:
        print(
            f"note: step {missing.step} rank {missing.rank} exists on the {missing.side} side only"
        )
    for outcome in result.failed:
        print(f"failed: step {outcome.step} rank {outcome.rank}: {outcome.error}")
    for outcome in result.outcomes:
        for note in outcome.notes:
            print(f"note: step {outcome.step} rank {outcome.rank}: {note}")
    for reason in (*result.notes, *notes_on(result.outcomes)):
        print(f"note: {sentence(reason)}")
    if not result.compared_values and not result.failed:
        print("note: no value of one run could be compared with one of the other; dump both with")
        print("      the same task (statistics or tensor) and summary_mode")
    print(f"begins: {_beginning(result)}")
    for file in result.files:
        print(f"file: {file}")


def _beginning(result: TablesResult) -> str:
    rated = [each.rated for each in result.outcomes if each.rated is not None and each.rated.count]
    if not rated or result.findings:
        return beginning(result.findings, result.outcomes, result.claim)
    count = sum(rows.count for rows in rated)
    said = "; ".join(json.loads(rated[0].messages))
    return f"no call is named, but rows are rated error ({count}), first {rated[0].name}: {said}"


def exit_code(result: TablesResult) -> Exit:
    """The exit code that tells whether the tables can be trusted."""
    return exit_of(result.claim)
