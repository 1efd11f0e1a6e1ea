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
    tensors,
    transforms,
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
    "tensors",
    "transforms",
]
