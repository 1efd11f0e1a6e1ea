"""Tables of calls and of ranks, what overflows, dumps looked into, and folders of many results."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tests.builder.dumps import Json, forward, tensor, write_dump
from tests.growth.stages import asking, build


def compared_tables(folder: Path, count: int) -> None:
    """As many calls on two ranks, compared into csv tables and workbooks."""
    _write_pair(folder, count, ranks=2)
    for form in ((), ("--xlsx",)):
        _command("compare", *_sides(folder), "-o", folder / f"tables{len(form)}", "-da", *form)


def merged_calls(folder: Path, count: int) -> None:
    """As many calls in the tables of two ranks, all of them chosen by one name each."""
    _merge(folder, count, ranks=2)


def merged_ranks(folder: Path, count: int) -> None:
    """As many ranks of three calls."""
    _merge(folder, 3, ranks=count)


def overflows(folder: Path, count: int) -> None:
    """As many calls on two ranks, every third of which makes a NaN of finite inputs."""
    _write_overflows(folder / "dump", count, ranks=2)
    _command("overflow_check", "-i", folder / "dump", "-o", folder / "output", "--workers", "1")


def overflowing_ranks(folder: Path, count: int) -> None:
    """As many ranks of three calls, one of which makes a NaN."""
    _write_overflows(folder / "dump", 3, ranks=count)
    _command("overflow_check", "-i", folder / "dump", "-o", folder / "output", "--workers", "1")


def inspected(folder: Path, count: int) -> None:
    """As many calls of one dump, looked into."""
    _write_overflows(folder / "dump", count, ranks=1)
    _command("inspect", folder / "dump")


def result_files(folder: Path, count: int) -> None:
    """As many results in the folders of a server, listed and each opened once."""
    _write_pair(folder, 2, ranks=1)
    logs = folder / "logs"
    made = build(*(folder / side for side in ("problem", "benchmark")), logs / "run0")
    for at in range(1, count):
        place = logs / f"run{at}" / made.name
        place.parent.mkdir()
        shutil.copyfile(made, place)
    ask = asking(logs)
    for _ in range(2):
        listed = ask("databases")["databases"]
    for each in listed:
        ask(f"databases/{each['id']}")


def _merge(folder: Path, count: int, ranks: int) -> None:
    _write_pair(folder, count, ranks)
    _command("compare", *_sides(folder), "-o", folder / "tables")
    chosen = "".join(f"  - Torch.add.{at}.\n" for at in range(count))
    (folder / "merge.yaml").write_text(f"api:\n{chosen}compare_index:\n  - Max diff\n")
    words = ("-config", folder / "merge.yaml", "-o", folder / "merged")
    _command("merge_result", "-i", folder / "tables", *words)


def _write_pair(folder: Path, count: int, ranks: int) -> None:
    for side, off in (("problem", 1.5), ("benchmark", 1.0)):
        for rank in range(ranks):
            entries = {
                f"Torch.add.{at}.forward": forward(
                    [tensor(1.0 + at)], [tensor((2.0 + at) * (off if at % 2 else 1.0))]
                )
                for at in range(count)
            }
            write_dump(folder / side / f"rank{rank}", entries, dict.fromkeys(entries), {})


def _write_overflows(folder: Path, count: int, ranks: int) -> None:
    for rank in range(ranks):
        entries = dict(_with_nan(count))
        write_dump(folder / "step0" / f"rank{rank}", entries, dict.fromkeys(entries), {})


def _with_nan(count: int) -> Iterator[tuple[str, Json]]:
    for at in range(count):
        made = tensor(Max="nan", Min="nan", Mean="nan", Norm="nan") if at % 3 == 1 else tensor(2.0)
        yield f"Torch.log.{at}.forward", forward([tensor(1.0 + at)], [made])


def _sides(folder: Path) -> tuple[object, ...]:
    return ("-tp", folder / "problem", "-gp", folder / "benchmark", "--workers", "1")


def _command(*words: object) -> None:
    from msprobe.cli.program import main

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main([str(word) for word in words])


TABLE_TRIALS = (
    (compared_tables, 75),
    (merged_calls, 75),
    (merged_ranks, 10),
    (overflows, 75),
    (overflowing_ranks, 10),
    (inspected, 75),
    (result_files, 10),
)
