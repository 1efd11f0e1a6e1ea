"""What a configuration asks for, and what cannot be asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.mindspore.conftest import Thing, read, tensors, train


def one_step(ms: Thing, made: Thing, net: Thing) -> None:
    made.start(net)
    train(ms, net)
    made.stop()
    made.step()


@pytest.mark.parametrize(
    ("section", "kept"),
    [
        ({"list": ["tanh"]}, {"Functional.tanh.0.forward", "Functional.tanh.0.backward"}),
        (
            {"list": ["norm.LayerNorm"], "data_mode": ["backward"]},
            {"Primitive.layer_norm.LayerNorm.0.backward", "Cell.norm.LayerNorm.backward.0"}
            | {"Cell.norm.LayerNorm.parameters_grad.0"},
        ),
        (
            {"scope": ["Mint.add.0.forward", "Functional.tanh.0.forward"]},
            {"Mint.add.0.forward", "Functional.tanh.0.forward"},
        ),
    ],
)
def test_a_selection_keeps_what_it_names(
    ms: Thing,
    net: Thing,
    config: Thing,
    debugger: Thing,
    tmp_path: Path,
    section: dict[str, object],
    kept: set[str],
) -> None:
    one_step(ms, debugger(config(**section)), net)
    found = {*read(tmp_path / "dump")}
    assert kept - {"Primitive.layer_norm.LayerNorm.0.backward"} <= found
    assert len(found) <= len(kept) + 1


@pytest.mark.parametrize(("mode", "keys"), [("input", "input_args"), ("output", "output")])
def test_one_side_of_the_calls(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path, mode: str, keys: str
) -> None:
    one_step(ms, debugger(config(data_mode=["forward", mode])), net)
    data = read(tmp_path / "dump")
    assert all(keys in entry for entry in data.values())
    other = {"input_args", "output"} - {keys}
    assert not any(other & {*entry} for entry in data.values())


def test_checksums(ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path) -> None:
    one_step(ms, debugger(config(summary_mode="md5")), net)
    found = [told for entry in read(tmp_path / "dump").values() for told in tensors(entry)]
    assert found and all(len(told["md5"]) == 8 for told in found)


def test_named_tensors_beside_statistics(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    one_step(ms, debugger(config(tensor_list=["tanh"])), net)
    files = [path.name for path in (tmp_path / "dump").rglob("*.npy")]
    assert files and all("tanh" in name for name in files)


def test_steps_ranks_and_a_switch(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    made = debugger(config(step=[1], rank=[0]))
    for _ in range(3):
        one_step(ms, made, net)
    assert [path.name for path in (tmp_path / "dump").iterdir()] == ["step1"]


def test_the_switch_is_read_before_each_step(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    path = config(dump_enable=False)
    made = debugger(path)
    one_step(ms, made, net)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "dump_enable": True}))
    one_step(ms, made, net)
    assert [path.name for path in (tmp_path / "dump").iterdir()] == ["step1"]
    assert len(read(tmp_path / "dump", 1)) > 10


def test_deferred_tensors_are_those_of_the_step(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    path = config("tensor", list=["Cell.mlp.fc1"])
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "async_dump": True}))
    made = debugger(path)
    weight = net.mlp.fc1.weight.asnumpy().copy()
    made.start(net)
    train(ms, net)
    net.mlp.fc1.weight.set_data(ms.Tensor(np.zeros_like(weight)))
    made.stop()
    made.step()
    (file,) = (tmp_path / "dump").rglob("Cell.mlp.fc1.Dense.forward.0.parameters.weight.npy")
    assert np.load(file).tobytes() == weight.tobytes()


def test_structure_alone(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    one_step(ms, debugger(config("structure")), net)
    assert read(tmp_path / "dump") == {}
    parents = read(tmp_path / "dump", file="construct.json")
    assert parents["Cell.mlp.fc1.Dense.forward.0"] == "Cell.mlp.Mlp.forward.0"


def test_calls_of_the_model_by_number(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    made = debugger(config(level="L0"))
    made.start(net, token_range=[1, 1])
    for seed in range(3):
        train(ms, net, seed)
    made.stop()
    made.step()
    names = [name for name in read(tmp_path / "dump") if ".mlp.Mlp.forward" in name]
    assert names == ["Cell.mlp.Mlp.forward.0"]


def test_graph_mode_is_refused_with_what_to_do(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    from msprobe_core.errors import LifecycleError

    made = debugger(config(level="L1"))
    one_step(ms, made, net)
    before = read(tmp_path / "dump")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        with pytest.raises(
            LifecycleError, match=r"GRAPH_MODE; call mindspore\.set_context"
        ) as told:
            made.start(net)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert "\n" not in str(told.value)
    assert [path.name for path in (tmp_path / "dump").iterdir()] == ["step0"]
    assert read(tmp_path / "dump") == before
    one_step(ms, made, net)  # the mode is set right: the recording goes on
    assert {*read(tmp_path / "dump", 1)} == {*before}


def test_a_rank_that_does_not_exist_records_nothing_and_says_so(
    ms: Thing,
    net: Thing,
    config: Thing,
    debugger: Thing,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    one_step(ms, debugger(config()), net)
    before = read(tmp_path / "dump")
    loss, _ = train(ms, net)
    made = debugger(config(rank=[7]))
    capfd.readouterr()
    made.start(net, rank_id=0)
    found, _ = train(ms, net)
    made.stop()
    made.step()
    made.close()
    said = [line for line in "".join(capfd.readouterr()).splitlines() if "msprobe" in line]
    assert said == ["[msprobe] nothing was dumped: rank selects [7], this is 0"]
    assert found.tobytes() == loss.tobytes()
    assert read(tmp_path / "dump") == before


@pytest.mark.parametrize("rank", [-1, "0", True])
def test_what_is_no_rank_is_refused(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path, rank: Thing
) -> None:
    from msprobe_core.errors import LifecycleError

    with pytest.raises(LifecycleError, match="give an integer from 0 up"):
        debugger(config()).start(net, rank_id=rank)
    assert not (tmp_path / "dump").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"precision": "high"}, "precision is 'high', which is for PyTorch only"),
        ({"task": "exception_dump"}, "exception_dump'; it is for level L2"),
    ],
)
def test_what_is_pytorchs_alone_is_refused(
    ms: Thing, config: Thing, debugger: Thing, more: dict[str, Thing], words: str
) -> None:
    from msprobe_core.errors import ConfigError

    path: Path = config()
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
    with pytest.raises(ConfigError, match=words):
        debugger(path)


def test_values_of_every_dtype(ms: Thing, config: Thing, debugger: Thing, tmp_path: Path) -> None:
    kinds = "float16 float32 float64 bfloat16 int8 int64 uint8 bool_ complex64".split()
    made = debugger(config("tensor", level="debug"))
    made.start()
    for kind in kinds:
        made.save(ms.Tensor(np.array([[0.0, 1.0], [2.0, 3.0]]), getattr(ms, kind)), kind)
    made.save(ms.Tensor(np.zeros((0, 2), np.float32)), "empty")
    made.save([ms.Tensor(2.5), "text", None, ms.float32], "mixed")
    made.stop()
    made.step()
    data = read(tmp_path / "dump", file="debug.json")
    assert data["bfloat16.0.debug"]["dtype"] == "BFloat16"
    assert data["bfloat16.0.debug"]["Norm"] == pytest.approx(14**0.5)
    assert data["bool_.0.debug"]["Max"] is True
    assert data["empty.0.debug"]["Norm"] is None
    assert data["mixed.0.debug"][3] == {"type": "mindspore.dtype", "value": "Float32"}
    (file,) = (tmp_path / "dump").rglob("bfloat16.0.debug.npy")
    assert np.load(file).tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_the_dumper_loads_no_other_framework(ms: Thing) -> None:
    """PyTorch lies beside MindSpore in this environment: the pre-check needs it, the dumper not."""
    code = "import msprobe.mindspore, sys; print({'torch', 'mindspore'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "{'mindspore'}"
