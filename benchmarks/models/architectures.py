"""Twelve small models with random weights and one training step of each.

Four need torch alone; the others come from transformers, an extra of the project.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from benchmarks.models.sizes import COMMON, DECODER, DISTIL, GPT2, WIDTH, WORDS

_LENGTH, _CLASSES = 12, 5


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model, and the loss of one step of it."""

    name: str
    make: Callable[[], nn.Module]
    loss: Callable[[nn.Module], Tensor]
    needs_transformers: bool = False


def architectures() -> list[Architecture]:
    """Those that can be made here."""
    has = find_spec("transformers") is not None
    return [each for each in _ALL if has or not each.needs_transformers]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)
        self.cell, self.head = nn.LSTMCell(WIDTH, WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, ids: Tensor) -> Tensor:
        hidden, (last, _) = self.lstm(self.embed(ids))
        h, c = self.cell(hidden[:, -1], (last[0], last[1]))
        return self.head(hidden).mean() + h.sum() + 3 * c.sum()  # type: ignore[no-any-return]


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.inner = nn.Conv2d(8, 8, 3, padding=1)
        self.act, self.pool = nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, _CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        x = self.act(self.norm(self.stem(images)))
        x = x + self.act(self.inner(x))
        return self.head(self.pool(x).flatten(1))  # type: ignore[no-any-return]


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, 4)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.drop = nn.Dropout(0.0)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.router(x).softmax(-1)
        chosen = torch.stack([expert(x) for expert in self.experts], -1)
        return self.drop((chosen * weights.unsqueeze(-2)).sum(-1)), weights


def _ids() -> Tensor:
    return torch.arange(2 * _LENGTH).reshape(2, _LENGTH) % WORDS


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Embedding(WORDS, WIDTH), nn.TransformerEncoder(layer, 2))


def _experts_loss(model: nn.Module) -> Tensor:
    out, weights = model[1](model[0](_ids()))  # type: ignore[index]
    return out.square().mean() + weights.square().mean()  # type: ignore[no-any-return]


def _pretrained(kind: str, **settings: int) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import transformers

        special = {"bos_token_id": 0, "eos_token_id": 1}
        config = transformers.AutoConfig.for_model(
            kind, **{"vocab_size": WORDS, **special, **settings}
        )
        return transformers.AutoModel.from_config(config, attn_implementation="eager")

    return make


def _hidden(model: nn.Module) -> Tensor:
    return model(input_ids=_ids()).last_hidden_state.square().mean()  # type: ignore[no-any-return]


def _translated(model: nn.Module) -> Tensor:
    found = model(input_ids=_ids(), decoder_input_ids=_ids()[:, :5])
    return found.last_hidden_state.square().mean()  # type: ignore[no-any-return]


def _seen(model: nn.Module) -> Tensor:
    images = torch.linspace(-1, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)
    return model(pixel_values=images).last_hidden_state.square().mean()  # type: ignore[no-any-return]


_T5 = {"d_model": WIDTH, "d_ff": 64, "d_kv": 8, "num_layers": 2, "num_heads": 4}

_ALL = [
    Architecture("LSTM and a cell", Recurrent, lambda m: m(_ids())),
    Architecture(
        "convolutions",
        Convolutions,
        lambda m: m(torch.linspace(-1, 1, 1536).reshape(2, 3, 16, 16)).square().mean(),
    ),
    Architecture("encoder of torch", _encoder, lambda m: m(_ids()).square().mean()),
    Architecture(
        "experts",
        lambda: nn.Sequential(nn.Embedding(WORDS, WIDTH), Experts()),
        _experts_loss,
    ),
    Architecture("GPT-2", _pretrained("gpt2", **GPT2), _hidden, True),
    Architecture("BERT", _pretrained("bert", **COMMON), _hidden, True),
    Architecture("DistilBERT", _pretrained("distilbert", **DISTIL), _hidden, True),
    Architecture("Llama", _pretrained("llama", **DECODER), _hidden, True),
    Architecture("Qwen2", _pretrained("qwen2", **DECODER), _hidden, True),
    Architecture("Mixtral", _pretrained("mixtral", num_local_experts=4, **DECODER), _hidden, True),
    Architecture("T5", _pretrained("t5", **_T5), _translated, True),
    Architecture("ViT", _pretrained("vit", image_size=16, patch_size=4, **COMMON), _seen, True),
]
