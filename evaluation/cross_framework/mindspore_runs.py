"""Records the problems: python -m evaluation.cross_framework.mindspore_runs OUT [RUN …]

A run is called `<model>` where it is sound and `<model>-<fault>` where it has a fault.
"""

# MindSpore reads no annotations.
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, mint, nn, ops

from evaluation.cross_framework import given
from evaluation.cross_framework import mindspore_models as models
from msprobe.mindspore import PrecisionDebugger, seed_all

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cross_framework"


def classes(scores, wanted):
    return ops.cross_entropy(scores.reshape(-1, scores.shape[-1]), wanted.reshape(-1))


def numbers(found, wanted):
    return ops.mse_loss(found, wanted)


def picture(found, _):
    return ops.mse_loss(found, ops.zeros_like(found))


def halves(step):
    """The numbers that are wanted in half precision."""
    tokens, wanted = given.sequences(step)
    return tokens, wanted.astype(np.float16)


def torch_name(name):
    """What PyTorch calls a parameter."""
    return ".".join(models.NAMES.get(part, part) for part in name.split("."))


def _adam(weights, epsilon):
    return nn.Adam(weights, learning_rate=0.01, eps=epsilon)


def record(out, model, loss_of, batch, adam=0.0, last=False, summed=False):
    """Record two steps of training.

    `last` adds one that evaluates, `adam` is Adam's epsilon, `summed` sums gradients over ranks.
    """
    parameters = {torch_name(name): each for name, each in model.parameters_and_names()}
    drawn = given.weights({name: each.shape for name, each in parameters.items()})
    for name, each in parameters.items():
        each.set_data(Tensor(drawn[name]))
    weights = model.trainable_params()
    optimizer = _adam(weights, adam) if adam else nn.SGD(weights, learning_rate=0.1)
    gradients = ms.value_and_grad(
        lambda inputs, wanted: loss_of(model(inputs), wanted), None, model.trainable_params()
    )
    debugger = PrecisionDebugger(dump_path=str(out), level="mix")
    model.set_train()
    for step in range(2):
        inputs, wanted = map(Tensor, batch(step))
        debugger.start(model)
        _, found = gradients(inputs, wanted)
        for gradient in found if summed else ():
            mint.distributed.all_reduce(gradient)
        optimizer(found)
        debugger.stop()
        debugger.step()
    if last:
        model.set_train(False)
        debugger.start(model)
        model(Tensor(batch(2)[0]))
        debugger.stop()
        debugger.step()
    debugger.close()


def cnn(out, fault=""):
    record(out, models.Cnn(fault), classes, given.images, last=True)


def ranks(out):
    """Two ranks with a batch each, under msrun."""
    ms.communication.init()
    first = 10 * ms.communication.get_rank()
    record(out, models.Named(), classes, lambda step: given.vectors(first + step), summed=True)


def of_mint(out, epsilon):
    """Layers of mint under Adam.

    MindSpore adds Adam's epsilon before it corrects the second moment, PyTorch after: of the first
    step the two agree where MindSpore's epsilon is smaller by the root of that correction.
    """
    record(out, models.Gated(), classes, given.vectors, adam=epsilon)


def of_vision(model, out, fault=""):
    record(out, model(fault), classes, given.images)


def of_text(out, fault=""):
    record(out, models.TextCnn(fault), numbers, given.sequences)


def of_vectors(model, out, fault=""):
    record(out, model(fault), classes, given.vectors)


def transformer(out, fault="", seed=7):
    sys.path.insert(0, str(EXAMPLE))
    import in_mindspore

    in_mindspore.train(str(out), fault, seed)


_OF_TRANSFORMER = "epsilon approximate scale mask transposed bias weight dropout label multiply"
RUNS = {
    "transformer": transformer,
    "seed": partial(transformer, seed=8),
    "cnn": cnn,
    "lstm": lambda out: record(out, models.Recurrent(), numbers, given.sequences),
    "attention": lambda out: record(out, models.Attending(), classes, given.vectors),
    "tied": lambda out: record(out, models.Tied(), classes, given.words),
    "ranks": ranks,
    "names": lambda out: record(out, models.Named(), classes, given.vectors),
    "autoencoder": lambda out: record(out, models.Autoencoder(), picture, given.images),
    "gru": lambda out: record(out, models.BothWays(), numbers, given.sequences),
    "mint": partial(of_mint, epsilon=1e-8 * (1 - 0.999) ** 0.5),
    "mint-adam": partial(of_mint, epsilon=1e-8),
    "separable": partial(of_vision, models.Separable),
    "vision": partial(of_vision, models.Vision),
    "text": of_text,
    "unrolled": partial(of_vectors, models.Unrolled),
    "experts": partial(of_vectors, models.Experts),
    "separable-slope": partial(of_vision, models.Separable, fault="slope"),
    "vision-half": partial(of_vision, models.Vision, fault="half"),
    "text-mean": partial(of_text, fault="mean"),
    "unrolled-detach": partial(of_vectors, models.Unrolled, fault="detach"),
    "experts-frozen": partial(of_vectors, models.Experts, fault="frozen"),
    "experts-axis": partial(of_vectors, models.Experts, fault="axis"),
    "lstm-label_dtype": lambda out: record(out, models.Recurrent(), numbers, halves),
    **{
        f"cnn-{fault}": partial(cnn, fault=fault) for fault in ("pad_mode", "momentum", "keep_prob")
    },
    **{
        f"transformer-{fault}": partial(transformer, fault=fault)
        for fault in (*_OF_TRANSFORMER.split(), "decay", "residual")
    },
}


def main():
    out, *names = sys.argv[1:]
    ms.set_device("CPU")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.runtime.launch_blocking()
    for name in names or [run for run in RUNS if run != "ranks"]:
        seed_all(1)
        try:
            RUNS[name](Path(out) / name)
        except Exception as error:
            raise RuntimeError(f"the run {name} failed") from error


if __name__ == "__main__":
    main()
