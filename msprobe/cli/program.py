"""Parses the command line, calls the sub-command and turns what goes wrong into one line.

Nothing heavy is imported here: `msprobe --help` must answer at once.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import metadata

from msprobe.cli import (
    acc_check,
    api_precision_compare,
    ask,
    check,
    ckpt_compare,
    compare,
    compile_check,
    config_check,
    confirm,
    data2db,
    diagnose,
    doctor,
    graph_visualize,
    inspect,
    join,
    mcp,
    merge_result,
    multi_acc_check,
    multi_run_ut,
    op_generate,
    overflow_check,
    page,
    run_ut,
    serve,
    trend,
    unit,
)
from msprobe.cli.outcome import Exit
from msprobe_core.format.frameworks import frameworks
from msprobe_core.format.mendable_error import MendableError

COMMANDS = (
    *(graph_visualize, unit, join, compare, merge_result, overflow_check, diagnose, confirm, check),
    *(serve, page, mcp, ask, trend, data2db, inspect, doctor),
    *(acc_check, multi_acc_check, api_precision_compare, op_generate, run_ut, multi_run_ut),
    *(config_check, ckpt_compare, compile_check),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command and return the exit code (docs/commands.md, "Exit codes")."""
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser()[0].parse_args(_without_framework(given))
    _tolerate_any_path()
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("msprobe: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left; writing the rest at exit would raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except Exception as error:  # one line for the user, `--debug` shows it all
        if options.debug:
            raise
        print(f"msprobe: {_one_line(error)}", file=sys.stderr)
        return Exit.INPUT_ERROR


def command_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each sub-command by its name, in the order of `--help`."""
    return _parser()[1]


def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(
        prog="msprobe", description="Find where two runs of a model begin to differ."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", metavar="<command>", required=True)
    parsers = {}
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        sub = commands.add_parser(
            name,
            aliases=getattr(command, "ALIASES", ()),
            help=command.SUMMARY,
            description=command.SUMMARY,
            parents=[shared],
            allow_abbrev=False,
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
        parsers[name] = sub
    return parser, parsers


def _without_framework(arguments: Sequence[str]) -> Sequence[str]:
    # Until 2025 the framework came before the command: msprobe -f pytorch run_ut …
    # The dump says which it is.
    former = len(arguments) > 1 and arguments[0] in ("-f", "--framework")
    known = [framework.name for framework in frameworks()]
    return arguments[2:] if former and arguments[1] in known else arguments


def _tolerate_any_path() -> None:
    # A path may hold bytes that are no text in this locale; saying so must not fail in turn.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        # Reading the installed metadata costs more than all the rest of --help.
        print(f"msprobe (tb-graph-ascend {metadata.version('tb-graph-ascend')})")
        parser.exit()


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, MendableError):
        return text
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check that the path exists and is yours to use"
    return f"internal error: {type(error).__name__}: {text}; run again with --debug and report it"
