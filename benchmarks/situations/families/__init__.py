"""The situations, one file a family; importing this package lists them all."""

from benchmarks.situations.families import (
    checkpoints,
    compiled,
    eager,
    functions,
    layers,
    models,
    modes,
    optimizers,
    packages,
    processes,
    ranks,
    schemes,
    tensors,
    trainings,
    transforms,
    ways,
)

__all__ = [
    "checkpoints",
    "compiled",
    "eager",
    "functions",
    "layers",
    "models",
    "modes",
    "optimizers",
    "packages",
    "processes",
    "ranks",
    "schemes",
    "tensors",
    "trainings",
    "transforms",
    "ways",
]
