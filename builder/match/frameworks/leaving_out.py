"""A dump without some of its entries, and without their values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from builder.dump.reader import Dump
from builder.dump.values import Ranges, Values


def without_entries(
    dump: Dump, gone: Collection[str], parents: Mapping[str, str | None] | None = None
) -> Dump:
    """The dump without `gone`; `parents` are those of what is left, where they change.

    Every value belongs to an entry: whoever asks which call made a value relies on it.
    """
    values, ranges = _left(dump, gone)
    kept = dump.parents if parents is None else parents
    return replace(
        dump,
        values=values,
        ranges=ranges,
        parents={name: above for name, above in kept.items() if name not in gone},
        stacks={name: stack for name, stack in dump.stacks.items() if name not in gone},
    )


def _left(dump: Dump, gone: Collection[str]) -> tuple[Values, Ranges]:
    values, ranges = Values(), Ranges()
    for name, (start, stop) in dump.ranges.items():
        if name in gone:
            continue
        shift = len(values.keys) - start
        values.keys += dump.values.keys[start:stop]
        values.records += dump.values.records[start:stop]
        ranges[name] = (start + shift, stop + shift)
        if name in dump.values.absent:
            absent = dump.values.absent[name]
            values.absent[name] = [(index + shift, key) for index, key in absent]
    return values, ranges
