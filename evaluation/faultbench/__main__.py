"""The command line: run a tool over a set, list faults, check them, print tables."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from faultbench import check, fault, runner, table
from faultbench.processes import Tool


def main(words: list[str] | None = None) -> int:
    """The exit code: 1 where the self-test or a check fails, 2 for what cannot be run."""
    options = _parser().parse_args(words)
    try:
        return int(options.does(options))
    except fault.FaultError as error:
        print(f"faultbench: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    name = "gold" if options.gold else "plain" if options.null else options.tool
    if not (fault.HERE / "adapters" / f"{name}.py").is_file():
        raise fault.FaultError(f"adapters/{name}.py: no such adapter; name one with --tool")
    tool = Tool(name, options.python, options.timeout)
    out = Path(options.out or f"faultbench-{name}.jsonl")
    out.parent.mkdir(parents=True, exist_ok=True)
    results, begun = [], time.monotonic()
    with out.open("w", encoding="utf-8") as file:
        for identifier in options.id or fault.ids(options.set):
            for result in runner.run(tool, identifier, options.keep):
                results.append(result.told())
                file.write(json.dumps(result.told()) + "\n")
                file.flush()
                print(_line(result), file=sys.stderr)
    print(table.table([results]))
    print(f"{len(results)} pairs in {time.monotonic() - begun:.0f} s: {out}", file=sys.stderr)
    return _self_test(options, results)


def _line(result: runner.Result) -> str:
    said = result.error.splitlines()[0] if result.error else f"{len(result.rows)} rows"
    place = "" if result.place is None else f", right at {result.place}"
    return f"{result.id} {result.script}: {said}{place}"


def _self_test(options: argparse.Namespace, results: table.Results) -> int:
    """The two ends of the scale: every fault found first, or none."""
    faults = [result for result in results if result["script"] == "wrong.py"]
    expected = {"gold": len(faults), "null": 0}
    for word, count in expected.items():
        found = sum(result["place"] == 1 for result in faults)
        if getattr(options, word) and (found != count or any(r["error"] for r in results)):
            print(f"self-test --{word}: {found} of {len(faults)} first", file=sys.stderr)
            return 1
    return 0


def _list(options: argparse.Namespace) -> int:
    for identifier in fault.ids(options.set):
        one = fault.load(identifier)
        twin = "twin" if one.twin else "-"
        print(f"{one.id:32} {one.layer:16} {one.format:9} {one.ranks} {twin:5} {one.title}")
    return 0


def _check(options: argparse.Namespace) -> int:
    problems = 0
    for identifier in options.id or fault.ids(options.set):
        with tempfile.TemporaryDirectory() as folder:
            for problem in check.check(identifier, Path(folder), options.python):
                print(problem, flush=True)
                problems += 1
    return int(problems > 0)


def _table(options: argparse.Namespace) -> int:
    runs = [table.read(path) for path in options.results]
    print(table.table(runs))
    for run in runs if options.layers else ():
        print(
            f"\n{run[0]['tool']}\n\n{table.by_layer(run)}\n\nmissed: {', '.join(table.missed(run))}"
        )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="faultbench", description=__doc__)
    commands = parser.add_subparsers(required=True)
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--set", default="lite", help="a file of sets/ [lite]")
    chosen.add_argument("--id", nargs="+", help="these faults instead of a set")
    chosen.add_argument("--python", default=sys.executable, help="the interpreter with the tool")
    run = commands.add_parser("run", parents=[chosen], help="run a tool and print its row")
    which = run.add_mutually_exclusive_group(required=True)
    which.add_argument("--tool", help="a file of adapters/")
    which.add_argument("--gold", action="store_true", help="self-test: answer what is accepted")
    which.add_argument("--null", action="store_true", help="self-test: answer nothing")
    run.add_argument("--out", help="JSON lines, one a pair [faultbench-TOOL.jsonl]")
    run.add_argument("--keep", type=Path, help="keep programs and records in this folder")
    run.add_argument("--timeout", type=float, default=120.0, help="seconds a process [120]")
    run.set_defaults(does=_run)
    listed = commands.add_parser("list", parents=[chosen], help="list the faults of a set")
    listed.set_defaults(does=_list)
    checked = commands.add_parser("check", parents=[chosen], help="do programs differ as they say?")
    checked.set_defaults(does=_check)
    tables = commands.add_parser("table", help="a table of results that `run` wrote")
    tables.add_argument("results", nargs="+", type=Path, help="files of `run`")
    tables.add_argument("--layers", action="store_true", help="by layer too, and what was missed")
    tables.set_defaults(does=_table)
    return parser


if __name__ == "__main__":
    sys.exit(main())
