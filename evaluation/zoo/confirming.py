"""Proves findings by intervention: the problem run takes the benchmark's values at the finding.

Both sides compute with the same kernels, so that behind a cause every bit agrees.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from builder import BuildOptions, build, diagnose
from builder.results.confirmation import plan_confirmation
from builder.results.proof import Proof, prove
from evaluation.zoo.controls import Setting
from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Fault
from evaluation.zoo.faults import FAULTS
from evaluation.zoo.record import experiment
from evaluation.zoo.suite import process_pool
from msprobe.pytorch import PrecisionDebugger

# Calls in place of others, extra ones, arguments, parameters, inputs, gradients.
PROVEN = (
    ("gpt", "silu became gelu"),
    ("gpt", "RMSNorm eps 0.1"),
    ("gpt", "one weight 40 times too large"),
    ("gpt", "gradient halved at the activation"),
    ("gpt", "embedding scaled"),
    ("gpt", "rope base 1000"),
    ("bert", "residual doubled"),
    ("convolution", "relu became leaky"),
    ("convolution", "kernel transposed"),
    ("vision", "causal mask added"),
)
SECOND = (
    ("gpt", "residual branch scaled", "one weight 40 times too large"),
    ("vision", "causal mask added", "gelu became relu"),
    ("bert", "residual doubled", "LayerNorm eps 0.5"),
)


@dataclass(frozen=True, slots=True)
class Put:
    """Several faults put into one experiment."""

    architecture: str
    names: tuple[str, ...]

    def __call__(self, into: Experiment) -> None:
        """Apply each."""
        for name in self.names:
            fault_of(self.architecture, name).apply(into)


def fault_of(architecture: str, name: str) -> Fault:
    """The fault of that name."""
    return next(fault for fault in FAULTS[architecture] if fault.name == name)


def confirmed(architecture: str, names: tuple[str, ...], folder: Path) -> tuple[str, Proof]:
    """The first finding of a faulty run, and what grafting it proves."""
    wrong, sound = Setting(change=Put(architecture, names)), Setting()
    _train(architecture, wrong, folder / "problem")
    _train(architecture, sound, folder / "benchmark")
    before = _compared(folder / "problem", folder / "benchmark", folder / "before")
    plan = plan_confirmation(before, 1, folder)
    _train(architecture, sound, folder / "tensors", plan.files["closer_benchmark.json"])
    _train(architecture, wrong, folder / "graft", plan.files["graft.json"])
    after = _compared(folder / "grafted", folder / "benchmark", folder / "after")
    return diagnose(before).findings[0].node, prove(before, after, 1)


def _train(
    architecture: str, setting: Setting, folder: Path, config: dict[str, object] | None = None
) -> None:
    plain = {"task": "statistics", "level": "mix", "dump_path": str(folder), "step": [0]}
    path = folder.parent / f"{folder.name}.json"
    path.write_text(json.dumps(config or plain))
    with process_pool(1) as pool:
        pool.apply(_trained, (architecture, setting, path))


def _trained(architecture: str, setting: Setting, config: Path) -> None:
    with setting.entered():
        experiment(architecture, setting).train(PrecisionDebugger(config_path=str(config)))


def _compared(problem: Path, benchmark: Path, out: Path) -> Path:
    return build(problem, benchmark, out, BuildOptions(workers=1)).path


def judge() -> bool:
    """Print what is proven of each; whether all of it is as it should be."""
    listed = [(a, (n,)) for a, n in PROVEN] + [(a, (one, other)) for a, one, other in SECOND]
    right = []
    for architecture, names in listed:
        with tempfile.TemporaryDirectory() as folder:
            found, proof = confirmed(architecture, names, Path(folder))
        second = len(names) > 1
        right.append(proof.remain > 0 if second else proof.is_proven and not proof.remain)
        said = f"{proof.agree} of {proof.behind} behind it agree, {proof.remain} differ"
        rest = f", which begin at {proof.next_finding}" if proof.next_finding else ""
        print(f"{architecture:12} {' + '.join(names):60} {found}: {said}{rest}", flush=True)
    print(f"{sum(right)} of {len(right)} as they should be")
    return all(right)
