"""Turns the places where a fault was put into the entry names that a dump has for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.zoo.fault import Place
from msprobe_core.format import (
    CONSTRUCT_FILE,
    DUMP_FILE,
    FLOW_FILE,
    EntryName,
    NameSyntaxError,
    parse_entry,
)

Found = tuple[int, str]
ANYWHERE = "**"  # a call that the problem side alone makes
COLLECTIONS = ("optimizer", "clip_grad")


@dataclass(frozen=True, slots=True)
class Recording:
    """One step of one side: parent by entry, what has values, the calls of flow.json alone."""

    parents: dict[str, str | None]
    valued: frozenset[str]
    unlisted: frozenset[str] = frozenset()


def right_answers(places: Sequence[Place], problem: Path, benchmark: Path) -> set[Found]:
    """Every (step, entry) that counts as having found a fault at `places`.

    Calls win: the modules that contain them count only where no such call has values.
    """
    answers: set[Found] = set()
    for step in sorted({place.step for place in places}):
        of_step = [place for place in places if place.step == step]
        theirs = [place for place in of_step if place.path != ANYWHERE]
        names = _names(of_step, _read(problem, step)) | _names(theirs, _read(benchmark, step))
        answers |= {(step, name) for name in names}
    return answers


def _names(places: Sequence[Place], recording: Recording) -> set[str]:
    calls: set[str] = set()
    modules: set[str] = set()
    for place in places:
        if place.api is None:
            modules |= set(_modules(place, recording))
        else:
            calls |= set(_calls(place, recording))
    if not calls & recording.valued and not modules:
        containing = [place for place in places if place.api not in (None, "parameters_grad")]
        for place in containing:
            modules |= set(_modules(Place(place.path, direction=place.direction), recording))
    # The faulty call itself, where it has no place in construct.json.
    inside = {name for name in recording.unlisted if recording.parents[name] in modules}
    return calls | modules | inside


def _calls(place: Place, recording: Recording) -> list[str]:
    if place.api == "parameters_grad":
        return [name for name in recording.valued if _is_gradient(name, place.path)]
    matching = [
        name
        for name, parent in recording.parents.items()
        if _lies_in(parent, place) and _is_call(name, place)
    ]
    matching.sort(key=_number)
    return matching if place.nth is None else matching[place.nth : (place.nth + 1) or None]


def _modules(place: Place, recording: Recording) -> Iterator[str]:
    if place.path in COLLECTIONS:
        yield from (name for name in (place.path,) if name in recording.parents)
        return
    found = []
    for name in recording.parents:
        entry = _parse(name)
        if entry is None or entry.kind != "module" or entry.direction != place.direction:
            continue
        if place.path in ("*", entry.path):
            found.append(name)
    found.sort(key=_number)
    yield from found if place.nth is None else found[place.nth : (place.nth + 1) or None]


def _lies_in(parent: str | None, place: Place) -> bool:
    if place.path == ANYWHERE:
        return parent not in COLLECTIONS
    if parent is None or place.path == "":
        return parent is None and place.path == ""
    if place.path in COLLECTIONS:
        return parent == place.path
    entry = _parse(parent)
    return entry is not None and entry.kind == "module" and entry.path == place.path


def _is_call(name: str, place: Place) -> bool:
    entry = _parse(name)
    if entry is None or entry.kind != "api":
        return False
    return place.api == "*" or (entry.owner == place.api and entry.direction == place.direction)


def _is_gradient(name: str, path: str) -> bool:
    entry = _parse(name)
    return entry is not None and entry.kind == "parameters_grad" and path in ("*", entry.path)


def _number(name: str) -> int:
    entry = _parse(name)
    return entry.call or 0 if entry is not None else 0


def _parse(name: str) -> EntryName | None:
    try:
        return parse_entry(name)
    except NameSyntaxError:
        return None


def _read(dump: Path, step: int) -> Recording:
    if not (dump / f"step{step}").is_dir():
        return Recording({}, frozenset())  # an update in the last step shows nowhere else
    (folder,) = (dump / f"step{step}").iterdir()
    parents = json.loads((folder / CONSTRUCT_FILE).read_text())
    data = json.loads((folder / DUMP_FILE).read_text())["data"]
    flow = folder / FLOW_FILE
    passing = json.loads(flow.read_text()) if flow.exists() else {}
    parents |= {name: call.get("parent") for name, call in passing.items() if name not in parents}
    plain = {name: p[0] if isinstance(p, list) else p for name, p in parents.items()}
    unlisted = frozenset(name for name, call in passing.items() if "after" in call)
    return Recording(plain, frozenset(data), unlisted)
