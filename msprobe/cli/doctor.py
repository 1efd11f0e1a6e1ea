"""`msprobe doctor`: what is wrong with an installation, a log folder, a dump or a configuration."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.outcome import Exit

if TYPE_CHECKING:
    from msprobe.doctor import Check

SUMMARY = "say what is wrong: installation, missing tab, empty dump; each with the next step"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "path",
        type=Path,
        nargs="?",
        metavar="LOGDIR|DUMP",
        help="a folder of results, a result file, a dump or a configuration",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="the configuration that the dump was made with"
    )
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def run(options: argparse.Namespace) -> Exit:
    """Print all checks; code 1 when one of them found a problem."""
    from msprobe.doctor import examine

    checks = list(examine(options.path, options.config))
    if options.json:
        text = {"version": 1, "checks": [asdict(check) for check in checks]}
        print(json.dumps(text, indent=1, ensure_ascii=False))
    else:
        print("\n".join(line for check in checks for line in _lines(check)))
    return Exit.INPUT_ERROR if any(c.state == "problem" for c in checks) else Exit.DONE


def _lines(check: Check) -> list[str]:
    line = f"{check.state:8}{check.subject}: {check.text}"
    return [line] if check.next_step is None else [line, f"        next: {check.next_step}"]
