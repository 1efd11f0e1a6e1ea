"""Packages that train models: transformers, peft, torchao, Lightning."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from torch import nn

from benchmarks.situations.situation import (
    Made,
    Net,
    loss_of,
    normal,
    situation,
    tokens,
    train,
    trained_on,
)

TRANSFORMERS = ("transformers",)


def llama(**options: Any) -> Any:
    import transformers

    chosen: dict[str, Any] = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        **options,
    }
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**chosen))


def words(**options: Any) -> torch.Tensor:
    return tokens(**{"below": 60, "length": 8, **options}) + 3


@situation("Llama, training", needs=TRANSFORMERS)
def llama_training() -> Made:
    model = llama()

    def step(_: int) -> Any:
        model.zero_grad()
        loss = model(input_ids=words(), labels=words()).loss
        loss.backward()
        return loss

    return model, step


@situation("Llama, generation", needs=TRANSFORMERS)
def generation() -> Made:
    model = llama().eval()

    def step(_: int) -> Any:
        return model.generate(words(), max_new_tokens=4, do_sample=False, pad_token_id=0)

    return model, step


@situation("Llama, some tokens of a generation", needs=TRANSFORMERS, start={"token_range": [2, 3]})
def token_range() -> Made:
    model = llama().eval()

    def step(_: int) -> Any:
        return model.generate(words(), max_new_tokens=5, min_new_tokens=5, do_sample=False)

    return model, step


@situation("Llama, flex attention", needs=TRANSFORMERS)
def llama_flex() -> Made:
    torch._dynamo.reset()
    model = llama(attn_implementation="flex_attention", head_dim=16, hidden_size=64).eval()

    def step(_: int) -> Any:
        with torch.no_grad():
            return model(input_ids=words(length=16)).logits

    return model, step


@situation("Trainer of transformers, compiled", needs=("transformers", "accelerate"), steps=1)
def trainer() -> Made:
    import transformers

    torch._dynamo.reset()
    model = llama()
    rows = [
        {"input_ids": words(batch=1, seed=k)[0], "labels": words(batch=1, seed=k)[0]}
        for k in range(4)
    ]

    def step(_: int) -> Any:
        transformers.set_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            options = transformers.TrainingArguments(
                folder, per_device_train_batch_size=2, max_steps=2, report_to=[], use_cpu=True,
                save_strategy="no", disable_tqdm=True, logging_strategy="no",
                torch_compile=True, torch_compile_backend="aot_eager",
            )  # fmt: skip
            return transformers.Trainer(model, options, train_dataset=rows).train().training_loss

    return model, step


@situation("LoRA of peft", needs=("transformers", "peft"))
def lora() -> Made:
    import peft

    model = peft.get_peft_model(llama(), peft.LoraConfig(target_modules=["q_proj", "v_proj"]))

    def step(_: int) -> Any:
        model.zero_grad()
        loss = model(input_ids=words(), labels=words()).loss
        loss.backward()
        return loss

    return model, step


@situation("weights of torchao, int8", needs=("torchao",))
def torchao_int8() -> Made:
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = nn.Sequential(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))).eval()
    quantize_(model, Int8WeightOnlyConfig())

    def step(_: int) -> Any:
        with torch.no_grad():
            out = model(normal(3, 64))
            model.to(torch.float32)
            return out

    return model, step


@situation("training in float8 by torchao", needs=("torchao",))
def torchao_float8() -> Made:
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    model = convert_to_float8_training(
        nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)),
        config=Float8LinearConfig(emulate=True),
    )
    return trained_on(model, 16, 32)


@situation("Trainer of Lightning", needs=("lightning",), steps=1)
def lightning_trainer() -> Made:
    import lightning

    class Learning(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            return loss_of(self.net(batch), batch)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    model = Learning()

    def step(_: int) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            fit = lightning.Trainer(
                max_steps=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
            )  # fmt: skip
            fit.fit(model, torch.utils.data.DataLoader(tokens(batch=4), 2))
        return train(model.net)

    return model, step
