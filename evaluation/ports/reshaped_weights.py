"""The decoder's port with other weights than the original's: folded norms, a padded vocabulary."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports import decoder
from evaluation.ports.decoder import LENGTH, VOCABULARY, WIDTH, Transformer, TransformerBlock
from evaluation.ports.port import Port, taken

PADDED_VOCABULARY = 96


def folded(original: nn.Module, fault: str | None) -> nn.Module:
    """A port in which each norm's weight is part of the weight behind it."""
    port = decoder.ported(original, fault)
    assert isinstance(port, Transformer)
    for block in port.blocks:
        assert isinstance(block, TransformerBlock)
        for norm, linear in (
            (block.attention_norm, block.attention.wqkv),
            (block.ffn_norm, block.feed_forward.w13),
        ):
            taken(linear.weight, linear.weight * norm.weight)
            taken(norm.weight, torch.ones(WIDTH))
    return port


def padded(original: nn.Module, fault: str | None) -> nn.Module:
    """A port whose vocabulary is filled up to a round number with zeros."""
    port = decoder.ported(original, fault)
    assert isinstance(port, Transformer)
    dtype = port.output.weight.dtype
    embedding = nn.Embedding(PADDED_VOCABULARY, WIDTH).to(dtype)
    output = nn.Linear(WIDTH, PADDED_VOCABULARY, bias=False).to(dtype)
    for made, was in ((embedding, port.tok_embeddings), (output, port.output)):
        filled = torch.zeros(PADDED_VOCABULARY, WIDTH)
        filled[:VOCABULARY] = was.weight.detach()
        taken(made.weight, filled)
    port.tok_embeddings, port.output = embedding, output
    return port


def loss_of_vocabulary(model: nn.Module) -> torch.Tensor:
    """The decoder's loss, of what is no padding."""
    torch.manual_seed(3)
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH + 1))
    logits = model(tokens[:, :-1])[..., :VOCABULARY].float()
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


# What a folded norm feeds differs from the original's at the module's edge: the block is named.
FOLDED = Port(
    "folded",
    decoder.CausalLM,
    folded,
    decoder.loss,
    dict.fromkeys(("scale", "halves swapped", "another activation"), "blocks.1"),
    ("float32",),
)
PADDED = Port(
    "padded",
    decoder.CausalLM,
    padded,
    loss_of_vocabulary,
    {name: decoder.PORT.faults[name] for name in ("scale", "halves swapped", "weight scaled")},
)
