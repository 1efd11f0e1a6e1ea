"""Which module of a training framework is which of an inference engine, for one and the same model.

Training records Hugging Face's names, perhaps under FSDP's wrappers, or Megatron's; the engine
(vLLM, SGLang) has Hugging Face's with fused projections. Both are brought to the engine's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from builder.dump.reader import Dump
from builder.match.layer_mapping import Rule
from builder.match.tree import Tree, TreeNode
from msprobe_core.format import NameSyntaxError, parse_entry

Backend = Literal["fsdp", "megatron"]
# Modules that compute one projection each, under the name of what computes all of them.
PARTS = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
BETWEEN = ";"  # stands between the names of modules whose values were joined
_FUSED = {name: fused for fused, names in PARTS.items() for name in names}
WRAPPED = ("_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod", "module")
_LEFT_OUT = {*WRAPPED, "model", "language_model", "decoder", "embedding"}
_WORDS = {
    "self_attention": "self_attn",
    "linear_qkv": "qkv_proj",
    "linear_proj": "o_proj",
    "linear_fc1": "gate_up_proj",
    "linear_fc2": "down_proj",
    "core_attention": "attn",
    "q_layernorm": "q_norm",
    "k_layernorm": "k_norm",
    "pre_mlp_layernorm": "post_attention_layernorm",
    "final_layernorm": "norm",
    "word_embeddings": "embed_tokens",
    "output_layer": "lm_head",
}


def engine_path(path: str) -> str:
    """A module's path in the engine's words, without wrappers; that of the whole for a part of it.

    >>> engine_path("module.decoder.layers.0.self_attention.linear_qkv")
    'layers.0.self_attn.qkv_proj'
    """
    joined = BETWEEN in path
    if joined:  # the first of the modules that were joined, without class, direction and number
        path = path.partition(BETWEEN)[0].rsplit(".", 3)[0]
    words = [_WORDS.get(word, word) for word in path.split(".") if word not in _LEFT_OUT]
    if joined:
        words[-1] = _FUSED.get(words[-1], words[-1])
    return ".".join(words)


@dataclass(slots=True)
class RolloutMapping:
    """Pairs modules by the engine's words; `paths` has the benchmark's own by those."""

    paths: dict[str, str]
    rules: list[Rule] = field(default_factory=list)

    def translate(self, tree: Tree) -> dict[TreeNode, tuple[str, Rule | None]]:
        """The benchmark path of every module of the problem that has one, with a rule behind it."""
        translated: dict[TreeNode, tuple[str, Rule | None]] = {}
        for node in tree.in_order:
            if node.kind != "module" or node.entry is None:
                continue
            path = self.paths.get(engine_path(node.entry.path))
            if path is not None:
                translated[node] = path, Rule("", node.entry.path, path, 0)
        return translated

    def check(self, used: Sequence[bool], reached: Sequence[bool]) -> None:
        """Nothing to check: no one wrote the rules, and what has no partner is a row."""


def rollout_mapping(benchmark: Dump) -> RolloutMapping:
    """The mapping onto the modules of a dump."""
    paths: dict[str, str] = {}
    for name in (*benchmark.parents, *benchmark.ranges):
        try:
            entry = parse_entry(name)
        except NameSyntaxError:
            continue
        if entry.kind == "module":
            paths.setdefault(engine_path(entry.path), entry.path)
    return RolloutMapping(paths)
