"""`msprobe serve`: the graphs in a browser, without TensorBoard."""

from __future__ import annotations

import argparse
from pathlib import Path

from msprobe.cli.outcome import Exit

SUMMARY = "show results in a browser, without TensorBoard"
PORT = 6006


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "logdirs", type=Path, nargs="+", metavar="LOGDIR", help="folder that holds *.vis.db files"
    )
    parser.add_argument(
        "--port", type=_port, default=PORT, help=f"port to listen on, 0 for any [{PORT}]"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on [127.0.0.1, this machine alone]",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name that browsers may use for this server; may be repeated",
    )
    parser.add_argument("--read-only", action="store_true", help="refuse manual mappings")


def run(options: argparse.Namespace) -> Exit:
    """Serve until Ctrl-C."""
    from tb_graph_ascend.server.standalone import serve

    serve(
        options.logdirs,
        options.host,
        options.port,
        allow_hosts=options.allow_host,
        read_only=options.read_only,
        announce=_announce,
    )
    return Exit.INTERRUPTED  # nothing else ends it


def _announce(address: str) -> None:
    print(f"{address} (Ctrl-C ends)", flush=True)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give 0 to 65535")
    return int(text)
