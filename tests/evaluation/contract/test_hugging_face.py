"""The callback in the real `Trainer`, on random-weight Llama, BERT and Mixtral."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from builder import build
from builder.series.run import TrendRun
from msprobe.pytorch import PrecisionDebugger
from tests.evaluation.contract.conftest import dumped

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed; `make contract` installs it"
)
# What these libraries deprecate among themselves is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")

SMALL = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
WORDS = 6
FAMILIES = {
    "Llama": ({"num_key_value_heads": 1}, "ForCausalLM", "model.layers.1.mlp.LlamaMLP"),
    "Bert": (
        {"max_position_embeddings": 16},
        "ForMaskedLM",
        "bert.encoder.layer.1.output.BertOutput",
    ),
    "Mixtral": (
        {"num_key_value_heads": 1, "num_local_experts": 2, "num_experts_per_tok": 1},
        "ForCausalLM",
        "model.layers.1.mlp.MixtralSparseMoeBlock",
    ),
}


def make_model(family: str) -> Any:
    settings, head, _ = FAMILIES[family]
    torch.manual_seed(7)
    config = getattr(transformers, f"{family}Config")(**SMALL, **settings)
    return getattr(transformers, family + head)(config)


def train(model: Any, folder: Path, callbacks: list[Any], accumulate: int = 1) -> list[Any]:
    """Two optimizer steps; returns the parameters afterwards."""
    rows = [{"input_ids": [(n + k) % 32 for k in range(WORDS)]} for n in range(8)]
    data = [{**row, "labels": row["input_ids"]} for row in rows]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=2,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=accumulate,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        seed=3,
    )
    transformers.Trainer(model, arguments, train_dataset=data, callbacks=callbacks).train()
    return [parameter.detach().clone() for parameter in model.parameters()]


def recorded(
    family: str, folder: Path, *, accumulate: int = 1, weight_factor: float | None = None
) -> tuple[Path, list[Any]]:
    from msprobe.pytorch.hugging_face import PrecisionDebuggerCallback

    folder.mkdir()
    config = folder / "config.json"
    settings = {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump")}
    config.write_text(json.dumps(settings))
    callback = PrecisionDebuggerCallback(str(config))
    model = make_model(family)
    if weight_factor is not None:
        with torch.no_grad():
            model.model.layers[1].mlp.up_proj.weight.mul_(weight_factor)
    return folder / "dump", train(model, folder, [callback], accumulate)


def entries(dump: Path, step: int) -> set[str]:
    (file,) = (dump / f"step{step}").rglob("dump.json")
    return set(json.loads(file.read_text())["data"])


@pytest.mark.parametrize("family", FAMILIES)
def test_each_optimizer_step_is_recorded_and_training_is_the_same(
    family: str, tmp_path: Path
) -> None:
    dump, after = recorded(family, tmp_path / "run")
    plain = train(make_model(family), tmp_path, [])
    assert all(torch.equal(one, other) for one, other in zip(after, plain, strict=True))
    assert [rank.step for rank in dumped(dump).ranks] == [0, 1]
    module = f"Module.{FAMILIES[family][2]}"
    for step in (0, 1):
        assert {f"{module}.forward.0", f"{module}.backward.0"} <= entries(dump, step)
    assert PrecisionDebugger.current is None


def test_two_runs_compare_equal_and_a_changed_weight_is_named(tmp_path: Path) -> None:
    good, _ = recorded("Llama", tmp_path / "good")
    again, _ = recorded("Llama", tmp_path / "again")
    result = build(again, good, tmp_path / "same")
    assert result.findings == ()
    assert result.compared_values > 100
    wrong, _ = recorded("Llama", tmp_path / "wrong", weight_factor=2.0)
    first = build(wrong, good, tmp_path / "differs").findings[0]
    assert first.name.startswith("Module.model.layers.1.mlp.up_proj.Linear.forward")


def test_micro_batches_of_a_step_lie_in_one_step(tmp_path: Path) -> None:
    dump, _ = recorded("Llama", tmp_path / "run", accumulate=2)
    assert [rank.step for rank in dumped(dump).ranks] == [0, 1]
    embedding = "Module.model.embed_tokens.Embedding.forward"
    assert {f"{embedding}.0", f"{embedding}.1"} <= entries(dump, 0)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_trends_follow_optimizer_steps_and_change_nothing(tmp_path: Path, accumulate: int) -> None:
    from msprobe.pytorch.hugging_face import TrendsCallback

    model = make_model("Llama")
    after = train(model, tmp_path, [TrendsCallback(tmp_path / "run")], accumulate)
    plain = train(make_model("Llama"), tmp_path, [], accumulate)
    assert all(torch.equal(one, other) for one, other in zip(after, plain, strict=True))
    run = TrendRun(tmp_path / "run")
    assert run.steps.tolist() == [0, 1]
    for name, parameter in model.named_parameters():
        norm = run.line(("param", name))[1][-1]
        assert norm == pytest.approx(float(parameter.norm()), rel=1e-5), name
    sizes = run.line(("actv", "model.layers.1"), "size")[1]
    assert sizes.tolist() == [accumulate * 2 * WORDS * SMALL["hidden_size"]] * 2
    (loss,) = (target.key for target in run.targets if target.kind == "loss")
    # Untrained on 32 words: near log 32, whatever the number of micro-batches.
    assert run.line(loss)[1][0] == pytest.approx(math.log(32), abs=0.3)
    assert run.line(("lr", "group0"))[0].tolist() == [0, 1]
