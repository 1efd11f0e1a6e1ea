"""Eight architectures of transformers as experiments: small, random weights, one training step.

Importing this file loads transformers, which is an extra of the project.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from evaluation.zoo.experiment import Experiment, images, tokens

VOCABULARY, HIDDEN, LAYERS, LENGTH, CLASSES = 64, 32, 2, 12, 5
_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "intermediate_size": 2 * HIDDEN,
}
_HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2}


class Logits(nn.Module):
    """The logits of a language model; a call answers with nothing else."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.inner(*inputs).logits


class SequenceToSequence(Logits):
    def forward(self, *inputs: Tensor) -> Tensor:
        return self.inner(input_ids=inputs[0], decoder_input_ids=inputs[1]).logits


class Cached(Logits):
    """A prompt, then one more token that reads the keys and values of the prompt."""

    def forward(self, *inputs: Tensor) -> Tensor:
        (ids,) = inputs
        first = self.inner(ids[:, :-1], use_cache=True)
        last = self.inner(
            ids[:, -1:],
            past_key_values=first.past_key_values,
            position_ids=self.positions(ids),
            use_cache=True,
        )
        return torch.cat((first.logits, last.logits), dim=1)

    def positions(self, ids: Tensor) -> Tensor:
        """The place of the last token."""
        return torch.full((ids.shape[0], 1), ids.shape[1] - 1)


def _ids(step: int, count: int = 1) -> tuple[Tensor, ...]:
    return tuple(tokens(step + 10 * n, (2, LENGTH), VOCABULARY) for n in range(count))


def _experiment(
    model: nn.Module, dtype: torch.dtype, inputs: Callable[[int], tuple[Tensor, ...]], labels: int
) -> Experiment:
    model = model.to(dtype).train()
    size = (2, LENGTH) if labels == VOCABULARY else (2,)
    return Experiment(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3),
        inputs=inputs,
        labels=lambda step: tokens(step + 5, size, labels),
    )


def _decoder(
    name: str, wrapper: type[Logits], sizes: dict[str, Any], dtype: torch.dtype
) -> Experiment:
    config = getattr(transformers, f"{name}Config")(**sizes)
    inner = getattr(transformers, f"{name}ForCausalLM")(config)
    return _experiment(wrapper(inner), dtype, _ids, VOCABULARY)


def _gpt2(dtype: torch.dtype) -> Experiment:
    none = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=HIDDEN, n_layer=LAYERS, n_head=4, n_positions=32, **none
    )
    return _experiment(Cached(transformers.GPT2LMHeadModel(config)), dtype, _ids, VOCABULARY)


def _bert(dtype: torch.dtype) -> Experiment:
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = transformers.BertConfig(
        **_SIZES, num_attention_heads=4, max_position_embeddings=32, num_labels=CLASSES, **none
    )
    model = Logits(transformers.BertForSequenceClassification(config))
    return _experiment(model, dtype, _ids, CLASSES)


def _t5(dtype: torch.dtype) -> Experiment:
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=HIDDEN,
        d_kv=8,
        d_ff=2 * HIDDEN,
        num_layers=LAYERS,
        num_heads=4,
        dropout_rate=0.0,
    )
    model = SequenceToSequence(transformers.T5ForConditionalGeneration(config))
    return _experiment(model, dtype, partial(_ids, count=2), VOCABULARY)


def _vit(dtype: torch.dtype) -> Experiment:
    sizes = {key: size for key, size in _SIZES.items() if key != "vocab_size"}
    config = transformers.ViTConfig(
        **sizes, num_attention_heads=4, image_size=16, patch_size=4, num_labels=CLASSES,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = Logits(transformers.ViTForImageClassification(config))
    return _experiment(model, dtype, lambda step: (images(step, (2, 3, 16, 16), dtype),), CLASSES)


def _mamba(dtype: torch.dtype) -> Experiment:
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, num_hidden_layers=LAYERS, state_size=8
    )
    model = Logits(transformers.MambaForCausalLM(config))
    return _experiment(model, dtype, _ids, VOCABULARY)


MODELS: dict[str, Callable[[torch.dtype], Experiment]] = {
    "qwen2": partial(_decoder, "Qwen2", Logits, {**_SIZES, **_HEADS}),
    "llama": partial(_decoder, "Llama", Logits, {**_SIZES, **_HEADS}),
    "mixtral": partial(
        _decoder,
        "Mixtral",
        Logits,
        {**_SIZES, **_HEADS, "num_local_experts": 4, "sliding_window": None},
    ),
    "bert-hf": _bert,
    "t5": _t5,
    "vit-hf": _vit,
    "gpt2": _gpt2,
    "mamba": _mamba,
}
