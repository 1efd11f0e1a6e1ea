"""Every example runs as its first line says, and its dump holds what it shows."""

from __future__ import annotations

import csv
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import builder
from builder.reasons import BeginsAtToken, TokensAligned
from msprobe_core import PrecisionDebugger
from tests.msprobe_core.conftest import ROOT
from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps, tensors

EXAMPLES = ROOT / "examples"

SHOWS: dict[str, dict[str, list[str]]] = {
    "quick_start.py": {
        "step0": [
            "Functional.linear.0.forward",
            "Functional.relu.0.forward",
            "Tensor.sum.0.forward",
            "Tensor.sum.0.backward",
            "Functional.relu.0.backward",
            "Functional.linear.0.backward",
        ]
    },
    "training_loop.py": {
        f"step{n}": ["Module.linear_1.Linear.forward.0", "Tensor.add_.3.forward"] for n in range(3)
    },
    "with_statement.py": {
        f"step{n}": ["Module.linear_2.Linear.forward.0", "Module.linear_1.Linear.backward.0"]
        for n in range(2)
    },
    "one_module.py": {
        "step0": [
            "Torch.tanh.0.forward",
            "Module.MyModuleOP.ModuleOP.forward.0",
            "Tensor.sum.0.forward",
        ]
    },
    "cross_file/train.py": {"step0": ["Functional.linear.0.forward"]},
    "generation.py": {"step0": [f"Module.head.Linear.forward.{n}" for n in range(3)]},
    "save_values.py": {
        f"step{n}": [
            "hidden.0.debug",
            "hidden_grad.0.debug",
            "settings.0.debug",
        ]
        for n in range(2)
    },
    "scope.py": {
        "step0": [
            "Functional.linear.1.forward",
            "Module.linear_2.Linear.forward.0",
            "Functional.relu.0.forward",
        ]
    },
    "custom_function.py": {
        "step0": ["operators.compute.0.forward", "operators.compute.0.backward"]
    },
    "switched.py": {
        f"step{n}": ["Module.linear_1.Linear.forward.0", "Module.linear_2.Linear.backward.0"]
        for n in (1, 2)
    },
    "models_in_a_list.py": {
        "step100": ["Module.0.linear_1.Linear.forward.0", "Module.1.linear_2.Linear.backward.0"]
    },
}
ABSENT = {
    "one_module.py": "linear",
    "cross_file/train.py": "relu",
    "generation.py": "forward.3",
    "scope.py": "linear_1",
    "custom_function.py": "sin",
    "with_statement.py": "Functional",
}
OTHERS = {
    "tensor_parallel.py",  # tests/docs/test_parallel_page.py runs it
    "cross_framework/in_mindspore.py",  # `make mindspore` runs these three
    "cross_framework/in_pytorch.py",
    "cross_framework/weights.py",
    "loss_spike.py",  # tests/docs/test_trends_page.py runs it
    "first_difference.py",
    "isolation.py",
    "net.py",
    "random_places.py",
    "qwen2.py",  # needs transformers
    "seeding.py",
    "small_transformer.py",
    "cross_file/module.py",
    "port/plain.py",
    "port/fused.py",
}


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    if PrecisionDebugger.current is not None:
        PrecisionDebugger.current.close()
    sys.path[:] = path
    for name in {"net", "module"} & (set(sys.modules) - modules):
        del sys.modules[name]


def run(example: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = EXAMPLES / example
    monkeypatch.setattr(sys, "argv", [str(script), str(out)])
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")


def has_file(entry: object) -> bool:
    return any("data_name" in record for record in tensors(entry))


def steps_of(out: Path) -> dict[str, RankDump]:
    return {dump.path.parent.name: dump for dump in read_rank_dumps(out)}


@pytest.mark.parametrize("example", SHOWS)
def test_the_dump_holds_what_the_example_shows(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(example, tmp_path, monkeypatch)
    steps = steps_of(tmp_path)
    assert set(steps) == set(SHOWS[example])
    for name, dump in steps.items():
        places = [dump.names.index(entry) for entry in SHOWS[example][name]]
        assert places == sorted(places)
        assert not any(ABSENT.get(example, "\0") in entry for entry in dump.names)


def test_all_examples_are_run() -> None:
    found = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py")}
    assert found == set(SHOWS) | OTHERS


def test_the_first_difference_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("first_difference.py", tmp_path, monkeypatch)
    dump = steps_of(tmp_path / "now")["step0"]
    saved = [name for name, entry in dump.data.items() if has_file(entry)]
    assert saved == ["Tensor.__mul__.0.forward"]


def test_isolation_frees_the_second_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("isolation.py", tmp_path, monkeypatch)
    line = capsys.readouterr().out
    benchmark, problem, isolated = (
        float(part.split()[-1]) for part in line.removeprefix("linear_2: ").split(",")
    )
    assert isolated == benchmark != problem
    (entry,) = steps_of(tmp_path / "isolated")["step0"].head["loaded"]
    assert entry["value"] == "Module.linear_2.Linear.forward.0.input.0"


def test_random_numbers(tmp_path: Path) -> None:
    # Both change this process for good, so they run in one of their own.
    code = "import runpy; [runpy.run_path(p) for p in ('seeding.py', 'random_places.py')]"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=EXAMPLES,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{EXAMPLES}"},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, third, fourth = (float(line) for line in done.stdout.split())
    assert first == third == fourth != second
    (path,) = tmp_path.glob("random_proc*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        names = [row[0] for row in csv.reader(file)]
    assert names == ["api_name", "randn", "dropout"]


@pytest.mark.parametrize("flags", [[], ["--wrong"]])
def test_a_fused_port_with_a_cache_is_compared_token_by_token(
    tmp_path: Path, flags: list[str]
) -> None:
    for name, own in (("plain", []), ("fused", flags)):
        command = [sys.executable, f"port/{name}.py", str(tmp_path / name), *own]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=EXAMPLES, env=env, capture_output=True, check=True)
    built = builder.build(tmp_path / "fused", tmp_path / "plain", tmp_path / "out")
    (aligned,) = [note for note in built.summary if isinstance(note, TokensAligned)]
    assert (aligned.tokens, aligned.requests, aligned.passes) == (14, 2, 5)
    if not flags:
        assert built.findings == ()
        return
    (finding,) = built.findings
    assert finding.name == "Module.h.1.attn.CachedAttention.forward.0"
    (first,) = [reason for reason in finding.reasons if isinstance(reason, BeginsAtToken)]
    assert (first.request, first.position, first.apart) == (0, 4, 6)  # the first that is decoded


def test_scaled_attention_of_a_qwen2_is_the_only_finding(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    for name, flags in (("benchmark", []), ("problem", ["--fault"])):
        command = [sys.executable, "qwen2.py", str(tmp_path / name), "--layers", "3", *flags]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=EXAMPLES, env=env, capture_output=True, check=True)
    built = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "out")
    with closing(builder.open(built.path)) as results:
        (finding,) = results.findings().findings
    assert finding.node.name == "Functional.scaled_dot_product_attention.2.forward"
    assert "input.scale" in str(finding.reasons)
