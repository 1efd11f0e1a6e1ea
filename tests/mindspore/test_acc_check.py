"""The pre-check of MindSpore's calls on the CPU: sound ones pass, wrong ones are found."""

from __future__ import annotations

import csv
import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.mindspore.conftest import Thing, train
from tests.msprobe.conftest import Run
from tests.msprobe.conftest import run as _run

run = _run  # the fixture
torch = pytest.importorskip("torch", reason="the reference is PyTorch's")


@pytest.fixture(scope="session")
def framework(ms: Thing) -> Thing:
    from msprobe.acc_check.mindspore.mindspore_framework import MINDSPORE

    torch.set_num_threads(1)
    return MINDSPORE


@pytest.fixture(scope="session")
def pair(framework: Thing) -> Thing:
    return framework.choose_pair(("cpu",), 0, "float64", 1)


Check = Callable[..., Thing]


@pytest.fixture
def check(framework: Thing, pair: Thing) -> Check:
    """The row of a call with drawn inputs; first its outputs are recorded, as a dump has them."""
    from msprobe.acc_check.call_check import check_call
    from msprobe.acc_check.inputs import Source

    def checked(call: Thing) -> Thing:
        return check_call(call, Source(None, 1), pair, framework).row

    return checked


def with_outputs(framework: Thing, pair: Thing, call: Thing) -> Thing:
    """The call with the outputs that it has here, and gradients of them between -1 and 1."""
    from msprobe.acc_check.inputs import Source, make_inputs

    try:
        made = framework.find(call).run(make_inputs(call, Source(None, 1)), pair.device)
    except Exception:  # what has no kernel stays as it is
        return call
    outputs = [_told(each) for each in made.outputs.values()]
    sent = [{**each, "Max": 1.0, "Min": -1.0} if _is_float(each) else None for each in outputs]
    backward = None if call.backward is None or not any(sent) else {"input": sent, "output": []}
    return replace(call, forward={**call.forward, "output": outputs}, backward=backward)


def _told(value: Any) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        return {"type": type(value).__name__, "value": value}
    dtype = str(value.dtype).removeprefix("torch.").capitalize()
    return {"type": "mindspore.Tensor", "dtype": dtype, "shape": list(value.shape)}


def _is_float(told: dict[str, Any]) -> bool:
    return str(told.get("dtype", "")).startswith("Float")


def test_calls_that_have_a_kernel_here_are_right(
    framework: Thing, pair: Thing, check: Check
) -> None:
    from tests.mindspore.accuracy_calls import calls

    wrong, passed, reasons = [], set(), {}
    for bare in calls():
        call = with_outputs(framework, pair, bare)
        row = check(call)
        if row.forward == "pass" and row.backward in ("pass", "SKIP", " "):
            passed.add(f"{call.prefix}.{call.api}")
        elif row.forward == "SKIP":
            reasons[call.name] = row.message
        else:
            wrong.append((row.name, row.message, [(v.name, v.message) for v in row.values]))
    assert wrong == []
    without_kernel = "the device has no such operator: NotImplementedError: "
    not_there = "there is no "
    assert all(each.startswith((without_kernel, not_there)) for each in reasons.values()), reasons
    # Those that have a kernel on the CPU in 2.10; every one of them has a reference.
    assert len(passed) > 220


def test_positional_arguments_of_mint_stand_where_pytorch_has_them(ms: Thing) -> None:
    """What is taken at its word is called with its positional arguments as they are."""
    from msprobe.acc_check.mindspore.meanings import meaning_of
    from msprobe.acc_check.values import NotReproducible
    from msprobe_core.mindspore.function_spaces import spaces

    theirs = torch.overrides.get_testing_overrides()
    other: dict[str, tuple[list[str], list[str]]] = {}
    compared = 0
    for space in spaces():
        for name in space.names if space.prefix.startswith("Mint") else ():
            try:
                found = meaning_of(space.prefix, name).function
            except NotReproducible:
                continue
            closure = inspect.getclosurevars(found).nonlocals
            ours, known = _names(getattr(space.owner, name)), closure.get("function")
            if {*closure} != {"function"} or known not in theirs or ours is None:
                continue  # its arguments are handed on by name, or nothing is told of it
            compared += 1
            wanted = _names(theirs[known]) or []
            if not _same_order(ours, wanted):
                other[f"{space.prefix}.{name}"] = ours, wanted
    assert compared > 100
    assert other == {}


def _names(function: Thing) -> list[str] | None:
    """The positional parameters; None where they are not told, as those of overloads."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    names = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    return [name for name in names if name != "out"]  # torch's own table has it anywhere


def _same_order(ours: list[str], theirs: list[str]) -> bool:
    return all(_known_as(one) == _known_as(two) for one, two in zip(ours, theirs, strict=False))


# Words of either side for one thing; those of the two last lines are of torch's table, which tells
# of another overload there.
_WORDS = {
    "axis": "dim",
    "a": "input",
    "self": "input",
    "tensor": "input",
    "x": "input",
    "b": "input",
    "shape": "size",
    "counts": "count",
    "angle": "ang",
    "values": "input",
    "axis0": "dim0",
    "axis1": "dim1",
    "names": "dim",
    "descending": "largest",
    "dtype": "dim",
}


def _known_as(name: str) -> str:
    return _WORDS.get(name, name)


def factor(by: float) -> Callable[[Thing], Thing]:
    return lambda function: lambda *args, **kwargs: function(*args, **kwargs) * by


def wrong_gradient(function: Thing) -> Thing:
    """The right values with the gradient of other inputs."""
    from mindspore import ops

    def called(x: Thing) -> Thing:
        moved = function(x * 1.01)
        return moved - ops.stop_gradient(moved - function(x))

    return called


@pytest.mark.parametrize(
    ("name", "wrong", "verdict"),
    [
        ("Mint.matmul", factor(1.003), ("error", "pass")),
        ("Mint.add", factor(1.0001), ("error", "error")),
        ("MintFunctional.silu", wrong_gradient, ("pass", "error")),
        ("Functional.gelu", lambda f: lambda x: f(x, approximate="tanh"), ("error", "error")),
        ("Functional.softmax", lambda f: lambda x: f(x, axis=0), ("error", "error")),
        ("Mint.transpose", lambda f: lambda x, *_: x.reshape(4, 3, 2), ("error", "error")),
        ("Functional.sum", lambda f: lambda x, *_: f(x[:-1]), ("error", "error")),
        ("Functional.log", lambda f: lambda x: f(x) + float("nan"), ("error", "pass")),
    ],
)
def test_a_wrong_kernel_is_found(
    framework: Thing,
    pair: Thing,
    check: Check,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    wrong: Thing,
    verdict: tuple[str, str],
) -> None:
    from msprobe_core.mindspore.function_spaces import spaces
    from tests.mindspore.accuracy_calls import calls

    bare = next(call for call in calls() if call.name == f"{name}.0")
    call = with_outputs(framework, pair, bare)
    owner = next(space.owner for space in spaces() if space.prefix == call.prefix)
    assert check(call).forward == "pass"
    monkeypatch.setattr(owner, call.api, wrong(getattr(owner, call.api)))
    row = check(call)
    assert row.forward == verdict[0]
    assert row.backward == verdict[1] or verdict[0] == "error"


def test_a_gradient_that_is_wrong_in_mindspore_is_found(
    framework: Thing, pair: Thing, check: Check
) -> None:
    """That of ops.selu in 2.10 on the CPU: -0.55 at -2, where 1.758 exp(-2) is 0.24."""
    from tests.mindspore.accuracy_calls import X, call

    row = check(with_outputs(framework, pair, call("Functional.selu", X)))
    assert (row.forward, row.backward) == ("pass", "error")


def test_sixteen_bits_are_checked_in_their_own_format(
    framework: Thing, pair: Thing, check: Check
) -> None:
    from tests.mindspore.accuracy_calls import W, X, call

    narrow = call("Functional.dense", X.astype(np.float16), W.astype(np.float16))
    row = check(with_outputs(framework, pair, narrow))
    assert (row.forward, row.backward) == ("pass", "pass")
    assert {each.device_dtype for each in row.values if each.status == "pass"} == {"torch.float16"}
    wide = call("Tensor.to", X, np.dtype(np.float16))
    assert check(with_outputs(framework, pair, wide)).forward == "pass"


@pytest.mark.parametrize(
    ("asked", "reference", "words"),
    [
        ("compile", "float64", "device compile: calls of MindSpore are checked as they are"),
        ("npu:0", "float64", "device npu:0: MindSpore sees no Ascend on this machine"),
        ("0", "float64", "device 0: MindSpore sees no accelerator"),
        ("tpu", "float64", "device tpu: MindSpore has CPU, Ascend and GPU"),
        ("cpu", "cuda:1", "reference cuda:1: calls of MindSpore are compared with PyTorch"),
    ],
)
def test_a_device_that_is_not_there_is_one_line(
    framework: Thing, asked: str, reference: str, words: str
) -> None:
    from builder.errors import InputError

    with pytest.raises(InputError, match=words) as refused:
        framework.choose_pair((asked,), 0, reference, 1)
    assert refused.value.hint and "\n" not in refused.value.message


def test_operators_are_compiled_on_ascend_only(framework: Thing, pair: Thing) -> None:
    from builder.errors import InputError

    with pytest.raises(InputError, match="-j: MindSpore chooses between compiled operators on"):
        framework.compile_operators()


# --- the command, in processes of its own -------------------------------------------------------


def table(folder: Path, part: str = "result") -> list[dict[str, str]]:
    (path,) = folder.glob(f"accuracy_checking_{part}_*.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def dump_of(folder: Path) -> Path:
    (found,) = folder.rglob("dump.json")
    return found


def test_a_sound_dump_of_statistics_passes(
    ms: Thing,
    run: Run,
    mindspore_dumps: Path,
    tmp_path: Path,
) -> None:
    dump = dump_of(mindspore_dumps / "cross" / "mindspore")
    answer = run("acc_check", "-api_info", dump, "-o", tmp_path, "--fail-on-error")
    assert answer.code == 0
    assert "CPU of MindSpore 2." in answer.out and "against PyTorch" in answer.out
    rows = table(tmp_path)
    assert len(rows) == 132
    assert {row["Forward Test Success"] for row in rows} == {"pass", "SKIP"}
    skipped = [row["Message"] for row in rows if row["Forward Test Success"] == "SKIP"]
    assert len(skipped) == 16
    assert all("settings" in each or "transposed" in each for each in skipped)
    names = {row["API Name"] for row in table(tmp_path, "details")}
    assert "Mint.matmul.0.backward.output.1" in names


def test_a_recorded_step_passes_on_its_own_data(
    ms: Thing,
    net: Thing,
    config: Thing,
    debugger: Thing,
    run: Run,
    tmp_path: Path,
) -> None:
    made = debugger(config("tensor", level="L1"))
    made.start(net)
    train(ms, net)
    made.stop()
    made.step()
    dump = dump_of(tmp_path / "dump")
    (broken,) = dump.parent.rglob("Mint.add.0.forward.input.0.npy")
    broken.write_bytes(broken.read_bytes()[:-5])
    settings = tmp_path / "acc_check.json"
    settings.write_text(json.dumps({"acc_check": {"black_list": ["tanh"], "precision": 6}}))
    words = ("multi_acc_check", "-api_info", dump, "-o", tmp_path / "out", "-config", settings)
    answer = run(*words, "-n", 2, "-f", "-save_error_data")
    assert answer.code == 0
    rows = {row["API name"]: row for row in table(tmp_path / "out")}
    verdicts = {row["Forward Test Success"] for row in rows.values()}
    assert verdicts <= {"pass", "SKIP"}
    assert rows["Tensor.__add__.0"]["Backward Test Success"] == "pass"
    assert "cannot be read" in rows["Mint.add.0"]["Message"]
    assert not any("tanh" in name for name in rows)
    (kept,) = (tmp_path / "out").glob("*_result_*.csv")
    kept.write_text("".join(kept.read_text("utf-8").splitlines(keepends=True)[:3]), "utf-8")
    again = run("acc_check", "-api_info", dump, "-csv_path", kept, "-f", "-config", settings)
    assert "taken up: 2 calls had their rows already" in again.out
    assert {row["API name"] for row in table(tmp_path / "out")} == {*rows}


def test_the_verdicts_colour_the_graph(
    ms: Thing,
    run: Run,
    mindspore_dumps: Path,
    tmp_path: Path,
) -> None:
    step = dump_of(mindspore_dumps / "small" / "mix-statistics").parent
    words = ("acc_check", "-api_info", step / "dump.json", "-o", tmp_path, "--standard", "binary")
    assert run("-f", "mindspore", *words, "--fail-on-error", "-save_error_data").code == 4
    (data,) = tmp_path.glob("ut_error_data*")
    assert any(path.name.endswith(".output.device.0.pt") for path in data.iterdir())
    (result,) = tmp_path.glob("*_result_*.csv")
    answer = run("graph_visualize", "-tp", step, "-o", tmp_path / "out", "--acc_check", result)
    assert answer.code == 0


def test_a_device_that_is_not_there_leaves_no_table(
    ms: Thing,
    run: Run,
    mindspore_dumps: Path,
    tmp_path: Path,
) -> None:
    dump = dump_of(mindspore_dumps / "small" / "mix-statistics")
    answer = run("acc_check", "-api_info", dump, "-o", tmp_path / "out", "-d", "npu:0")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "MindSpore sees no Ascend on this machine" in answer.err
    assert not (tmp_path / "out").exists()
