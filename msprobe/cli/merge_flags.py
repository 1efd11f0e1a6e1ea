"""The flags that say how a parallel run lies over its ranks, and whether they are merged.

Names, number of values and meaning of the first seven are those of mindstudio-probe.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msprobe.errors import CommandError

if TYPE_CHECKING:
    from builder.ranks.layout.coordinates import Sizes
    from builder.ranks.merge_options import MergeOptions

_Value = TypeVar("_Value")
_SIZES = {
    "rank_size": "ranks of either run",
    "tp": "tensor-parallel ranks",
    "pp": "pipeline stages",
    "vpp": "model chunks on a stage",
    "cp": "context-parallel ranks",
    "ep": "expert-parallel ranks",
    "etp": "tensor-parallel ranks of experts",
    "dp": "data-parallel ranks",
}


def add_size_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the sizes of the axes; dumps of our own dumper need none of them."""
    for name, meaning in _SIZES.items():
        parser.add_argument(
            f"--{name}",
            type=_size,
            nargs="+",
            metavar="N",
            help=f"{meaning}: problem and benchmark, or one number for both",
        )
    parser.add_argument(
        "--order",
        nargs="+",
        metavar="tp-cp-ep-dp-pp",
        help="the order in which ranks run through the axes, the fastest first",
    )


def add_merge_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the sizes, and whether and how ranks are merged."""
    add_size_flags(parser)
    parser.add_argument(
        "--merge",
        choices=("auto", "off", "require"),
        default="auto",
        help="join the ranks of a step into one logical run [auto: when the layouts differ or a "
        "size is given]",
    )
    parser.add_argument(
        "--micro-batches",
        choices=("auto", "pair", "concat"),
        default="auto",
        help="pair micro-batches one to one or join those of a step [auto: pair equal numbers]",
    )
    parser.add_argument(
        "--cp-order",
        choices=("auto", "contiguous", "zigzag"),
        default="auto",
        help="how sequences lie over context-parallel ranks [auto: as recorded, else by values]",
    )
    parser.add_argument(
        "--layout",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="layouts of values by name, where the dumps do not say them: problem and benchmark, "
        "or one file for both",
    )
    parser.add_argument(
        "--replicas",
        choices=("merge", "separate"),
        default="merge",
        help="join data-parallel replicas, or compare each with the benchmark's of its number "
        "[merge]",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say which ranks would be merged and how, and write nothing",
    )


def merge_options(options: argparse.Namespace) -> MergeOptions:
    """What the flags say. Raises CommandError for a flag with more than two values."""
    from builder.ranks.joining.told import read_layouts
    from builder.ranks.merge_options import MergeOptions

    files = getattr(options, "layout", None) or []
    if len(files) > 2:
        raise CommandError(f"--layout: {len(files)} files", "give one for both runs, or two")
    return MergeOptions(
        merge=getattr(options, "merge", "auto"),
        problem=_sizes(options, 0),
        benchmark=_sizes(options, 1),
        micro_batches=getattr(options, "micro_batches", "auto"),
        cp_order=getattr(options, "cp_order", "auto"),
        layouts=tuple(map(read_layouts, files)),
        replicas=getattr(options, "replicas", "merge"),
    )


def _sizes(options: argparse.Namespace, side: int) -> Sizes:
    from builder.ranks.layout.coordinates import DEFAULT_ORDER, Sizes

    given = {name: _of_side(name, getattr(options, name), side) for name in _SIZES}
    return Sizes(**given, order=_of_side("order", options.order, side) or DEFAULT_ORDER)


def _of_side(name: str, values: list[_Value] | None, side: int) -> _Value | None:
    if not values:
        return None
    if len(values) > 2:
        raise CommandError(f"--{name}: {len(values)} values", "give one for both runs, or two")
    return values[min(side, len(values) - 1)]


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of ranks; give 1 or more")
    return int(text)
