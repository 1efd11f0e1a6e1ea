"""`msprobe confirm`: the configurations it writes, and what it answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builder import BuildOptions, build
from builder.results.confirmation import backward_of
from msprobe.cli.outcome import Exit
from msprobe.cli.program import main
from tests.builder.dumps import forward, tensor, write_dump

FIRST, SECOND, LAST = (f"Torch.{name}.0.forward" for name in ("mm", "relu", "sum"))


def result(folder: Path, norms: tuple[float, float, float]) -> Path:
    """A comparison of three calls, each reading what the one before it made."""

    def dump(name: str, made: tuple[float, float, float]) -> Path:
        data: dict[str, object] = {}
        read = 1.0
        for call, norm in zip((FIRST, SECOND, LAST), made, strict=True):
            data[call] = forward([tensor(read)], [tensor(norm)])
            read = norm
        return write_dump(folder / name, data, dict.fromkeys(data))

    sides = dump("problem", norms), dump("benchmark", (2.0, 3.0, 4.0))
    return build(*sides, folder / "out", BuildOptions(workers=1)).path


def test_it_writes_what_to_record_and_what_to_take(tmp_path: Path) -> None:
    database = result(tmp_path, (2.9, 4.1, 5.3))
    assert main(["confirm", str(database), "-o", str(tmp_path / "confirm")]) == Exit.DONE
    graft = json.loads((tmp_path / "confirm" / "graft.json").read_text())
    assert graft["graft"]["take"] == [{"at": FIRST, "what": "output", "from": FIRST}]
    closer = json.loads((tmp_path / "confirm" / "closer_benchmark.json").read_text())
    assert closer["task"] == "tensor" and FIRST in closer["tensor"]["list"]
    assert closer["dump_path"] == graft["graft"]["path"]


def test_it_says_proven_or_what_remains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = result(tmp_path / "before", (2.9, 4.1, 5.3))
    proven = result(tmp_path / "proven", (2.0, 3.0, 4.0))
    assert main(["confirm", str(before), "--after", str(proven)]) == Exit.DONE
    assert "proven: of 2 nodes behind it 2 agree now" in capsys.readouterr().out
    second = result(tmp_path / "second", (2.0, 3.0, 5.3))
    assert main(["confirm", str(before), "--after", str(second)]) == Exit.DIVERGED
    assert f"what remains begins at {LAST}" in capsys.readouterr().out


def test_what_cannot_be_confirmed_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = result(tmp_path, (2.9, 4.1, 5.3))
    assert main(["confirm", str(database), "--finding", "9", "-o", "x"]) == Exit.INPUT_ERROR
    assert "not 9" in capsys.readouterr().err
    assert main(["confirm", str(database)]) == Exit.INPUT_ERROR


def test_the_backward_entry_of_a_forward_one() -> None:
    assert backward_of("Module.a.B.forward.0") == "Module.a.B.backward.0"
    assert backward_of("Torch.mm.1.forward") == "Torch.mm.1.backward"
    assert backward_of("Module.a.B.parameters_grad.0") is None
