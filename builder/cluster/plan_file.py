"""The plan of a build as a file: its units, and what every one of them is worked on with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from builder.build import Request, tool_version
from builder.cluster.options_text import FILES, options_of, plain_options
from builder.errors import InputError, OutputError
from builder.pipeline.memory import json_bytes
from builder.pipeline.plan import Broken, Missing, PairPlan, Plan
from builder.storage.folder import Folder, address_of

PLAN_FILE = "plan.json"
_VERSION = 1
# What a unit takes however little it reads, in bytes of JSON; measured over pairs of 2,000 entries.
_LEAST = 1 << 20


@dataclass(frozen=True, slots=True)
class Unit:
    """One pair of a plan, which needs no other: it reads its dumps and writes one part."""

    id: str
    pair: PairPlan

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
    return f"step{pair.step}" if pair.is_merged else f"step{pair.step}_rank{pair.rank}"


def planned(request: Request, plan: Plan) -> BuildPlan:
    """The plan of a request with its identity. Raises InputError for what no plan can hold."""
    known = (pair.json_bytes for pair in plan.pairs)
    pairs = [
        replace(pair, json_bytes=json_bytes(pair) if size is None else size)
        for pair, size in zip(plan.pairs, known, strict=True)
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
            {"id": unit_id(pair), "kind": _kind(pair), "needs": [], "pair": pair}
            for pair in plan.pairs
        ],
        "missing": plan.missing,
        "broken": plan.broken,
        "notes": plan.notes,
    }
    plain: dict[str, Any] = msgspec.to_builtins(whole, enc_hook=_text)
    return plain


def _build_plan(facts: dict[str, Any]) -> BuildPlan:
    request = Request(facts["problem"], facts["benchmark"], options_of(facts["options"]))
    units = [
        Unit(u["id"], msgspec.convert(u["pair"], PairPlan, dec_hook=_path)) for u in facts["units"]
    ]
    return BuildPlan(
        id=facts["id"],
        request=request,
        plan=Plan(
            pairs=tuple(unit.pair for unit in units),
            missing=msgspec.convert(facts["missing"], tuple[Missing, ...], dec_hook=_path),
            broken=msgspec.convert(facts["broken"], tuple[Broken, ...], dec_hook=_path),
            notes=tuple(facts["notes"]),
        ),
        units=tuple(units),
        tool=facts["tool_version"],
        files=facts["files"],
    )


def _kind(pair: PairPlan) -> str:
    if pair.is_merged:
        return "merged"
    return "graph" if pair.benchmark is None else "pair"


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
