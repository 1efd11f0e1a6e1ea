"""Extensions: what a package adds to every build, and what a broken one is told."""

from __future__ import annotations

import sqlite3
from importlib.metadata import EntryPoint
from math import log10
from pathlib import Path

import numpy as np
import pytest

import builder
from builder import BuildOptions, InputError
from builder.dump.joined_tensors import Join, JoinedTensor
from builder.dump.reader import read_dump
from builder.dump.values import Record
from builder.judge import extensions as module
from builder.judge.extensions import Extension, PairFacts, ValueFacts, load_extensions
from builder.reasons import Extension as SaidByExtension
from tests.builder.dumps import write_dump


def noise_ratio(problem: ValueFacts, benchmark: ValueFacts) -> float | None:
    """Signal to noise of the norms in dB."""
    if problem.norm is None or benchmark.norm is None or problem.norm == benchmark.norm:
        return None
    return 20 * log10(abs(benchmark.norm / (problem.norm - benchmark.norm)))


def largest_place(problem: ValueFacts, benchmark: ValueFacts) -> float | None:
    """Where the two tensors differ most."""
    ours, theirs = problem.tensor(), benchmark.tensor()
    if ours is None or theirs is None or ours.size == 0:
        return None
    return float(np.argmax(np.abs(ours.astype(float) - theirs.astype(float))))


def grown(name: str, pairs: list[PairFacts]) -> tuple[str, str] | None:
    if any(pair.is_output and (pair.error or 0) > 0.5 for pair in pairs):
        return ("warning", f"{name} is off by half")
    return None


EXTENSION = Extension({"SNR (dB)": noise_ratio, "worst at": largest_place}, (grown,))  # type: ignore[arg-type]


def install_here(monkeypatch: pytest.MonkeyPatch, extension: object) -> None:
    class Here(EntryPoint):
        def load(self) -> object:
            return extension

    monkeypatch.setattr(module, "entry_points", lambda group: [Here("mine", "package:name", group)])


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_measures_and_rules_join_the_others(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    install_here(monkeypatch, EXTENSION)
    ours, theirs = samples / task / "problem", samples / task / "bench"
    result = builder.build(ours, theirs, tmp_path, BuildOptions(workers=1))
    database = builder.open(result.path)
    name = "Module.layers.1.mlp.fc2.Linear.forward.0"
    with sqlite3.connect(result.path) as connection:
        query = "SELECT id FROM node WHERE name = ? AND score IS NOT NULL ORDER BY id"
        (id_,) = connection.execute(query, (name,)).fetchone()
    connection.close()
    details = database.details(id_)
    output = next(pair for pair in details.values if pair.role == "output")
    assert isinstance(output.measures["SNR (dB)"], float)
    assert ("worst at" in output.measures) is (task == "tensor")
    assert SaidByExtension(f"{name} is off by half") in list(details.node.reasons)
    database.close()


@pytest.mark.parametrize("attribute", ["missing.module:x", "builder.judge.extensions:GROUP"])
def test_what_is_no_extension_is_named(monkeypatch: pytest.MonkeyPatch, attribute: str) -> None:
    point = EntryPoint("mine", attribute, module.GROUP)
    monkeypatch.setattr(module, "entry_points", lambda group: [point])
    with pytest.raises(InputError, match=r"entry point 'mine' of msprobe\.measures"):
        load_extensions()


def test_without_packages_there_are_none() -> None:
    assert load_extensions() == ()


def test_a_value_joined_from_ranks_is_joined_for_extensions_too(tmp_path: Path) -> None:
    whole = np.arange(8, dtype=np.float32).reshape(4, 2)
    files = []
    for rank, part in enumerate(np.split(whole, 2)):
        files.append(str(tmp_path / f"{rank}.npy"))
        np.save(files[-1], part)
    joined = JoinedTensor(tuple(files), ((2, 2), (2, 2)), (Join("S", 2, 0),))
    dump = read_dump(write_dump(tmp_path / "d", {}, {}))
    dump.joined["joined:7"] = joined
    record = Record(type="torch.Tensor", dtype="float32", shape=(4, 2), data_name="joined:7")
    facts = module._facts(record, dump)
    assert facts.file is None
    found = facts.tensor()
    assert found is not None
    assert np.array_equal(found, whole.reshape(-1))
    plain = Record(type="torch.Tensor", dtype="float32", shape=(4, 2), data_name="a.npy")
    assert module._facts(plain, dump).file == tmp_path / "d" / "dump_tensor_data" / "a.npy"
