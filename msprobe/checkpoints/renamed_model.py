"""A Megatron model under the names of Hugging Face's families of models.

Megatron keeps query, key and value in one matrix, interleaved by query group, and gate and up
projection in another; a family has them apart, one behind the other, or as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from msprobe.checkpoints.parameter import Parameter

Rules = tuple[tuple[str, str], ...]
_ATTENTION, _FIRST = ".self_attention.linear_qkv.", ".linear_fc1."


@dataclass(frozen=True, slots=True)
class Family:
    """How a family of models names the layers of megatron.core, and what it takes apart.

    `attention` names query, key and value, or one parameter in which they follow each other;
    without it the matrix stays as it is. `halves` names gate and up projection. `transposed`
    matches names whose matrices are stored input by output.
    """

    name: str
    rules: Rules
    attention: tuple[str, ...] = ()
    halves: tuple[str, str] | None = None
    transposed: str | None = None


_DECODER: Rules = (
    (r"^embedding\.word_embeddings\.", "model.embed_tokens."),
    (r"^output_layer\.", "lm_head."),
    (r"^decoder\.final_layernorm\.", "model.norm."),
    (r"^decoder\.layers\.", "model.layers."),
    (r"\.pre_mlp_layernorm\.", ".post_attention_layernorm."),
    (r"\.self_attention\.linear_proj\.", ".self_attn.o_proj."),
    (r"\.self_attention\.([qk])_layernorm\.", r".self_attn.\1_norm."),
)
_MIXTURE: Rules = (
    (r"\.mlp\.router\.weight$", ".mlp.gate.weight"),
    (r"\.mlp\.router\.expert_bias$", ".mlp.gate.e_score_correction_bias"),
    (r"\.mlp\.experts\.local_experts\.", ".mlp.experts."),
)
_QWEN_MIXTURE: Rules = (
    (r"\.mlp\.shared_experts\.gate_weight$", ".mlp.shared_expert_gate.weight"),
    (r"\.mlp\.shared_experts\.", ".mlp.shared_expert."),
)
_MIXTRAL: Rules = (
    (r"\.mlp\.router\.weight$", ".block_sparse_moe.gate.weight"),
    (r"\.mlp\.experts\.local_experts\.", ".block_sparse_moe.experts."),
)
_GPT: Rules = (
    (r"^embedding\.word_embeddings\.", "wte."),
    (r"^embedding\.position_embeddings\.", "wpe."),
    (r"^decoder\.final_layernorm\.", "ln_f."),
    (r"^output_layer\.", "lm_head."),
    (r"^decoder\.layers\.", "h."),
    (r"\.input_layernorm\.", ".ln_1."),
    (r"\.pre_mlp_layernorm\.", ".ln_2."),
    (r"\.self_attention\.linear_proj\.", ".attn.c_proj."),
    (r"\.mlp\.linear_fc1\.", ".mlp.c_fc."),
    (r"\.mlp\.linear_fc2\.", ".mlp.c_proj."),
)
_NEOX: Rules = (
    (r"^embedding\.word_embeddings\.", "gpt_neox.embed_in."),
    (r"^decoder\.final_layernorm\.", "gpt_neox.final_layer_norm."),
    (r"^output_layer\.", "embed_out."),
    (r"^decoder\.layers\.", "gpt_neox.layers."),
    (r"\.pre_mlp_layernorm\.", ".post_attention_layernorm."),
    (r"\.self_attention\.linear_qkv\.", ".attention.query_key_value."),
    (r"\.self_attention\.linear_proj\.", ".attention.dense."),
    (r"\.mlp\.linear_fc1\.", ".mlp.dense_h_to_4h."),
    (r"\.mlp\.linear_fc2\.", ".mlp.dense_4h_to_h."),
)
_DOWN: Rules = ((r"\.linear_fc2\.", ".down_proj."), (r"\.linear_fc1\.", ".up_proj."))
_APART = tuple(f".self_attn.{letter}_proj." for letter in "qkv")
_GATED = ("gate_proj", "up_proj")
_CONV1D = r"\.(c_attn|c_proj|c_fc)\.weight$"  # Hugging Face's Conv1D keeps input by output
FAMILIES = (
    Family("llama", (*_DECODER, *_MIXTURE, *_DOWN), _APART, _GATED),  # DeepSeek's experts too
    Family("qwen2 moe", (*_DECODER, *_MIXTURE, *_QWEN_MIXTURE, *_DOWN), _APART, _GATED),
    Family("mixtral", (*_DECODER, *_MIXTRAL, (r"\.linear_fc2\.", ".w2.")), _APART, ("w1", "w3")),
    Family("gpt2", _GPT, (".attn.c_attn.",), transposed=_CONV1D),
    Family("gpt bigcode", _GPT, (".attn.c_attn.",)),
    Family("gpt neox", _NEOX),
)
_PREFIXED = ("gpt2", "gpt bigcode")  # whole models have these names below `transformer.`


def renamed_models(
    parameters: Mapping[str, Parameter], arguments: Mapping[str, Any], *, gated: bool
) -> dict[str, dict[str, Parameter]]:
    """The same values under the names of each family; empty when the arguments say too little."""
    heads = arguments.get("num_attention_heads")
    if not heads:
        return {}
    groups = arguments.get("num_query_groups") or heads
    if not arguments.get("group_query_attention", True):
        groups = heads
    found: dict[str, dict[str, Parameter]] = {}
    for family in FAMILIES:
        cut = _Cut(family, int(heads), int(groups), gated)
        named = {part.name: part for each in parameters.values() for part in cut.parts(each)}
        found[family.name] = named
        if family.name in _PREFIXED:
            found[f"whole {family.name}"] = {
                (name if name.startswith("lm_head.") else f"transformer.{name}"): part
                for name, part in named.items()
            }
    return found


@dataclass(frozen=True, slots=True)
class _Cut:
    """One family's way of cutting the parameters of a model with these heads."""

    family: Family
    heads: int
    groups: int
    gated: bool

    def parts(self, parameter: Parameter) -> Iterator[Parameter]:
        """The parameter as the family has it: renamed, or several in its place."""
        name = parameter.name
        for pattern, replacement in self.family.rules:
            name = re.sub(pattern, replacement, name)
        halves = self.family.halves
        if _ATTENTION in parameter.name and self.family.attention:
            yield from self._attention(parameter, name)
        elif _FIRST in parameter.name and self.gated and halves is not None:
            last = parameter.name.rpartition(".")[2]
            base = re.sub(r"\.up_proj\.|\.linear_fc1\.", "\0", name).partition("\0")[0]
            for place, half in enumerate(halves):
                own = f"{base}.{half}.{last}"
                yield _part(parameter, own, parameter.shape[0] // 2, partial(_half, place=place))
        elif _is_transposed(self.family, name) and len(parameter.shape) == 2:
            yield _transposed(parameter, name)
        else:
            yield replace(parameter, name=name)

    def _attention(self, whole: Parameter, name: str) -> Iterator[Parameter]:
        width = whole.shape[0] // (self.heads + 2 * self.groups)
        sizes = (self.heads * width, self.groups * width, self.groups * width)
        cut = partial(_attention_rows, heads=self.heads, groups=self.groups)
        if len(self.family.attention) == 1:
            own = name.replace(_ATTENTION, self.family.attention[0])
            joined = _part(whole, own, whole.shape[0], partial(cut, letters="qkv"))
            turned = _is_transposed(self.family, own) and len(whole.shape) == 2
            yield _transposed(joined, own) if turned else joined
            return
        for letter, own, size in zip("qkv", self.family.attention, sizes, strict=True):
            yield _part(whole, name.replace(_ATTENTION, own), size, partial(cut, letters=letter))


def _is_transposed(family: Family, name: str) -> bool:
    return family.transposed is not None and re.search(family.transposed, name) is not None


def _transposed(parameter: Parameter, name: str) -> Parameter:
    def read() -> torch.Tensor:
        return parameter.read().t()

    return replace(parameter, name=name, shape=parameter.shape[::-1], read=read)


def _part(
    whole: Parameter, name: str, rows: int, cut: Callable[[torch.Tensor], torch.Tensor]
) -> Parameter:
    def read() -> torch.Tensor:
        return cut(whole.read())

    return replace(whole, name=name, shape=(rows, *whole.shape[1:]), read=read)


def _attention_rows(whole: torch.Tensor, letters: str, heads: int, groups: int) -> torch.Tensor:
    """Rows are groups × (queries of the group, one key, one value) × width of a head."""
    queries = heads // groups
    by_group = whole.reshape(groups, queries + 2, -1, *whole.shape[1:])
    places = {"q": slice(queries), "k": slice(queries, queries + 1), "v": slice(queries + 1, None)}
    chosen = [by_group[:, places[letter]].reshape(-1, *whole.shape[1:]) for letter in letters]
    return chosen[0] if len(chosen) == 1 else torch.cat(chosen)


def _half(whole: torch.Tensor, place: int) -> torch.Tensor:
    return whole.chunk(2)[place]
