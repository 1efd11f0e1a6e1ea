"""A recorded step: what it holds, what it leaves behind, and that it changes no number."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from builder.dump.reader import read_dump
from tests.mindspore.conftest import Thing, read, tensors, train

FORWARD = [
    "Cell.norm.LayerNorm.forward.0",
    "Cell.mlp.fc1.Dense.forward.0",
    "Cell.mlp.act.ReLU.forward.0",
    "Cell.mlp.fc2.Dense.forward.0",
    "Cell.mlp.Mlp.forward.0",
]


def record(ms: Thing, made: Thing, net: Thing, steps: int = 1) -> Thing:
    for _ in range(steps):
        made.start(net)
        found = train(ms, net)
        made.stop()
        made.step()
    return found


def test_recording_changes_no_bit_of_loss_and_gradients(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    before = train(ms, net)
    found = record(ms, debugger(config("tensor")), net)
    assert found[0].tobytes() == before[0].tobytes()
    assert [g.tobytes() for g in found[1]] == [g.tobytes() for g in before[1]]
    assert list(tmp_path.rglob("dump_error_info.log")) == []


def test_gradients_are_those_of_mindspores_own_hooks(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    own: dict[str, tuple[Thing, Thing]] = {}

    def keep(name: str) -> Thing:
        def hook(cell: Thing, sent: Thing, received: Thing) -> None:
            own[name] = tuple(
                [None if g is None else g.asnumpy().copy() for g in side]
                for side in (received, sent)
            )

        return hook

    cells = {path: cell for path, cell in net.cells_and_names() if path}
    handles = [cell.register_backward_hook(keep(path)) for path, cell in cells.items()]
    train(ms, net)
    for handle in handles:
        handle.remove()
    record(ms, debugger(config("tensor")), net)
    (folder,) = (tmp_path / "dump" / "step0").iterdir()
    data = read(tmp_path / "dump")
    for path, sides in own.items():
        name = f"Cell.{path}.{type(cells[path]).__name__}.backward.0"
        for side, arrays in zip(("input", "output"), sides):
            for position, array in enumerate(arrays):
                if array is None:  # nobody asked for it, and its node has made it all the same
                    continue
                record_ = data[name][side][position]
                saved = np.load(folder / "dump_tensor_data" / record_["data_name"])
                assert saved.tobytes() == array.tobytes(), (name, side, position)


def test_parameters_gradients_are_what_the_step_returns(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    _, gradients = record(ms, debugger(config("tensor")), net)
    (folder,) = (tmp_path / "dump" / "step0").iterdir()
    for parameter, gradient in zip(net.trainable_params(), gradients):
        path, _, name = parameter.name.rpartition(".")
        kind = "LayerNorm" if path == "norm" else "Dense"
        file = f"Cell.{path}.{kind}.parameters_grad.0.{name}.npy"
        assert np.load(folder / "dump_tensor_data" / file).tobytes() == gradient.tobytes()


def test_gradients_of_the_models_own_parameters_are_recorded(
    ms: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    from mindspore import Parameter, nn

    class Scaled(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.scale = nn.Dense(4, 2), Parameter(ms.Tensor([2.0, 3.0]), name="scale")

        def construct(self, x: Thing) -> Thing:
            return (self.fc(x) * self.scale).sum()

    model = Scaled()
    _, gradients = record(ms, debugger(config("tensor", level="L0")), model)
    (saved,) = (tmp_path / "dump").rglob("Cell.Scaled.parameters_grad.0.scale.npy")
    wanted = dict(zip((each.name for each in model.trainable_params()), gradients))["scale"]
    assert np.load(saved).tobytes() == wanted.tobytes()


def test_entries_parents_and_stacks_stand_in_their_files(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    record(ms, debugger(config()), net)
    data, parents = read(tmp_path / "dump"), read(tmp_path / "dump", file="construct.json")
    cells = [name for name in data if name.startswith("Cell.") and ".forward." in name]
    assert cells == FORWARD
    assert parents["Cell.mlp.fc1.Dense.forward.0"] == "Cell.mlp.Mlp.forward.0"
    assert parents["Cell.mlp.fc1.Dense.backward.0"] == "Cell.mlp.Mlp.backward.0"
    assert {"Tensor.__add__.0.forward", "Mint.add.0.forward", "Functional.tanh.0.forward"} <= {
        *data
    }
    stacks = read(tmp_path / "dump", file="stack.json").values()
    own = [frames for names, frames in stacks if "Mint.add.0.forward" in names]
    assert "in construct" in own[0][0]
    made = data["Mint.add.0.forward"]["input_args"][0]["source"]
    assert made == "Tensor.__add__.0.forward.output.0"


def test_each_call_of_a_cell_has_its_mode(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    net.set_train(False)
    net.mlp.act.set_train(True)
    record(ms, debugger(config("statistics")), net)
    (folder,) = (tmp_path / "dump" / "step0").iterdir()
    assert read_dump(folder).modes == {name: ".act." in name for name in FORWARD}


def test_statistics_are_numpys_in_float64(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    record(ms, debugger(config("tensor")), net)
    (folder,) = (tmp_path / "dump" / "step0").iterdir()
    count = 0
    for entry in read(tmp_path / "dump").values():
        for told in tensors(entry):
            values = np.load(folder / "dump_tensor_data" / told["data_name"]).astype(np.float64)
            assert told["Max"] == values.max()
            assert told["Norm"] == pytest.approx(np.linalg.norm(values), rel=1e-6)
            assert told["Mean"] == pytest.approx(values.mean(), abs=1e-6 * told["Norm"])
            count += 1
    assert count > 50


def test_nothing_is_left_behind(ms: Thing, net: Thing, config: Thing, debugger: Thing) -> None:
    from mindspore import nn

    from msprobe_core.mindspore.function_spaces import spaces

    before = [(s.owner, n, vars(s.owner).get(n)) for s in spaces() for n in s.names]
    call, primitive = nn.Cell.__call__, type(net.mlp.fc1.matmul).__call__
    record(ms, debugger(config()), net)
    assert [(o, n) for o, n, value in before if vars(o).get(n) is not value] == []
    assert nn.Cell.__call__ is call
    assert type(net.mlp.fc1.matmul).__call__ is primitive
    assert not any(vars(cell).get("_forward_hook") for _, cell in net.cells_and_names())


def test_compiled_code_is_one_call_and_compiles_without_the_recording(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    from tests.mindspore.compiled_program import build

    model = build()
    plain = train(ms, model)
    found = record(ms, debugger(config()), model)
    assert found[0].tobytes() == plain[0].tobytes()
    data = read(tmp_path / "dump")
    assert {"Jit.scaled.0.forward", "Jit.scaled.0.backward", "Jit.Compiled.0.forward"} <= {*data}
    assert "Cell.middle.fc.Dense.forward.0" not in data
    assert "Cell.middle.Compiled.forward.0" in data


def test_recomputed_cells_have_their_own_paths(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    net.mlp.recompute()
    record(ms, debugger(config()), net)
    names = [*read(tmp_path / "dump")]
    assert "Cell.mlp.fc1.Dense.forward.1" in names
    assert not any("_recompute_cell" in name or "wrap_cell" in name for name in names)


def test_cells_in_a_list_are_numbered(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    made = debugger(config(level="L0"))
    made.start([net.norm, net.mlp])
    train(ms, net)
    made.stop()
    made.step()
    names = [name for name in read(tmp_path / "dump") if "forward" in name]
    assert names[-1] == "Cell.1.Mlp.forward.0"
    assert "Cell.1.fc1.Dense.forward.0" in names


def test_calls_of_other_threads_are_recorded(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    made = debugger(config(level="L0"))
    made.start(net)
    threads = [threading.Thread(target=train, args=(ms, net, n)) for n in range(2)]
    for thread in threads:  # one after the other: two backward passes at once end MindSpore itself
        thread.start()
        thread.join()
    made.stop()
    made.step()
    names = {*read(tmp_path / "dump")}
    assert {"Cell.mlp.Mlp.forward.0", "Cell.mlp.Mlp.forward.1"} <= names


def test_an_error_of_the_recording_never_reaches_the_step(
    ms: Thing,
    net: Thing,
    config: Thing,
    debugger: Thing,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from msprobe_core.mindspore.record import array_book as book

    plain = train(ms, net)

    def fails(_: object) -> None:
        raise ValueError("no such value")

    monkeypatch.setattr(book, "array_of", fails)
    found = record(ms, debugger(config()), net)
    assert [g.tobytes() for g in found[1]] == [g.tobytes() for g in plain[1]]
    (log,) = (tmp_path / "dump").rglob("dump_error_info.log")
    assert "ValueError: no such value" in log.read_text()
    monkeypatch.undo()
    assert [g.tobytes() for g in train(ms, net)[1]] == [g.tobytes() for g in plain[1]]


def test_a_model_that_raises_leaves_nothing_behind(
    ms: Thing, net: Thing, config: Thing, debugger: Thing
) -> None:
    from mindspore import nn

    call = nn.Cell.__call__
    made = debugger(config())
    made.start(net)
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        net(ms.Tensor(np.ones((3, 5), np.float32)))
    made.stop()
    made.step()
    assert nn.Cell.__call__ is call
    train(ms, net)


def test_saved_values_have_gradients(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    made = debugger(config("tensor", level="debug"))

    def loss(x: Thing) -> Thing:
        hidden = net.norm(x)
        made.save({"hidden": hidden}, "state")
        return net.mlp(hidden).sum()

    made.start()
    ms.value_and_grad(loss, None, net.trainable_params())(ms.Tensor(np.eye(3, 4, dtype=np.float32)))
    made.stop()
    made.step()
    data = read(tmp_path / "dump", file="debug.json")
    assert data["state.0.debug"]["hidden"]["shape"] == [3, 4]
    assert data["state_grad.0.debug"]["hidden"]["Norm"] > 0


def test_a_saved_value_is_one_output_of_its_entry(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    made = debugger(config(level="mix"))
    made.start(net)
    made.save(ms.Tensor(np.eye(3, 4, dtype=np.float32)), "state")
    made.stop()
    made.step()
    (output,) = read(tmp_path / "dump")["Debug.state.0.forward"]["output"]
    assert output["shape"] == [3, 4]


def test_one_module_alone(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    made = debugger(config())
    made.start(net)
    made.module_dump(net.mlp, "only")
    train(ms, net)
    made.module_dump_end()
    made.stop()
    made.step()
    names = {*read(tmp_path / "dump")}
    assert {n for n in names if "parameters_grad" not in n} == {
        "Cell.only.Mlp.forward.0",
        "Cell.only.Mlp.backward.0",
    }


def test_the_callback_records_training_steps(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    from msprobe.mindspore import MsprobeStep

    class Told:
        network = train_network = net

    class Context:
        def original_args(self) -> Thing:
            return Told

    made = debugger(config(level="L0"))
    step = MsprobeStep(made)
    step.on_train_step_begin(Context())
    train(ms, net)
    step.on_train_step_end(Context())
    assert "Cell.mlp.Mlp.forward.0" in read(tmp_path / "dump")


def test_stacks_are_those_of_the_run_without(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    record(ms, debugger(config()), net)
    stacks = read(tmp_path / "dump", file="stack.json").values()
    frames = [frame for _, lines in stacks for frame in lines]
    assert frames and not any("msprobe_core" in frame for frame in frames)


def test_what_an_optimizer_calls_belongs_to_it(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    from mindspore import mint, nn, ops
    from mindspore.experimental import optim

    class Plain(nn.Optimizer):
        def construct(self, gradients: Thing) -> None:
            for parameter, gradient in zip(self.parameters, gradients):
                ops.assign(parameter, mint.sub(parameter, mint.mul(gradient, 0.1)))

    gradients = ms.value_and_grad(net, None, net.trainable_params())
    made = debugger(config())
    made.start(net)
    _, found = gradients(ms.Tensor(np.ones((3, 4), np.float32)))
    Plain(0.1, net.trainable_params())(found)
    optim.SGD(net.trainable_params(), lr=0.1)(found)  # compiled: its step is no call
    made.stop()
    made.step()
    parents = read(tmp_path / "dump", file="construct.json")
    inside = [name for name, above in parents.items() if above == "optimizer"]
    assert {name.partition(".0.")[0] for name in inside} >= {"Mint.sub", "Mint.mul"}
    assert not any(name.startswith("Jit.") for name in read(tmp_path / "dump"))


def test_a_tensor_that_is_written_to_between_two_calls_is_measured_anew(
    ms: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    """Records of one tensor are told again while its bytes are the same."""
    from mindspore import nn

    class Writing(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Identity(), nn.Identity()

        def construct(self, x: Thing) -> Thing:
            x = self.first(x)
            x.asnumpy()[0] = 7.0  # live memory: nothing of MindSpore's tells of it
            return self.second(x)

    model = Writing()
    made = debugger(config(level="L0"))
    made.start(model)
    model(ms.Tensor(np.ones((2, 2), np.float32)))
    made.stop()
    made.step()
    data = read(tmp_path / "dump")
    largest = [
        data[f"Cell.{name}.Identity.forward.0"][side][0]["Max"]
        for name in ("first", "second")
        for side in ("input_args", "output")
    ]
    assert largest == [1.0, 1.0, 7.0, 7.0]


def test_functions_that_others_replace_between_steps_are_taken_anew(
    ms: Thing, net: Thing, config: Thing, debugger: Thing, tmp_path: Path
) -> None:
    from mindspore import mint

    made = debugger(config(level="L1"))
    record(ms, made, net)
    original = mint.add
    try:
        mint.add = lambda x, y: original(x, y) * 2  # type: ignore[assignment]
        doubled = mint.add
        record(ms, made, net)
        assert mint.add is doubled
    finally:
        mint.add = original
    first, second = (
        read(tmp_path / "dump", step)["Mint.add.0.forward"]["output"][0]["Max"] for step in (0, 1)
    )
    assert second == 2 * first
