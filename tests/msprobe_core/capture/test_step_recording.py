"""The recorder of a step without any framework: what it asks of a watch, and what it writes."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import pytest

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.output import StepOutput
from msprobe_core.capture.saved_values import OnGradient, SavedValues
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook
from msprobe_core.capture.step_recording import StepParts, StepRecording, open_files
from msprobe_core.capture.trace import Trace
from msprobe_core.config import read_config
from msprobe_core.config.slices import Slice
from msprobe_core.values.arguments import Scalars
from msprobe_core.values.text import quoted


class Vector:
    """The only kind of tensor here; what awaits its gradient is told by `pass_back`."""

    def __init__(self, *numbers: float, trains: bool = True) -> None:
        self.numbers, self.trains = numbers, trains
        self.waiting: list[OnGradient] = []

    def pass_back(self, gradient: Vector | None) -> None:
        for take in self.waiting:
            take(gradient)


class VectorBook:
    tensor_type: type = Vector
    has_pending = False

    def __init__(self) -> None:
        self.scalars: Scalars = {}
        self.abnormal = False
        self.side: Literal["input", "output"] | None = None
        self.slices: tuple[Slice, ...] = ()

    def record(self, tensor: Vector, path: str, key: object = None) -> str:
        return json.dumps({"type": "Vector", "Max": max(tensor.numbers)})

    def special(self, value: object) -> None:
        return None

    def read_back(self) -> None:
        """Nothing lies on a device."""

    def written(self, value: object) -> None:
        """Nothing is remembered."""

    def forget_all(self) -> None:
        """Nothing is held."""


class VectorWriter:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def untraced(self) -> AbstractContextManager[object]:
        return nullcontext()

    def is_tensor(self, value: object) -> bool:
        return isinstance(value, Vector)

    def members_of(self, value: object) -> list[tuple[str, object]] | None:
        if isinstance(value, dict):
            return [*value.items()]
        return (
            [(str(at), each) for at, each in enumerate(value)] if isinstance(value, list) else None
        )

    def tensors_in(self, value: object) -> Iterable[Vector]:
        if isinstance(value, Vector):
            return [value]
        members = self.members_of(value) or []
        return [tensor for _, member in members for tensor in self.tensors_in(member)]

    def watch(self, tensor: Vector, on_gradient: OnGradient) -> bool:
        if tensor.trains:
            tensor.waiting.append(on_gradient)
        return tensor.trains

    def write_value(self, entry: Entry, value: object) -> None:
        self._trace.arguments.value(value, entry.name, "", entry.parts)

    def write_output(self, entry: Entry, value: object) -> None:
        entry.parts.append(', "output": ')
        self._trace.arguments.sequence([value], f"{entry.name}.output", entry.parts)

    def end_call(self, entry: Entry) -> None:
        self._trace.place_forward(entry.name, None)
        self._trace.add(entry)

    def write_gradient(self, name: str, gradient: Vector) -> None:
        entry = Entry(name)
        entry.parts.append(f'"input": [{self.gradient_text(gradient, name)[0]}]')
        self._trace.add(entry)

    def gradient_text(self, gradient: Vector, path: str) -> tuple[str, bool]:
        return self._trace.book.record(gradient, path), False  # type: ignore[return-value]

    def forget(self) -> None:
        """No graph is held."""


class Counted:
    def __init__(self, told: list[object], model: object, first: int, last: int) -> None:
        self._told, self._for = told, (model, first, last)

    def is_for(self, model: object, first: int, last: int) -> bool:
        return (model, first, last) == self._for

    def start(self) -> None:
        self._told.append(("count", *self._for))

    def stop(self) -> None:
        self._told.append("count no longer")


class ToldWatch:
    """Notes what it is asked for, in order."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.fails = False

    def start(self, model: object) -> None:
        self.told.append(("start", model))

    def stop(self) -> None:
        self.told.append("stop")

    def count_calls(self, model: object, first: int, last: int) -> Counted:
        return Counted(self.told, model, first, last)

    def begin_single(self, module: object, name: str) -> None:
        self.told.append(("single", module, name))

    def end_single(self) -> None:
        self.told.append("all")

    def place(self, _: object, parallel: Mapping[str, object] | None) -> str | None:
        return None if parallel is None else json.dumps(parallel)

    def notes(self) -> Mapping[str, str]:
        return {"watched": json.dumps(len(self.told))}

    def forget(self) -> None:
        self.told.append("forget")
        if self.fails:
            raise ValueError("cannot forget")


class NoFiles:
    def __init__(self, directory: Path) -> None:
        self.directory, self.count, self.bytes = directory, 3, 5
        self.full = False

    def finish(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


class Step:
    """A recording with what was put into it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        config = read_config(None, dump_path=str(folder / "dump"), **settings)
        output = StepOutput(config.dump_path, 0, 0)
        self.files, self.watch = NoFiles(output.directory / "files"), ToldWatch()
        self.book = VectorBook()
        trace = Trace(config, Selection(config), self.book, StackBook(), output)
        open_files(output, "vectors", config, self.files)
        saved = SavedValues(trace, VectorWriter(trace), alone=config.level == "debug")
        parts = StepParts(trace, self.watch, self.files, saved)
        self.recording = StepRecording(config, 0, output, parts)

    def read(self, file: str = "dump.json") -> dict[str, Any]:
        read: dict[str, Any] = json.loads((self.recording.directory / file).read_text())
        return read


def test_a_step_starts_stops_and_says_what_it_watched(tmp_path: Path) -> None:
    step = Step(tmp_path, level="mix")
    step.recording.start("model", None, {"tp": 2})
    assert step.recording.running
    step.recording.begin_single("part", "mine")
    step.recording.end_single()
    step.recording.complete()
    assert step.watch.told == [
        ("start", "model"),
        ("single", "part", "mine"),
        "all",
        "stop",
        "forget",
    ]
    written = step.read()
    assert (written["framework"], written["parallel"]) == ("vectors", {"tp": 2})
    assert written["watched"] == len(step.watch.told)
    assert "note" not in written
    assert step.recording.saved_tensors == step.files.count


def test_calls_go_on_being_counted_for_the_same_range_alone(tmp_path: Path) -> None:
    step = Step(tmp_path, level="mix")
    for model, tokens in (("a", (0, 1)), ("a", (0, 1)), ("b", (0, 1))):
        step.recording.start(model, tokens)
        counted = step.recording._counted
        step.recording.stop()
        step.recording.start(model, tokens)
        assert step.recording._counted is counted
        step.recording.stop()
    counts = [each for each in step.watch.told if isinstance(each, tuple)]
    assert counts == [("count", "a", 0, 1)] * 4 + [("count", "b", 0, 1)] * 2
    assert not step.recording.running


def test_parts_of_tensors_are_asked_of_the_book(tmp_path: Path) -> None:
    step = Step(tmp_path, level="mix")
    part = Slice(dim=0, size=None, begin=0, end=1)
    step.recording.slices = (part,)
    assert step.book.slices == step.recording.slices == (part,)


def test_a_full_disk_ends_the_step_and_not_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = Step(tmp_path, level="mix")
    step.recording.start(None, None)
    step.files.full = True
    step.recording.complete()
    assert step.recording.failed
    assert "No space left on device" in capsys.readouterr().err
    assert "note" in step.read()


def test_what_a_watch_cannot_forget_is_reported(tmp_path: Path) -> None:
    step = Step(tmp_path, level="mix")
    step.watch.fails = True
    step.recording.start(None, None)
    step.recording.abandon("ended early")
    assert not step.recording.running
    assert "cannot forget" in (step.recording.directory / "dump_error_info.log").read_text()


def test_a_forked_process_writes_nothing(tmp_path: Path) -> None:
    step = Step(tmp_path, level="mix")
    step.recording.start(None, None)
    before = (step.recording.directory / "dump.json").read_bytes()
    step.recording.leave()
    step.recording.save(Vector(1.0), "late", save_backward=False)
    assert step.watch.told[-1] == "stop"
    assert (step.recording.directory / "dump.json").read_bytes() == before


def test_saved_values_stand_alone_with_their_gradients(tmp_path: Path) -> None:
    step = Step(tmp_path, level="debug")
    step.recording.start(None, None)
    first, fixed = Vector(1.0, 2.0), Vector(3.0, trains=False)
    step.recording.save({"first": first, "others": [fixed, 7]}, "state", save_backward=True)
    first.pass_back(Vector(4.0))
    first.pass_back(None)
    first.pass_back(Vector(5.0))
    step.recording.complete()
    data = step.read("debug.json")["data"]
    assert data["state.0.debug"]["first"]["Max"] == max(first.numbers)
    assert data["state_grad.0.debug"] == {
        "first": {"type": "Vector", "Max": 5.0},
        "others": [None, None],
    }


def test_saved_values_are_entries_among_others(tmp_path: Path) -> None:
    step = Step(tmp_path, level="mix")
    step.recording.start(None, None)
    one, other = Vector(1.0), Vector(2.0)
    step.recording.save([one, other], "pair", save_backward=True)
    other.pass_back(Vector(3.0))
    other.pass_back(Vector(4.0))
    step.recording.complete()
    data = step.read()["data"]
    assert [*data] == [
        "Debug.pair.0.forward",
        "Debug.pair_1.0.backward",
        "Debug.pair_1@2.0.backward",
    ]
    assert data["Debug.pair_1@2.0.backward"] == {"input": [{"type": "Vector", "Max": 4.0}]}
    assert (
        quoted("Debug.pair.0.forward") in (step.recording.directory / "construct.json").read_text()
    )
