"""`msprobe page`: a result as one file that opens in any browser, without a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from msprobe.cli.outcome import Exit

SUMMARY = "write a result as one page that opens without a server"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "result",
        type=Path,
        nargs="+",
        metavar="RESULT",
        help="a *.vis.db file, or its folder; of several the newest counts",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PAGE", help="the *.html file to write"
    )


def run(options: argparse.Namespace) -> Exit:
    """Write the page and say how large it is."""
    from builder.results.newest import newest_result
    from tb_graph_ascend.offline.export import write_page

    size = write_page(newest_result(options.result), options.output)
    print(f"{options.output} ({size / 1e6:.1f} MB; open it in a browser)")
    return Exit.DONE
