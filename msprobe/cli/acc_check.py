"""`msprobe acc_check`: is each recorded operator right on this device, forward and backward?

The short and long flags are those that users of msprobe have in their scripts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.outcome import Exit
from msprobe.cli.table_flags import add_out_path, add_verdict

if TYPE_CHECKING:
    from msprobe.acc_check.rows import CallRow
    from msprobe.acc_check.session import Options, Outcome

SUMMARY = "run each recorded call again, alone, and say which operators are wrong on this device"
STANDARDS = ("rounding", "msprobe", "absolute", "ulp", "binary", "thousandth")
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    add_places(parser)
    add_comparison(parser)


def add_places(parser: argparse.ArgumentParser) -> None:
    """The flags that say what is read and where the tables go."""
    parser.add_argument(
        "-api_info",
        "--api_info_file",
        type=Path,
        required=True,
        metavar="JSON",
        help="a dump.json of level L1 or mix",
    )
    add_out_path(parser)
    parser.add_argument(
        "-save_error_data",
        action="store_true",
        help="keep inputs and both outputs of calls that are not right",
    )
    parser.add_argument(
        "-csv_path",
        "--result_csv_path",
        type=Path,
        metavar="CSV",
        help="accuracy_checking_result_<time>.csv of a run that broke: go on with it",
    )
    parser.add_argument(
        "-f",
        "--filter_api",
        action="store_true",
        help="check calls that differ in numbers only once",
    )
    parser.add_argument(
        "-config",
        "--config_path",
        type=Path,
        metavar="JSON",
        help="config.json whose block acc_check names APIs to check or to leave out",
    )


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """The flags that say what is compared with what, and how."""
    parser.add_argument(
        "-d",
        "--device",
        nargs="+",
        default=[],
        metavar="DEVICE",
        help="id of the accelerator, or cpu, cuda:0, npu:0, compile [the first accelerator; on a "
        "machine without one the CPU]",
    )
    parser.add_argument(
        "--reference",
        default="float64",
        metavar="REFERENCE",
        help="float64 (on the CPU), cpu or another device in the call's own format [float64]",
    )
    parser.add_argument(
        "-j", "--jit_compile", action="store_true", help="compile operators just in time (NPU)"
    )
    parser.add_argument("--seed", type=int, default=1234, help="of drawn data [1234]")
    parser.add_argument(
        "--timeout",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="a call that takes longer is ended and becomes an error [300]",
    )
    meaning = "what the verdict comes from: rounding, or a former fixed threshold"
    add_verdict(parser, STANDARDS, "rounding", meaning)


def run(options: argparse.Namespace) -> Exit:
    """Check in one process of its own."""
    return check(options, processes=1)


def check(options: argparse.Namespace, processes: int) -> Exit:
    """Check, append the tables, and say which calls are not right."""
    from builder.processes.interrupts import stopped_by_sigterm
    from msprobe.acc_check.session import run_check

    with stopped_by_sigterm():
        outcome = run_check(_options(options, processes), _progress)
    print("\n".join(_report(outcome)))
    if outcome.statuses["SKIP"] == outcome.planned:
        return Exit.NOTHING_COMPARABLE
    failed = options.fail_on_error and outcome.statuses["error"]
    return Exit.DIVERGED if failed else Exit.DONE


def _options(options: argparse.Namespace, processes: int) -> Options:
    from msprobe.acc_check.session import Options

    return Options(
        dump=options.api_info_file,
        folder=options.out_path,
        save_error_data=options.save_error_data,
        jit_compile=options.jit_compile,
        devices=tuple(options.device),
        reference=options.reference,
        resumed=options.result_csv_path,
        without_repetitions=options.filter_api,
        config=options.config_path,
        processes=processes,
        seed=options.seed,
        seconds=options.timeout,
        standard=options.standard,
    )


def _progress(done: int, total: int, row: CallRow) -> None:
    if row.forward in ("warning", "error") or row.backward in ("warning", "error"):
        verdict = f"forward {row.forward}, backward {row.backward.strip() or 'not recorded'}"
        print(f"[{done}/{total}] {row.name}: {verdict}", file=sys.stderr, flush=True)


def _report(outcome: Outcome) -> list[str]:
    counts = ", ".join(
        f"{outcome.statuses[status]} {status}" for status in ("pass", "warning", "error", "SKIP")
    )
    rate = f" ({outcome.done / outcome.seconds:.0f} calls/s)" if outcome.seconds else ""
    lines = [
        f"compared: {outcome.pair}",
        f"calls: {outcome.done} in {outcome.seconds:.1f} s{rate}: {counts}",
    ]
    if outcome.resumed:
        lines.append(f"taken up: {outcome.resumed} calls had their rows already")
    if not outcome.planned:
        lines.append("note: the dump has no call to check; record level L1 or mix, with values")
    lines += [f"note: white_list names {name}; no such call" for name in outcome.unknown_names]
    lines += [_line(row) for row in outcome.not_right[:_SHOWN]]
    hidden = len(outcome.not_right) - _SHOWN
    lines += [f"… and {hidden} more; the tables list them"] if hidden > 0 else []
    if outcome.error_data is not None and outcome.not_right:
        lines.append(f"data: {outcome.error_data}")
    return [*lines, f"result: {outcome.tables.result}", f"details: {outcome.tables.details}"]


def _line(row: CallRow) -> str:
    bad = next((v for v in row.values if v.status in ("error", "warning")), None)
    why = row.message if bad is None else f"{bad.name.removeprefix(row.name + '.')}: {bad.message}"
    status = "error" if "error" in (row.forward, row.backward) else "warning"
    return f"{status}: {row.name}: {why}"
