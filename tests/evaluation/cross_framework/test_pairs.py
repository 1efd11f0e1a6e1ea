"""MindSpore against PyTorch: sound pairs are silent, and of each fault the place is named alone.

`make mindspore` records the pairs anew and says by CROSS_FRAMEWORK where; otherwise the recorded
ones are compared.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
from pathlib import Path

import pytest

import builder
from builder import BuildOptions, BuildResult
from evaluation.cross_framework.pairs import FAULTS, IN_SAMPLE, SAMPLE, SOUND, Pair
from tests.builder.result_rows import rows
from tests.told import facts

ANEW = os.environ.get("CROSS_FRAMEWORK")


def chosen(pairs: tuple[Pair, ...]) -> list[Pair]:
    """All pairs where they are recorded anew, else those that the sample has."""
    return [pair for pair in pairs if ANEW or pair.problem in IN_SAMPLE]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if ANEW:
        return Path(ANEW)
    target = tmp_path_factory.mktemp("dumps")
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(target, filter="data")
    return target


def compared(
    dumps: Path, pair: Pair, out: Path, turned: bool = False, **options: object
) -> BuildResult:
    """The comparison of a pair; `turned` makes PyTorch the problem."""
    sides = [dumps / "mindspore" / pair.problem, dumps / "pytorch" / pair.benchmark]
    chosen = BuildOptions(workers=1, **options)  # type: ignore[arg-type]
    return builder.build(*(sides[::-1] if turned else sides), out, chosen)


@pytest.mark.parametrize("pair", chosen(SOUND), ids=lambda pair: pair.problem)
def test_a_sound_pair_is_silent(dumps: Path, tmp_path: Path, pair: Pair) -> None:
    result = compared(dumps, pair, tmp_path)
    assert [(finding.name, finding.reasons) for finding in result.findings] == []
    wrong = "SELECT graph, name, verdict, score FROM node WHERE "
    assert rows(result, f"{wrong} verdict = 'error' OR score > 0.25") == []
    # MindSpore's Dropout hands on what it reads where p is 0: no gradient passes through it.
    lost = (
        "SELECT name FROM node WHERE match IS NULL AND kind = 'module' AND recomputed = 0 "
        "AND name NOT LIKE '%.Dropout.backward.%'"
    )
    assert rows(result, lost) == []
    unpaired = (
        "SELECT name, role, path FROM node JOIN value ON value.node = node.id WHERE match IS NOT "
        "NULL AND partner IS NULL AND role LIKE 'parameters%' AND path NOT LIKE 'moving%' "
        "AND graph IN (SELECT graph FROM node JOIN value ON value.node = node.id "
        "WHERE partner IS NOT NULL)"
    )
    assert rows(result, unpaired) == []


def test_other_names_pair_by_a_mapping_as_well(dumps: Path, tmp_path: Path) -> None:
    rules = {
        "TopLayer": {"blocks": "stages", "final": "norm", "classes": "head"},
        "Layer": {"ln": "norm", "wide": "up", "narrow": "down"},
    }
    file = tmp_path / "names.yaml"
    file.write_text(json.dumps(rules))  # which is YAML too
    (pair,) = [pair for pair in SOUND if pair.problem == "names"]
    result = compared(dumps, pair, tmp_path / "o", layer_mapping=file)
    assert result.findings == ()
    paired = "SELECT count(*), count(match) FROM node WHERE kind = 'module' AND graph = 1"
    ((modules, matched),) = rows(result, paired)
    assert modules == matched


@pytest.mark.parametrize("pair", chosen(SOUND if ANEW else SOUND[:3]), ids=lambda p: p.problem)
def test_a_sound_pair_is_silent_with_pytorch_as_the_problem(
    dumps: Path, tmp_path: Path, pair: Pair
) -> None:
    assert compared(dumps, pair, tmp_path, turned=True).findings == ()


@pytest.mark.parametrize("turned", [False, True], ids=["mindspore", "pytorch"])
@pytest.mark.parametrize("pair", chosen(FAULTS), ids=lambda pair: pair.problem)
def test_the_fault_is_the_one_finding(
    dumps: Path, tmp_path: Path, pair: Pair, turned: bool
) -> None:
    result = compared(dumps, pair, tmp_path, turned)
    named = [(finding.step, finding.name) for finding in result.findings]
    assert len(named) == 1, named
    (finding,) = result.findings
    assert finding.step == pair.step
    words = re.sub(r"^Cell\b", "Module", pair.turned or pair.named).replace(".Dense.", ".Linear.")
    assert finding.name.startswith(words if turned else pair.named)
    said = [str(facts(reason).get("what")) for reason in finding.reasons if "what" in facts(reason)]
    assert not pair.default or any(pair.default in what for what in said)
