"""`msprobe ask`: one question of `msprobe mcp` on the command line, answered by the same JSON."""

from __future__ import annotations

import argparse

from msprobe.cli.mcp import add_folder_arguments
from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError

SUMMARY = "ask one question of `msprobe mcp` in a shell; the answer is the same JSON"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    add_folder_arguments(parser)
    parser.add_argument("question", metavar="QUESTION", help="as list_results or findings")
    parser.add_argument(
        "arguments", nargs="*", metavar="NAME=VALUE", help="arguments, as result=compare.vis.db"
    )


def run(options: argparse.Namespace) -> Exit:
    """Print the answer."""
    import msgspec

    from msprobe.answers.questions import ask
    from msprobe.answers.result_folder import ResultFolder

    folder = ResultFolder(options.folder, options.build_into)
    given = dict(map(_argument, options.arguments))
    answer = ask(folder, options.question, given, lenient=True)
    print(msgspec.json.encode(answer).decode())  # byte by byte what an agent gets
    return Exit.DONE


def _argument(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"{text!r}: is no argument", "write it as NAME=VALUE")
    return name, value
