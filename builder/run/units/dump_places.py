"""Dumps that lie behind an address: what a plan has to know of them, and a pair's files here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from builder.dump.sources import JSON_FILES, Source, find_sources
from builder.errors import BuilderError, InputError
from builder.run.build import Request
from builder.run.units.inputs import inputs_of
from builder.storage.addresses import open_folder
from builder.storage.folder import Folder, Item, address_of, is_address
from builder.work.memory import json_bytes
from builder.work.plan import Broken, PairPlan, Plan
from msprobe_core.format import DUMP_FILE, parse_rank_dir, parse_step_dir


def plan_anywhere(request: Request) -> Plan:
    """The plan of a request whose dumps may lie behind addresses.

    Those are stood in for by a folder of empty files of the same names and sizes; of each step one
    `dump.json` is fetched, which tells how its ranks lie.
    """
    with tempfile.TemporaryDirectory(prefix="msprobe-plan-") as scratch:
        stands = _Stands(Path(scratch))
        try:
            problem = stands.local(request.problem, "problem")
            benchmark = request.benchmark and stands.local(request.benchmark, "benchmark")
            plan = replace(request, problem=problem, benchmark=benchmark).plan()
        except BuilderError as error:
            named = stands.named(error.message), stands.named(error.hint)
            raise type(error)(*named) from error
        return stands.renamed(plan)


class _Stands:
    """Local folders that stand for addresses while a plan is made."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._address: dict[str, str] = {}
        self._seen: dict[str, list[Item]] = {}

    def local(self, text: str, side: str) -> str:
        if not is_address(text):
            return text
        folder = open_folder(text)
        # Its own name may say which step or rank it is.
        name = text.rstrip("/").rpartition("/")[2]
        above = text.rstrip("/").rpartition("/")[0].rpartition("/")[2]
        place = self._scratch / side / (above or "run") / name
        self._address[str(place)] = text.rstrip("/")
        if not folder.listed():
            raise InputError(f"{text}: no such folder", "give a dump's folder, step or rank")
        self._mirror(folder, place, deeper=2)
        first: dict[int, Source] = {}
        for source in find_sources(place).sources:
            known = first.get(source.step)
            if source.rank >= 0 and (known is None or source.rank < known.rank):
                first[source.step] = source
        for source in first.values():
            if source.has_values:
                inside = (source.path / DUMP_FILE).relative_to(place).as_posix()
                folder.fetch(inside, source.path / DUMP_FILE)
        return str(place)

    def named(self, text: str) -> str:
        return with_addresses(text, self._address)

    def renamed(self, plan: Plan) -> Plan:
        if not self._address:
            return plan
        return replace(
            plan,
            pairs=tuple(self._pair(pair) for pair in plan.pairs),
            missing=tuple(replace(m, path=self._path(m.path)) for m in plan.missing),
            broken=tuple(Broken(self._pair(b.pair), self.named(b.error)) for b in plan.broken),
        )

    def _pair(self, pair: PairPlan) -> PairPlan:
        there = _moved(pair, self._path)
        return replace(there, json_bytes=json_bytes(pair), inputs=inputs_of(there, self._listed))

    def _path(self, path: Path) -> Path:
        return Path(self.named(str(path)))

    def _listed(self, text: str) -> list[Item]:
        known = self._seen.get(text)
        return open_folder(text).listed() if known is None else known

    def _mirror(self, folder: Folder, place: Path, deeper: int) -> None:
        place.mkdir(parents=True, exist_ok=True)
        listed = self._seen[folder.text] = folder.listed()
        for name, is_folder, size, _ in listed:
            if is_folder:
                known = parse_step_dir(name) is not None or parse_rank_dir(name) is not None
                if known and deeper:
                    self._mirror(folder.below(name), place / name, deeper - 1)
            elif name in JSON_FILES:
                (place / name).touch()
                os.truncate(place / name, size or 0)


def with_addresses(text: str, addresses: Mapping[str, str]) -> str:
    """A text that names addresses where it named the folders that stand for them."""
    for place, address in addresses.items():
        text = text.replace(place, address)
    return text


@dataclass(frozen=True, slots=True)
class Brought:
    """A pair whose dumps are on this machine, and which folder stands for which address."""

    pair: PairPlan
    addresses: Mapping[str, str]


@contextmanager
def brought(pair: PairPlan) -> Iterator[Brought]:
    """Copy what a pair reads to this machine while the block lasts; paths are left as they are.

    Of a rank whose columns are here the JSON files are not needed any more.
    """
    read_before = {folder for folder, _ in pair.columns}
    with tempfile.TemporaryDirectory(prefix="msprobe-dump-") as scratch:
        addresses: dict[str, str] = {}

        def local(path: Path) -> Path:
            address = address_of(path)
            if not is_address(address):
                return path
            # The last two names stay, since they may tell step and rank.
            above, name = address.split("/")[-2:]
            place = Path(scratch) / str(len(addresses)) / (above or "run") / name
            addresses[str(place)] = address
            _copy(open_folder(address), place, with_json=path not in read_before)
            return place

        yield Brought(_moved(pair, local), addresses)


def _moved(pair: PairPlan, place_of: Callable[[Path], Path]) -> PairPlan:
    move = cache(place_of)  # the first rank's folder stands in it twice
    return replace(
        pair,
        problem=move(pair.problem),
        benchmark=None if pair.benchmark is None else move(pair.benchmark),
        problem_ranks=tuple(replace(s, path=move(s.path)) for s in pair.problem_ranks),
        benchmark_ranks=tuple(replace(s, path=move(s.path)) for s in pair.benchmark_ranks),
        columns=tuple((move(folder), file) for folder, file in pair.columns),
    )


def _copy(folder: Folder, place: Path, *, with_json: bool) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name, is_folder, *_ in folder.listed():
        if is_folder:
            _copy(folder.below(name), place / name, with_json=True)
        elif with_json or name not in JSON_FILES:
            folder.fetch(name, place / name)
