"""What is on the disk reads at every moment, and a disk that fails ends the dump, not the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from msprobe_core.writer.growing_json import GrowingJson
from tests.msprobe_core.conftest import ROOT
from tests.msprobe_core.dump_reading import RankDump, read_rank_dump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]

KILLED = """
import sys, os, signal, torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path=sys.argv[1], level="L1")
for step in range(2):
    debugger.start()
    x = torch.ones(4)
    for n in range(3000):
        x = torch.sin(x)
        if step == 1 and n == 2500:
            os.kill(os.getpid(), signal.SIGKILL)
    debugger.stop(); debugger.step()
"""


def test_a_killed_process_leaves_a_dump_with_a_note(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    whole = read_rank_dump(next((tmp_path / "step0").iterdir()))
    assert len(whole.data) == 3000 and "note" not in whole.head
    broken = read_rank_dump(next((tmp_path / "step1").iterdir()))
    assert "did not complete" in broken.head["note"]
    assert 1500 < len(broken.data) < 2501
    named = {name for names, _ in broken.stack.values() for name in names}
    assert named == {*broken.data, "Torch.ones.0.forward"}
    flow = json.loads((broken.path / "flow.json").read_text(encoding="utf-8"))
    assert list(flow) == ["Torch.ones.0.forward"]


def test_growing_json_reads_after_each_write(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    file = GrowingJson(path, "{", '\n, "note": 1}\n', "\n}\n")
    file.append(['"a": 1'])
    assert json.loads(path.read_text()) == {"a": 1, "note": 1}
    file.append(['"b": [2]', '"c": 3'])
    assert json.loads(path.read_text()) == {"a": 1, "b": [2], "c": 3, "note": 1}
    file.close()
    assert json.loads(path.read_text()) == {"a": 1, "b": [2], "c": 3}


def test_a_full_disk_leaves_the_file_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    file = GrowingJson(path, '{"x": 0', '\n, "note": 1}\n', "\n}\n")
    file.append([', "a": 1'][:0])
    real = os.pwrite
    room = [40]

    def full(descriptor: int, data: bytes, offset: int) -> int:
        allowed = min(len(data), max(room[0] - offset, 0))
        if not allowed:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:allowed], offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space"):
        file.append(['"long": "' + "x" * 100 + '"'])
    assert json.loads(path.read_text()) == {"x": 0, "note": 1}


def run(debugger: PrecisionDebugger, model: nn.Module) -> None:
    debugger.start(model)
    model(torch.ones(2, 4)).sum().backward()
    debugger.stop()
    debugger.step()


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_an_error_of_the_disk_ends_the_dump_with_one_message(
    debugger: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = debugger(level="mix", task="tensor")
    net = model()
    run(target, net)
    monkeypatch.setattr(
        "msprobe_core.torch.record.tensor_files.write_pt",
        lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )
    capsys.readouterr()
    for _ in range(3):
        run(target, net)
    said = [line for line in capsys.readouterr().err.splitlines() if line]
    assert len(said) == 1
    assert "No space left on device; dumping has ended, the run goes on" in said[0]
    assert net[0].weight.grad.abs().sum() > 0


def test_a_path_that_cannot_be_made_is_said_once(
    debugger: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    target = debugger(level="mix", dump_path=str(tmp_path / "file" / "dump"))
    for _ in range(2):
        run(target, model())
    said = [line for line in capsys.readouterr().err.splitlines() if line]
    assert len(said) == 1 and "nothing is dumped, the run goes on" in said[0]


def test_paths_with_spaces_and_chinese(debugger: Make, tmp_path: Path) -> None:
    where = tmp_path / "数据 dump dir"
    run(debugger(level="mix", task="tensor", dump_path=str(where)), model())
    (path,) = where.glob("step0/proc*")
    dump = read_rank_dump(path)
    assert dump.head["dump_data_dir"].startswith(str(where))
    record = dump.data["Module.0.Linear.forward.0"]["output"][0]
    assert torch.load(path / "dump_tensor_data" / record["data_name"]).shape == (2, 4)


def test_an_existing_dump_is_kept(
    debugger: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = debugger(level="mix")
    run(target, model())
    first = next((tmp_path / "dump" / "step0").iterdir())
    before = (first / "dump.json").read_text()
    target.service._reset_status()
    run(target, model())
    kept = first.with_name(first.name + ".previous1")
    assert (kept / "dump.json").read_text() == before
    assert (first / "dump.json").exists()
    assert f"kept as {kept.name}" in capsys.readouterr().err


def test_one_line_at_each_step(debugger: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run(debugger(level="mix"), model())
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("[msprobe] step 0: ") and " entries, " in line and " MB, " in line


def test_a_selection_that_matched_nothing_is_said(
    debugger: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"level": "mix", "statistics": {"list": ["nowhere"]}}))
    target = debugger(config_path=str(config))
    run(target, model())
    target.close()
    assert "no entry matched ['nowhere']" in capsys.readouterr().err
    target = debugger(step=[7])
    target.start()
    target.step()
    target.close()
    assert "step selects [7], the run had 0" in capsys.readouterr().err


def test_a_late_rank_names_all_steps(
    debugger: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = debugger(level="mix", task="tensor")
    net = model()
    run(target, net)
    monkeypatch.setattr("msprobe_core.torch.pytorch.current_rank", lambda: 3)
    run(target, net)
    run(target, net)
    found = sorted(str(p.relative_to(tmp_path / "dump")) for p in (tmp_path / "dump").glob("*/*"))
    assert found == ["step0/rank3", "step1/rank3", "step2/rank3"]
    head = read_rank_dump(tmp_path / "dump" / "step0" / "rank3").head
    assert head["dump_data_dir"].endswith("step0/rank3/dump_tensor_data")


def test_cost_of_a_call_does_not_grow(debugger: Make) -> None:
    target = debugger(level="L1")
    target.start()
    value = torch.ones(4)
    times = []
    for _ in range(4):
        began = time.process_time()
        for _ in range(1500):
            value = value * 1.0
        times.append(time.process_time() - began)
    target.stop()
    waiting = target.service.recorder.trace.waiting_entries()
    assert waiting == 0
    assert len(times) == 4
