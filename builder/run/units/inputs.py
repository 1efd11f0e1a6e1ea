"""The JSON files that a unit reads, as they were when its plan was made.

Told by their size and by when they were written last, or by the tag that a store gives them: their
contents would have to be read once more by whoever plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from builder.dump.sources import JSON_FILES
from builder.storage.addresses import open_folder
from builder.storage.folder import Item, address_of
from builder.work.plan import InputFile, PairPlan

Listing = Callable[[str], Sequence[Item]]


def inputs_of(pair: PairPlan, listed: Listing | None = None) -> tuple[InputFile, ...]:
    """The files that a pair reads as they are now; `listed` is asked for what folders hold."""
    look = listed or _listed
    found: list[InputFile] = []
    for path in dict.fromkeys(pair.folders):
        folder, names = (path.parent, (path.name,)) if path.is_file() else (path, ())
        found += [
            InputFile(folder / item.name, item.size or 0, item.version)
            for item in look(address_of(folder))
            if not item.is_folder and item.name in (*JSON_FILES, *names)
        ]
    return tuple(found)


def changed_input(pair: PairPlan) -> str | None:
    """What to say of the first file that is not the one that was planned with; None if none is."""
    planned = {file.path: file for file in pair.inputs}
    if not planned:
        return None
    now = {file.path: file for file in inputs_of(pair)}
    for path in (*planned, *now):
        before, after = planned.get(path), now.get(path)
        if before != after:
            return f"{address_of(path)}: {_change(before, after)}; plan again"
    return None


def _change(before: InputFile | None, after: InputFile | None) -> str:
    if before is None or after is None:
        return f"{'new' if before is None else 'gone'} since the plan was made"
    if before.size != after.size:
        return f"{after.size} bytes, {before.size} when the plan was made"
    return "written again since the plan was made"


def _listed(text: str) -> list[Item]:
    return open_folder(text).listed()
