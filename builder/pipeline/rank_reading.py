"""Reads the dumps of all ranks of a step, some of them in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec

from builder.dump.reader import Dump, read_dump
from builder.dump.stored_dump import load_dump
from builder.dump.twins import Twins
from builder.processes.second_process import CAN_FORK, beside


def read_ranks(folders: Sequence[Path], columns: Mapping[Path, Path], cores: int) -> list[Dump]:
    """The dumps of some folders, with one object for what they have alike.

    `columns` are the files of those that were read before. Taking over what another process has
    read takes a third of the time of reading it. Raises DumpError for one that cannot be read.
    """
    count = max(1, min(cores if CAN_FORK else 1, len(folders)))
    own, *others = (folders[start::count] for start in range(count))
    with ExitStack() as running:
        waiting = [
            (share, running.enter_context(beside(partial(_packed, share, columns))))
            for share in others
        ]
        read = {folder: _read(folder, columns) for folder in own}
        for share, result in waiting:
            read.update(_unpacked(share, result(), columns))
    twins = Twins()
    return [twins.shared(read[folder]) for folder in folders]


def _read(folder: Path, columns: Mapping[Path, Path]) -> Dump:
    file = columns.get(folder)
    return read_dump(folder) if file is None else load_dump(file, folder)


def _packed(folders: Sequence[Path], columns: Mapping[Path, Path]) -> list[bytes | None]:
    """The dumps of some folders as bytes; None for one with numbers that msgpack does not hold."""
    packed: list[bytes | None] = []
    for folder in folders:
        try:
            packed.append(msgspec.msgpack.encode(_read(folder, columns), enc_hook=str))
        except (OverflowError, msgspec.EncodeError):
            packed.append(None)
    return packed


def _unpacked(
    folders: Sequence[Path], packed: Sequence[bytes | None], columns: Mapping[Path, Path]
) -> dict[Path, Dump]:
    return {
        folder: _read(folder, columns) if content is None else _decoder.decode(content)
        for folder, content in zip(folders, packed, strict=True)
    }


def _path(kind: type, value: object) -> object:
    return Path(str(value)) if kind is not object else value


_decoder = msgspec.msgpack.Decoder(Dump, dec_hook=_path)
