"""The plan of a build as a file: its units, and what every one of them is worked on with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from builder.dump.sources import Source
from builder.errors import InputError, OutputError
from builder.reasons import Reason
from builder.run.build import Request, tool_version
from builder.run.units.inputs import inputs_of
from builder.run.units.options_text import FILES, options_of, plain_options
from builder.storage.folder import Folder, address_of
from builder.work.memory import json_bytes
from builder.work.plan import Broken, InputFile, Missing, PairPlan, Plan, Side

PLAN_FILE = "plan.json"
_VERSION = 2
# What a unit takes however little it reads, in bytes of JSON; measured over pairs of 2,000 entries.
_LEAST = 1 << 20


Kind = Literal["pair", "graph", "map", "reduce"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of a plan: it reads its dumps, and what the units that it needs have left.

    A pair or a single graph needs no other. Where ranks are merged, every rank of a step is read by
    a `map`, and the step's `reduce` joins and compares them.
    """

    id: str
    kind: Kind
    pair: PairPlan
    needs: tuple[str, ...] = ()

    @property
    def cost(self) -> int:
        """How long it takes beside others, in bytes that are read."""
        return _LEAST + (self.pair.json_bytes or 0)


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """A build cut into units; `id` changes with everything that decides what they give."""

    id: str
    request: Request
    plan: Plan
    units: tuple[Unit, ...]
    tool: str
    files: dict[str, str]

    @property
    def results(self) -> tuple[Unit, ...]:
        """The units whose rows the result has."""
        return tuple(unit for unit in self.units if unit.kind != "map")

    def check_files(self) -> None:
        """Raise InputError for a mapping file that is not the one that was planned with."""
        for path, digest in self.files.items():
            if _digest(Path(path)) != digest:
                raise InputError(f"{path}: changed since the plan was made", "plan again")

    def check_tool(self) -> None:
        """Raise InputError where another version of this program is installed than planned."""
        if self.tool != tool_version():
            raise InputError(
                f"the plan is of version {self.tool}, this is {tool_version()}",
                "install one version on all hosts, or plan again",
            )


def unit_id(pair: PairPlan) -> str:
    """The name of a pair's unit, which is that of its files too."""
    if pair.is_merged:
        return f"step{pair.step}"
    side = "" if pair.side is None else f"_{pair.side}"
    return f"step{pair.step}{side}_rank{pair.rank}"


def reading_of(pair: PairPlan) -> list[PairPlan]:
    """Of merged ranks the reading of each, which can be done beforehand."""
    sides: tuple[tuple[Side, tuple[Source, ...]], ...] = (
        ("problem", pair.problem_ranks),
        ("benchmark", pair.benchmark_ranks),
    )
    files: dict[Path, list[InputFile]] = {}
    for file in pair.inputs:
        files.setdefault(file.path.parent, []).append(file)
    return [
        _reading(pair, side, source, tuple(files.get(source.path, ())))
        for side, ranks in sides
        for source in ranks
    ]


def _reading(pair: PairPlan, side: Side, source: Source, inputs: tuple[InputFile, ...]) -> PairPlan:
    return PairPlan(
        pair.step,
        source.rank,
        source.path,
        None,
        json_bytes=sum(file.size for file in inputs),
        inputs=inputs,
        side=side,
    )


def planned(request: Request, plan: Plan) -> BuildPlan:
    """The plan of a request with its identity. Raises InputError for what no plan can hold."""
    known = (pair.json_bytes for pair in plan.pairs)
    pairs = [
        replace(
            pair,
            json_bytes=json_bytes(pair) if size is None else size,
            inputs=pair.inputs or inputs_of(pair),
            number=number,
        )
        for number, (pair, size) in enumerate(zip(plan.pairs, known, strict=True), 1)
    ]
    content = _content(request, replace(plan, pairs=tuple(pairs)))
    try:
        identity = hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{request.problem}: a path in it is no text", "rename it, or compare without a plan"
        ) from error
    return _build_plan({**content, "id": identity[:16]})


def write_plan(plan: BuildPlan, folder: Folder) -> None:
    """Write `plan.json`; the same plan again changes nothing.

    Raises OutputError when the folder has another plan, or cannot be written.
    """
    try:
        if folder.read(PLAN_FILE) is not None:
            if read_plan(folder).id == plan.id:
                return
            raise OutputError(
                f"{folder.text}/{PLAN_FILE}: the plan of another comparison, or of other dumps",
                "choose another -o, or remove it and the folder parts beside it",
            )
        content = {**_content(plan.request, plan.plan), "id": plan.id}
        folder.write(PLAN_FILE, msgspec.json.format(msgspec.json.encode(content), indent=1))
    except OSError as error:
        raise OutputError(
            f"{folder.text}: cannot be written ({error})", "choose another -o"
        ) from error


def read_plan(folder: Folder) -> BuildPlan:
    """The plan in a folder; raises InputError where there is none or it is no plan of ours."""
    place = f"{folder.text}/{PLAN_FILE}"
    content = folder.read(PLAN_FILE)
    if content is None:
        raise InputError(f"{place}: no such file", "make it with graph_visualize --plan")
    try:
        facts = msgspec.json.decode(content, type=dict[str, Any])
        if facts.get("version") != _VERSION:
            raise InputError(f"{place}: version {facts.get('version')}", "plan again")
        return _build_plan(facts)
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise InputError(f"{place}: no plan ({error})", "plan again") from error


def share_of(units: Sequence[Unit], shard: int, shards: int) -> list[Unit]:
    """The units of one shard of several, which take about equally long.

    Every unit is in exactly one. Raises InputError for a shard that does not exist.
    """
    if not 0 <= shard < shards:
        raise InputError(f"--shard {shard}/{shards}: no such shard", f"count 0 to {shards - 1}")
    loads = [0] * shards
    own: list[Unit] = []
    for unit in sorted(units, key=lambda unit: (-unit.cost, unit.id)):
        least = loads.index(min(loads))
        loads[least] += unit.cost
        if least == shard:
            own.append(unit)
    return own


def _content(request: Request, plan: Plan) -> dict[str, Any]:
    options = plain_options(request.options)
    read = [options[name] for name in FILES if options[name] is not None]
    whole = {
        "version": _VERSION,
        "tool_version": tool_version(),
        "problem": request.problem,
        "benchmark": request.benchmark,
        "options": options,
        "files": {path: _digest(Path(path)) for path in read},
        "units": [
            {"id": unit.id, "kind": unit.kind, "needs": unit.needs, "pair": unit.pair}
            for unit in _units(plan)
        ],
        "missing": plan.missing,
        "broken": plan.broken,
        "notes": plan.notes,
    }
    plain: dict[str, Any] = msgspec.to_builtins(whole, enc_hook=_text)
    return plain


def _build_plan(facts: dict[str, Any]) -> BuildPlan:
    request = Request(facts["problem"], facts["benchmark"], options_of(facts["options"]))
    units = msgspec.convert(facts["units"], tuple[Unit, ...], dec_hook=_path)
    return BuildPlan(
        id=facts["id"],
        request=request,
        plan=Plan(
            pairs=tuple(unit.pair for unit in units if unit.kind != "map"),
            missing=msgspec.convert(facts["missing"], tuple[Missing, ...], dec_hook=_path),
            broken=msgspec.convert(facts["broken"], tuple[Broken, ...], dec_hook=_path),
            notes=msgspec.convert(facts["notes"], tuple[Reason, ...]),
        ),
        units=units,
        tool=facts["tool_version"],
        files=facts["files"],
    )


def _units(plan: Plan) -> Iterator[Unit]:
    """All units, each behind those that it needs."""
    for pair in plan.pairs:
        if pair.is_merged:
            maps = [Unit(unit_id(rank), "map", rank) for rank in reading_of(pair)]
            yield from maps
            yield Unit(unit_id(pair), "reduce", pair, tuple(unit.id for unit in maps))
        else:
            yield Unit(unit_id(pair), "graph" if pair.benchmark is None else "pair", pair)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror})", "units need it on every host"
        ) from error


def _text(value: object) -> object:
    if isinstance(value, Path):
        return address_of(value)
    raise NotImplementedError(f"no {type(value).__name__} in a plan")


def _path(kind: type, value: object) -> object:
    if not issubclass(kind, Path) or not isinstance(value, str):
        raise NotImplementedError(f"no {kind} in a plan")
    return Path(value)
