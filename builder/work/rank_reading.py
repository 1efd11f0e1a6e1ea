"""Reads the dumps of all ranks of a step, some of them in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from builder.dump.reader import Dump, read_dump
from builder.dump.stored_dump import load_dump
from builder.dump.twins import Twins
from builder.dump.values import share_texts
from builder.processes.second_process import CAN_FORK, beside


def read_ranks(folders: Sequence[Path], columns: Mapping[Path, Path], cores: int) -> list[Dump]:
    """The dumps of some folders, with one object for what they have alike.

    `columns` are the files of those that were read before. Taking over what another process has
    read takes a third of the time of reading it. Raises DumpError for one that cannot be read.
    """
    count = max(1, min(cores if CAN_FORK else 1, len(folders)))
    own, *others = (range(start, len(folders), count) for start in range(count))
    twins, read = Twins(), {}
    with ExitStack() as running:
        scratch = Path(running.enter_context(TemporaryDirectory(prefix="msprobe-ranks-")))
        tasks = [partial(_put, numbers, folders, columns, scratch) for numbers in others]
        waiting = [running.enter_context(beside(task)) for task in tasks]
        for number in own:
            read[number] = twins.shared(_read(folders[number], columns))
        for numbers, wait in zip(others, waiting, strict=True):
            wait()
            for number in numbers:
                # One at a time: many ranks as bytes and as records would be twice as much.
                dump = _taken(scratch / str(number)) or _read(folders[number], columns)
                read[number] = twins.shared(dump)
    return [read[number] for number in range(len(folders))]


def _read(folder: Path, columns: Mapping[Path, Path]) -> Dump:
    file = columns.get(folder)
    return read_dump(folder) if file is None else load_dump(file, folder)


def _put(
    numbers: Sequence[int], folders: Sequence[Path], columns: Mapping[Path, Path], scratch: Path
) -> None:
    """Leave a file of every dump, but for one with numbers that msgpack does not hold."""
    for number in numbers:
        dump = _read(folders[number], columns)
        with suppress(OverflowError, msgspec.EncodeError):
            (scratch / str(number)).write_bytes(msgspec.msgpack.encode(dump, enc_hook=str))


def _taken(file: Path) -> Dump | None:
    if not file.exists():
        return None
    dump = _decoder.decode(file.read_bytes())
    share_texts(dump.values.records)
    file.unlink()
    return dump


def _path(kind: type, value: object) -> object:
    return Path(str(value)) if kind is not object else value


_decoder = msgspec.msgpack.Decoder(Dump, dec_hook=_path)
