"""The three JSON files of one step of one process, appended to while the step runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msprobe_core.format import CONSTRUCT_FILE, DUMP_FILE, STACK_FILE
from msprobe_core.values.text import quoted
from msprobe_core.writer.growing_json import GrowingJson

_NOTE = "this step did not complete: the process ended or stopped dumping in it"


@dataclass(slots=True)
class Header:
    """What stands at the top of dump.json; `data_dir` is None unless tensors are saved.

    `sketch` is the version of the sketches in the records, None where there are none.
    """

    task: str
    level: str
    data_dir: str | None
    sketch: int | None = None


class StepFiles:
    """Opens the files on creation. Raises OSError as the file system does."""

    def __init__(self, directory: Path, header: Header, extra_info: bool) -> None:
        self._directory = directory
        data_dir = "null" if header.data_dir is None else quoted(header.data_dir)
        opening = (
            f'{{"task": {quoted(header.task)}, "level": {quoted(header.level)}, '
            f'"framework": "pytorch", "dump_data_dir": {data_dir}, '
        )
        if header.sketch is not None:
            opening += f'"sketch_version": {header.sketch}, '
        opening += '"data": {'
        self._dump = GrowingJson(
            directory / DUMP_FILE, opening, f'\n}}, "note": {quoted(_NOTE)}}}\n', "\n}}\n"
        )
        self._extra = (
            [
                GrowingJson(directory / name, "{", "\n}\n", "\n}\n")
                for name in (CONSTRUCT_FILE, STACK_FILE)
            ]
            if extra_info
            else []
        )
        self._stack_parts = 0

    def append(
        self,
        entries: list[str],
        parents: list[tuple[str, str | None]],
        stacks: list[tuple[list[str], str]],
    ) -> None:
        """Add entries (member text), the parents of names, and groups (names, JSON of frames)."""
        self._dump.append(entries)
        if not self._extra:
            return
        construct, stack = self._extra
        construct.append([f"{quoted(name)}: {_or_null(parent)}" for name, parent in parents])
        stack.append([_group(self._stack_parts + n, *group) for n, group in enumerate(stacks)])
        self._stack_parts += len(stacks)

    def complete(self, notes: dict[str, str], groups: list[tuple[list[str], str]] | None) -> int:
        """Close all files as complete; `groups` replaces stack.json. Returns the bytes written.

        `notes` are members of dump.json's top level beside `data`, as JSON text.
        """
        extra = "".join(f",\n{quoted(key)}: {text}" for key, text in notes.items())
        self._dump.finish_with(f"\n}}{extra}}}\n")
        size = self._dump.close()
        for file in self._extra:
            size += file.close()
        if groups is not None and self._extra:
            self._rewrite_stacks(groups)
        return size

    def abandon(self) -> None:
        """Close the files with the note that the step did not complete."""
        for file in (self._dump, *self._extra):
            file.close(complete=False)

    def _rewrite_stacks(self, groups: list[tuple[list[str], str]]) -> None:
        fresh = self._directory / f"{STACK_FILE}.partial"
        text = ",\n".join(_group(number, *group) for number, group in enumerate(groups))
        fresh.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
        fresh.replace(self._directory / STACK_FILE)


def _or_null(name: str | None) -> str:
    return "null" if name is None else quoted(name)


def _group(number: int, names: list[str], frames: str) -> str:
    left = ", ".join(quoted(name) for name in names)
    return f'"{number}": [[{left}], {frames}]'
