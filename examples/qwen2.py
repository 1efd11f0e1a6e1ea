"""One training step of a Qwen2 with random weights, dumped: python examples/qwen2.py OUT

Needs transformers. With --fault the attention of a middle layer scales wrongly.
"""

from __future__ import annotations

import argparse

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from msprobe.pytorch import PrecisionDebugger, seed_all

BATCH, LENGTH = 2, 32


def make_model(layers: int, fault: bool) -> Qwen2ForCausalLM:
    """A narrow Qwen2; `fault` multiplies one layer's attention scale by 1.5."""
    seed_all(1234)
    sizes = {"hidden_size": 64, "intermediate_size": 160, "vocab_size": 512}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    model = Qwen2ForCausalLM(Qwen2Config(num_hidden_layers=layers, **sizes, **heads))
    if fault:
        model.model.layers[layers * 2 // 3].self_attn.scaling *= 1.5
    return model


def record(out: str, layers: int, fault: bool) -> float:
    """Dump one step at level mix; the loss."""
    torch.set_num_threads(1)
    debugger = PrecisionDebugger(task="statistics", dump_path=out, level="mix")
    model = make_model(layers, fault)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids_BL = torch.randint(0, model.config.vocab_size, (BATCH, LENGTH))
    debugger.start(model=model)
    loss = model(input_ids=ids_BL, labels=ids_BL).loss
    loss.backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()
    return float(loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="the folder that receives the dump")
    parser.add_argument(
        "--fault", action="store_true", help="scale the scores of one layer wrongly"
    )
    parser.add_argument("--layers", type=int, default=24)
    arguments = parser.parse_args()
    print(f"loss {record(arguments.out, arguments.layers, arguments.fault):.6f}")


if __name__ == "__main__":
    main()
