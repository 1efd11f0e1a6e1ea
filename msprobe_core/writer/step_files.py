"""The JSON files of one step of one process, appended to while the step runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msprobe_core.format import CONSTRUCT_FILE, DEBUG_FILE, DUMP_FILE, FLOW_FILE, STACK_FILE
from msprobe_core.values.text import quoted
from msprobe_core.writer.growing_json import GrowingJson

_NOTE = "this step did not complete: the process ended or stopped dumping in it"


@dataclass(slots=True)
class Header:
    """What stands at the top of dump.json; `data_dir` is None unless tensors are saved.

    `sketch` is the version of the sketches in the records, None where there are none. At level
    debug the file is debug.json, and there is no construct.json, as a saved value has no parent.
    With `flow` there is a flow.json of the calls that leave no values.
    """

    framework: str
    task: str
    level: str
    data_dir: str | None
    sketch: int | None = None
    flow: bool = False


class StepFiles:
    """Opens the files on creation. Raises OSError as the file system does."""

    def __init__(self, directory: Path, header: Header, extra_info: bool) -> None:
        self._directory = directory
        debug = header.level == "debug"
        file = DEBUG_FILE if debug else DUMP_FILE
        data_dir = "null" if header.data_dir is None else quoted(header.data_dir)
        opening = (
            f'{{"task": {quoted(header.task)}, "level": {quoted(header.level)}, '
            f'"framework": {quoted(header.framework)}, "dump_data_dir": {data_dir}, '
        )
        if header.sketch is not None:
            opening += f'"sketch_version": {header.sketch}, '
        opening += '"data": {'
        self._dump = GrowingJson(
            directory / file, opening, f'\n}}, "note": {quoted(_NOTE)}}}\n', "\n}}\n"
        )
        self._construct = _opened(directory / CONSTRUCT_FILE, extra_info and not debug)
        self._stack = _opened(directory / STACK_FILE, extra_info)
        self._flow = _opened(directory / FLOW_FILE, header.flow)
        self._stack_parts = 0

    def append(
        self,
        entries: list[str],
        parents: list[tuple[str, str | None]],
        stacks: list[tuple[list[str], str]],
        passing: list[str] | tuple[()] = (),
    ) -> None:
        """Add entries (member text), the parents of names, groups (names, JSON of frames), and
        calls that leave no values (member text).
        """
        self._dump.append(entries)
        if self._construct is not None:
            members = [f"{quoted(name)}: {_or_null(parent)}" for name, parent in parents]
            self._construct.append(members)
        if self._stack is not None:
            first = self._stack_parts
            self._stack.append([_group(first + n, *group) for n, group in enumerate(stacks)])
            self._stack_parts += len(stacks)
        if self._flow is not None:
            self._flow.append([*passing])

    def complete(self, notes: dict[str, str], groups: list[tuple[list[str], str]] | None) -> int:
        """Close all files as complete; `groups` replaces stack.json. Returns the bytes written.

        `notes` are members of dump.json's top level beside `data`, as JSON text.
        """
        extra = "".join(f",\n{quoted(key)}: {text}" for key, text in notes.items())
        self._dump.finish_with(f"\n}}{extra}}}\n")
        size = sum(file.close() for file in self._files())
        if groups is not None and self._stack is not None:
            self._rewrite_stacks(groups)
        return size

    def abandon(self) -> None:
        """Close the files with the note that the step did not complete."""
        for file in self._files():
            file.close(complete=False)

    def leave(self) -> None:
        """Close the files and write nothing more."""
        for file in self._files():
            file.leave()

    def _files(self) -> list[GrowingJson]:
        every = (self._dump, self._construct, self._stack, self._flow)
        return [file for file in every if file is not None]

    def _rewrite_stacks(self, groups: list[tuple[list[str], str]]) -> None:
        fresh = self._directory / f"{STACK_FILE}.partial"
        text = ",\n".join(_group(number, *group) for number, group in enumerate(groups))
        fresh.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
        fresh.replace(self._directory / STACK_FILE)


def _opened(path: Path, wanted: bool) -> GrowingJson | None:
    return GrowingJson(path, "{", "\n}\n", "\n}\n") if wanted else None


def _or_null(name: str | None) -> str:
    return "null" if name is None else quoted(name)


def _group(number: int, names: list[str], frames: str) -> str:
    left = ", ".join(quoted(name) for name in names)
    return f'"{number}": [[{left}], {frames}]'
