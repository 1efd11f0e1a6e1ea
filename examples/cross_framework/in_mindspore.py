"""The small transformer in MindSpore: python examples/cross_framework/in_mindspore.py OUT

With --fault one thing is not as in PyTorch: what `FAULTS` says.
"""

# MindSpore compiles such methods in other modes and reads no annotations.
# ruff: noqa: ANN001, ANN201, ANN202, ANN204

from __future__ import annotations

import argparse

import mindspore as ms
from mindspore import Tensor, mint, nn, ops
from weights import BLOCKS, VOCABULARY, WIDTH, batch, weights

from msprobe.mindspore import PrecisionDebugger, seed_all

FAULTS = {
    "epsilon": "the final LayerNorm keeps MindSpore's epsilon",
    "approximate": "the GELU of layer 1 keeps MindSpore's approximation",
    "scale": "attention of layer 1 scales by the whole width",
    "mask": "attention of layer 1 does not see the last token",
    "transposed": "the weight of the query of layer 0 is transposed",
    "bias": "fc2 of layer 0 has no bias",
    "weight": "fc1 of layer 1 starts from another weight",
    "dropout": "layer 0 drops a tenth of what its MLP puts out",
    "label": "the labels are those of the next token",
    "multiply": "layer 1 multiplies its activation by 1.7",
    "decay": "the optimizer decays weights",
    "residual": "layer 1 leaves out a residual connection",
}


class Attention(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Dense(WIDTH, WIDTH) for _ in range(4))
        self.fault = fault

    def construct(self, x):
        heads = [
            mint.transpose(part(x).reshape(*x.shape[:2], 2, WIDTH // 2), 1, 2)
            for part in (self.query, self.key, self.value)
        ]
        width = WIDTH if self.fault == "scale" else WIDTH // 2
        scores = mint.matmul(heads[0], mint.transpose(heads[1], -1, -2)) * width**-0.5
        if self.fault == "mask":
            hidden = Tensor([False] * (x.shape[1] - 1) + [True])
            scores = ops.masked_fill(scores, hidden, -1e9)
        mixed = mint.matmul(mint.nn.functional.softmax(scores, -1), heads[2])
        return self.out(mint.transpose(mixed, 1, 2).reshape(x.shape))


class Mlp(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.fc1, self.act = nn.Dense(WIDTH, 4 * WIDTH), nn.GELU(fault == "approximate")
        self.fc2 = nn.Dense(4 * WIDTH, WIDTH, has_bias=fault != "bias")
        self.fault = fault

    def construct(self, x):
        x = self.act(self.fc1(x))
        if self.fault == "multiply":
            x = x * 1.7
        x = self.fc2(x)
        return ops.dropout(x, p=0.1, seed=5) if self.fault == "dropout" else x


class Block(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm((WIDTH,), epsilon=1e-5), Attention(fault)
        self.norm2, self.mlp = nn.LayerNorm((WIDTH,), epsilon=1e-5), Mlp(fault)
        self.fault = fault

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        if self.fault == "residual":
            return self.mlp(self.norm2(x))
        return x + self.mlp(self.norm2(x))


class SmallTransformer(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        first = fault in ("bias", "dropout")
        faults = [fault if (block == 0) == first else "" for block in range(BLOCKS)]
        self.layers = nn.CellList([Block(each) for each in faults])
        epsilon = 1e-7 if fault == "epsilon" else 1e-5
        self.norm, self.head = nn.LayerNorm((WIDTH,), epsilon=epsilon), nn.Dense(WIDTH, VOCABULARY)

    def construct(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def load(model, fault, seed):
    """Give the model the weights of both frameworks."""
    given = weights(seed)
    if fault == "transposed":
        name = "layers.0.attention.query.weight"
        given[name] = given[name].T.copy()
    if fault == "weight":
        given["layers.1.mlp.fc1.weight"] = given["layers.1.mlp.fc1.weight"] * 1.01
    for name, parameter in model.parameters_and_names():
        torch_name = name.replace("embedding_table", "weight")
        torch_name = torch_name.replace("gamma", "weight").replace("beta", "bias")
        parameter.set_data(Tensor(given[torch_name]))


def train(out, fault="", seed=7):
    """Record two steps from the weights of a seed."""
    seed_all(1)
    model = SmallTransformer(fault)
    load(model, fault, seed)
    decay = 0.1 if fault == "decay" else 0.0
    optimizer = nn.SGD(model.trainable_params(), learning_rate=0.1, weight_decay=decay)
    tokens = batch()
    labels = (tokens + 1) % VOCABULARY if fault == "label" else tokens

    def loss_of(inputs, wanted):
        return ops.cross_entropy(model(inputs).reshape(-1, VOCABULARY), wanted.reshape(-1))

    gradients = ms.value_and_grad(loss_of, None, model.trainable_params())
    debugger = PrecisionDebugger(dump_path=out, level="mix")
    for _ in range(2):
        debugger.start(model)
        loss, grads = gradients(Tensor(tokens), Tensor(labels))
        optimizer(grads)
        debugger.stop()
        debugger.step()
        print(f"loss {float(loss.asnumpy()):.6f}")
    debugger.close()


def main():
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("out")
    parse.add_argument("--fault", choices=FAULTS, default="")
    options = parse.parse_args()
    ms.set_device("CPU")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.runtime.launch_blocking()
    train(options.out, options.fault)


if __name__ == "__main__":
    main()
