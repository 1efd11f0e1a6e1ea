"""Flags that acc_check and api_precision_compare share: where tables go, and what fails."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def add_out_path(parser: argparse.ArgumentParser) -> None:
    """`-o`."""
    parser.add_argument(
        "-o",
        "--out_path",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder for the two tables, made if need be [here]",
    )


def add_verdict(
    parser: argparse.ArgumentParser, standards: Sequence[str], default: str, meaning: str
) -> None:
    """`--standard` and `--fail-on-error`."""
    parser.add_argument(
        "--standard", choices=standards, default=default, help=f"{meaning} [{default}]"
    )
    parser.add_argument(
        "--fail-on-error", action="store_true", help="exit with code 4 if a call is an error"
    )
