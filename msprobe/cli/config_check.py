"""`msprobe config_check`: what were two runs started with, and where do they differ?

The short and long flags are those that users of mindstudio-probe have in their scripts.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli import ckpt_compare
from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msprobe.config_check.log_comparison import Framework, Row

SUMMARY = "pack what a run was started with, or compare two packs, logs or checkpoints"
_DEFAULTS = {
    "dump": Path("config_check_pack.zip"),
    "compare": Path("config_check_result"),
    "verl_compare": Path("verl_param_compare_result"),
    "verl_verify": Path("verl_param_verify_result"),
    "slime_compare": Path("slime_param_compare_result"),
}
_LISTED = 10
_LOGGING: tuple[Framework, ...] = ("verl", "slime")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    _add_tasks(parser.add_mutually_exclusive_group(required=True))
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="where to write: a zip for -d, a JSON file for checkpoints, a folder for all others",
    )
    parser.add_argument(
        "--fail-on",
        choices=("warning", "error"),
        help="exit with code 4 when an item of the comparison is as bad as this",
    )
    ckpt_compare.add_checkpoint_options(parser)


def _add_tasks(tasks: argparse._MutuallyExclusiveGroup) -> None:
    tasks.add_argument(
        "-d",
        "--dump",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="pack environment, packages and the hyper-parameters of these *.sh and *.yaml",
    )
    tasks.add_argument(
        "-c",
        "--compare",
        type=Path,
        nargs=2,
        metavar=("BENCH", "CMP"),
        help="compare two packs (*.zip), or two checkpoints",
    )
    for short, framework, what in (
        ("-vc", "verl", "configurations"),
        ("-sc", "slime", "arguments"),
    ):
        tasks.add_argument(
            short,
            f"--{framework}-compare",
            type=Path,
            nargs=2,
            metavar=("NPU_LOG", "BENCH_LOG"),
            help=f"compare the {what} in two logs of {framework}",
        )
    tasks.add_argument(
        "-vv",
        "--verl-verify",
        type=Path,
        nargs="+",
        metavar="[BENCH_YAML] LOG",
        help="check a log of verl against expected values, built in or in a YAML file",
    )


def run(options: argparse.Namespace) -> Exit:
    """Do the one task that was asked for."""
    _check_options(options)
    if options.dump is not None:
        return _pack(options.dump, _output(options, "dump"))
    if options.compare is not None:
        return _compare(options)
    for framework in _LOGGING:
        logs = getattr(options, f"{framework}_compare")
        if logs is not None:
            return _compare_logs(framework, logs, _output(options, f"{framework}_compare"), options)
    return _verify(options.verl_verify, _output(options, "verl_verify"), options)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse flags that the task would not read."""
    checkpoints = options.compare is not None and not any(
        path.suffix == ".zip" for path in options.compare
    )
    if checkpoints and options.fail_on is not None:
        raise CommandError("--fail-on is for packs and logs", "checkpoints take --fail-above")
    if options.dump is not None and options.fail_on is not None:
        raise CommandError("--fail-on is for comparisons", "leave it out with -d")
    if not checkpoints and (options.fail_above is not None or options.mapping is not None):
        raise CommandError(
            "--fail-above and --mapping are for checkpoints", "others take --fail-on"
        )


def _output(options: argparse.Namespace, task: str) -> Path:
    given: Path | None = options.output
    return _DEFAULTS[task] if given is None else given


def _pack(files: list[Path], output: Path) -> Exit:
    from msprobe.config_check.pack import write_pack

    write_pack(output, files)
    print(f"file: {output}")
    return Exit.DONE


def _compare(options: argparse.Namespace) -> Exit:
    first, second = options.compare
    packs = [path.suffix == ".zip" for path in options.compare]
    if not any(packs):
        output = options.output or ckpt_compare.DEFAULT_OUTPUT
        return ckpt_compare.compare(first, second, output, options)
    if not all(packs):
        raise CommandError(f"{first}, {second}: one is a pack and one is not", "give two of a kind")
    return _compare_packs(first, second, _output(options, "compare"), options.fail_on)


def _compare_packs(first: Path, second: Path, output: Path, fail_on: str | None) -> Exit:
    from msprobe.config_check.comparison import RESULT, compare_packs

    sheets = compare_packs(first, second, output)
    for sheet in sheets:
        print(f"{sheet.level:8}{sheet.name}")
    print(f"file: {output / RESULT}")
    bad = {"warning": ("warning", "error"), "error": ("error",)}.get(fail_on or "", ())
    return Exit.DIVERGED if any(sheet.level in bad for sheet in sheets) else Exit.DONE


def _compare_logs(
    framework: Framework, logs: list[Path], output: Path, options: argparse.Namespace
) -> Exit:
    from msprobe.config_check.log_comparison import compare_logs

    npu, bench = logs
    return _report(compare_logs(framework, npu, bench, output), output, options)


def _verify(given: list[Path], output: Path, options: argparse.Namespace) -> Exit:
    from msprobe.config_check.log_comparison import verify_log

    if len(given) > 2:
        raise CommandError(f"-vv: {len(given)} paths", "give a log, or a YAML file and a log")
    return _report(
        verify_log(given[0] if len(given) == 2 else None, given[-1], output), output, options
    )


def _report(rows: Sequence[Row], output: Path, options: argparse.Namespace) -> Exit:
    different = [row for row in rows if row[-1] == "否"]
    counts = Counter(row[-1] for row in rows)
    print(f"parameters: {counts['是']} equal, {counts['否']} different")
    for name, left, right, _ in different[:_LISTED]:
        print(f"  {name}: {left} | {right}")
    if len(different) > _LISTED:
        print(f"… and {len(different) - _LISTED} more; the table lists them")
    print(f"folder: {output}")
    return Exit.DIVERGED if different and options.fail_on else Exit.DONE
