"""The situations, one file a family; importing this package lists them all."""

from benchmarks.situations.families import (
    checkpoints,
    compiled,
    eager,
    functions,
    models,
    modes,
    optimizers,
    packages,
    processes,
    ranks,
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
    "models",
    "modes",
    "optimizers",
    "packages",
    "processes",
    "ranks",
    "tensors",
    "trainings",
    "transforms",
    "ways",
]
