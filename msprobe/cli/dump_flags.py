"""Flags that several commands over dumps share, each declared once.

The short and long names are those that users of msprobe have in their scripts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

BY_POSITION = Path()  # -lm without a file


class Naming(TypedDict):
    """What `add_naming` lets a user say, as options of a build."""

    fuzzy_match: bool
    layer_mapping: Path | None
    match_by_position: bool


def add_sides(
    parser: argparse.ArgumentParser,
    what: str,
    *,
    place: Callable[[str], Path | str],
    required: bool,
) -> None:
    """`-tp` and `-gp`; `what` says what kinds of dump they take, `place` reads where it is."""
    parser.add_argument(
        "-tp",
        "--target_path",
        type=place,
        required=required,
        metavar="PATH",
        help=f"dump of the problem run: {what}",
    )
    parser.add_argument(
        "-gp",
        "--golden_path",
        type=place,
        metavar="PATH",
        help="dump of the benchmark run, of the same kind",
    )


def add_naming(parser: argparse.ArgumentParser) -> None:
    """`-lm` and `-fm`: modules of other names."""
    parser.add_argument(
        "-lm",
        "--layer_mapping",
        type=Path,
        nargs="?",
        const=BY_POSITION,
        metavar="YAML",
        help="names that differ between the runs; without a file modules pair by position",
    )
    parser.add_argument(
        "-fm",
        "--fuzzy_match",
        action="store_true",
        help="also pair modules of other names where position and parameter shapes agree",
    )


def naming(options: argparse.Namespace) -> Naming:
    """What the flags of `add_naming` say."""
    by_position = options.layer_mapping == BY_POSITION
    return Naming(
        fuzzy_match=options.fuzzy_match,
        layer_mapping=None if by_position else options.layer_mapping,
        match_by_position=by_position,
    )


def add_tensor_log(parser: argparse.ArgumentParser, meaning: str) -> None:
    """`-tensor_log`."""
    parser.add_argument("-tensor_log", "--is_print_compare_log", action="store_true", help=meaning)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """`--workers`."""
    parser.add_argument(
        "--workers",
        type=_number_of_processes,
        metavar="N",
        help="processes at the same time [as many as cores]",
    )


def location(text: str) -> str:
    """A path, or an address such as s3://bucket/run, as it is written without a last slash."""
    from builder.storage.folder import is_address

    return text.rstrip("/") if is_address(text) else str(Path(text))


def _number_of_processes(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; give 1 or more")
    return int(text)
