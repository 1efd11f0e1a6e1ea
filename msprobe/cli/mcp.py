"""`msprobe mcp`: the Model Context Protocol over standard input and output, for coding agents."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError
from msprobe_core.format.installation import install_command

SUMMARY = "answer coding agents over the Model Context Protocol (standard input and output)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    add_folder_arguments(parser)


def add_folder_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder that is asked about, and where new results may go."""
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="answers are about results below it alone"
    )
    parser.add_argument(
        "--build-into",
        type=Path,
        metavar="DIR",
        help="allow new results, in this folder below FOLDER [none may be built]",
    )


def run(options: argparse.Namespace) -> Exit:
    """Answer until the client closes standard input."""
    if find_spec("mcp") is None:
        raise CommandError(
            "msprobe mcp: the package mcp is not installed",
            f"{install_command('mcp')}; or ask with `msprobe ask`",
        )
    from builder.processes.interrupts import stopped_by_sigterm
    from msprobe.answers.mcp_server import serve
    from msprobe.answers.result_folder import ResultFolder

    folder = ResultFolder(options.folder, options.build_into)
    try:
        # Clients that do not wait end their servers by SIGTERM; no build may outlive that either.
        with stopped_by_sigterm():
            serve(folder)
    except KeyboardInterrupt:
        folder.stop_builds()
        # A thread still waits for standard input, which the client may never close.
        os._exit(Exit.INTERRUPTED)
    return Exit.DONE
