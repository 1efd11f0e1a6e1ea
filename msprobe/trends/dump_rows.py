"""The statistics of a dump as rows of a `.trend.db`: a target is a place of a module or a call.

`Functional.linear.3.forward` has the targets `Functional.linear.input.0`, … of the metric
`forward`, and 3 as its call in the step. Where micro-batches count, the axis has one place for each
call of the outermost module (or what Megatron says), and calls are counted within it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from builder.dump.reader import Dump, read_dump
from builder.dump.sources import Source, find_sources
from builder.dump.values import Record
from msprobe.errors import CheckError
from msprobe.trends.trend_db import LAYER, Row, Tags
from msprobe_core.format.frameworks import MODULE_PREFIXES
from msprobe_core.format.names import EntryName, NameSyntaxError, parse_entry

STATISTICS = ("norm", "max", "min", "mean")
_FIELDS = ("Norm", "Max", "Min", "Mean")


def dump_rows(data: Path, micro_batches: bool) -> Iterator[Row]:
    """All rows, step by step. Raises DumpError, and CheckError for a dump without statistics."""
    sources = find_sources(data).sources
    found = [_micro_batches(read_dump(source.path)) for source in sources if micro_batches]
    batches = found or [{} for _ in sources]
    each = 1 + max((number for by_name in batches for number in by_name.values()), default=0)
    count = 0
    for source, batch_of in zip(sources, batches, strict=True):
        for row in _rows_of(source, read_dump(source.path), batch_of, each):
            count += 1
            yield row
    if not count:
        raise CheckError(f"{data}: it holds no statistics", "record task statistics or tensor")


def _rows_of(source: Source, dump: Dump, batch_of: Mapping[str, int], each: int) -> Iterator[Row]:
    entries = {name: entry for name in dump.ranges if (entry := _parsed(name)) is not None}
    first: dict[tuple[str, int], int] = {}
    for name, entry in entries.items():
        key, call = (entry.owner, batch_of.get(name, 0)), entry.call or 0
        first[key] = min(first.get(key, call), call) if batch_of else 0
    for name, entry in entries.items():
        batch = batch_of.get(name, 0)
        call = (entry.call or 0) - first[entry.owner, batch]
        metric = entry.direction if entry.kind != "parameters_grad" else entry.kind
        for index in range(*dump.ranges[name]):
            values = _numbers(dump.values.records[index])
            if values["norm"] is not None:  # integers have none, and no trend
                place = dump.values.keys[index].removeprefix("parameters_grad.")
                target, tags = f"{entry.owner}.{place}", _tags(entry, place)
                step = source.step * each + batch
                yield Row(source.rank, step, 0, call, target, metric, values, tags)


def _micro_batches(dump: Dump) -> dict[str, int]:
    """The micro-batch of each entry: the call of the outermost module around it."""
    found = dict(dump.micro_steps)
    for name in dump.ranges:
        chain = [name]
        while chain[-1] not in found and (parent := dump.parents.get(chain[-1])) is not None:
            chain.append(parent)
        outermost = _parsed(chain[-1])
        of_module = outermost is not None and outermost.prefix in MODULE_PREFIXES
        batch = (outermost.call or 0) if outermost is not None and of_module else 0
        found.update(dict.fromkeys(chain, found.get(chain[-1], batch)))
    return found


def _parsed(name: str) -> EntryName | None:
    try:
        return parse_entry(name)
    except NameSyntaxError:  # the optimizer's step, values saved by a name of the user's
        return None


def _numbers(record: Record) -> dict[str, float | None]:
    if record.dtype is None:
        return dict.fromkeys(STATISTICS)
    read = partial(getattr, record)
    return {each: _number(read(name)) for each, name in zip(STATISTICS, _FIELDS, strict=True)}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _tags(entry: EntryName, place: str) -> Tags:
    """What the viewer filters by: functions, or layers and what is left of a module's path."""
    if entry.prefix not in MODULE_PREFIXES:
        return ((entry.owner, "function"), (place, "index"))
    path = entry.owner.partition(".")[2]
    layers = LAYER.findall(path)
    rest = path.rpartition(f"{layers[-1]}.")[2] if layers else path
    tags = [(entry.prefix, "default"), *((layer, "layer") for layer in layers)]
    if entry.kind == "parameters_grad":
        rest, place = rest.rpartition(".")[0], f"{entry.type_name}.{place}"
    elif place.startswith("parameters."):
        tags.append(("parameters", "default"))
    return (*tags, *([(rest, "module")] if rest else []), (place, "index"))
