"""What all routes share: the settings, the open files and the manual pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flask import request

from tb_graph_ascend.logdirs import LogDirs
from tb_graph_ascend.server.library import Library, OpenDatabase
from tb_graph_ascend.server.manual_pairs import ManualPairs

STATIC = Path(__file__).resolve().parent.parent / "static"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server was started.

    `hosts` are the names it may be called by besides the loopback ones; with `any_address` IP
    addresses are taken as well, which no other site can imitate. `guard_reads` applies that to
    reading too; TensorBoard itself serves reads under any name.
    """

    read_only: bool = False
    hosts: Sequence[str] = ()
    any_address: bool = False
    guard_reads: bool = True
    allow_host_option: str = "--allow-host"
    static: Path = STATIC


@dataclass(slots=True)
class Workplace:
    """One server's shared things; requests keep nothing here but caches."""

    settings: Settings
    library: Library
    manual: ManualPairs = field(init=False)

    def __post_init__(self) -> None:
        self.manual = ManualPairs(self.library.logdirs, read_only=self.settings.read_only)

    def open(self, db: str) -> OpenDatabase:
        """The database of the present request, seen through its manual pairs."""
        return self.library.open(db, self.manual.seen_by(request).for_reading)


def make_workplace(logdirs: Sequence[Path], settings: Settings) -> Workplace:
    """A workplace over log folders."""
    return Workplace(settings, Library(LogDirs(logdirs)))
