"""Wrong kernels: that they are what they say, that their place is known, and a sample judged."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

from evaluation.zoo.kernels.draw import SHOWS, distance, draw
from evaluation.zoo.kernels.rounding import ROUNDINGS, OtherRounding
from evaluation.zoo.kernels.suite import DTYPES, KernelCase, cases, judge
from evaluation.zoo.kernels.truth import first_places
from evaluation.zoo.kernels.watch import KernelWatch, Site
from evaluation.zoo.kernels.wrong import KINDS, Kind, Wrong, spoil
from evaluation.zoo.models import experiment_of
from evaluation.zoo.suite import process_pool


class _NoRecorder:
    def start(self, model: torch.nn.Module) -> None: ...

    def stop(self) -> None: ...

    def step(self) -> None: ...


class _Census(KernelWatch):
    def __init__(self, experiment: object) -> None:
        super().__init__(experiment)  # type: ignore[arg-type]
        self.sites: list[Site] = []

    def computed(self, site: Site, *_: object) -> None:
        self.sites.append(site)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8,), (4, 6), (2, 3, 5), (2, 2, 3, 4)])
def test_a_wrong_kernel_leaves_something_else_of_the_same_form(
    kind: Kind, dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    sound = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    output = sound.clone()
    wrong = Wrong(Site("forward", "add", 0), kind, random.Random(str(shape)).randrange(1 << 20))
    spoil(wrong, (), [output])
    assert (output.shape, output.dtype) == (sound.shape, dtype)
    assert distance([output], [sound]) > (0 if len(shape) > 1 or kind != "row taken twice" else -1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_short_accumulator_loses_what_its_format_loses(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(2)
    left, right = (torch.randn(16, 16, generator=generator).to(dtype) for _ in range(2))
    output = left @ right
    sound = output.clone()
    wrong = Wrong(Site("forward", "mm", 0), "accumulator too short", 0)
    spoil(wrong, (left, right), [output])
    assert 0 < distance([output], [sound]) < 0.2


def test_sites_are_those_of_the_run_alone_and_each_occurs_once_a_step() -> None:
    torch.manual_seed(0)
    experiment = experiment_of("bert", torch.float32)
    census = _Census(experiment)
    with census:
        experiment.train(_NoRecorder())
    steps = len(census.sites) // len(set(census.sites))
    assert steps == 2 and len(census.sites) == 2 * len(set(census.sites))
    assert {site.phase for site in census.sites} == {"forward", "backward", "update"}
    assert not any(site.operator.startswith(("view", "detach", "rand")) for site in census.sites)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_other_roundings_are_faithful(dtype: torch.dtype, rounding: str) -> None:
    generator = torch.Generator().manual_seed(3)
    left, right = (torch.randn(8, 16, generator=generator).to(dtype) for _ in range(2))
    experiment = experiment_of("bert", dtype)
    mode = OtherRounding(experiment, rounding, seed=4)  # type: ignore[arg-type]
    with mode:
        product = left @ right.t()
        kept = left + 0
    exact = left.double() @ right.double().t()
    unit = torch.finfo(dtype).eps
    # Sums in another order lose by the size of the terms, the others by that of the result.
    terms = left.double().abs() @ right.double().t().abs()
    allowed = unit * (terms * 16 if rounding == "other order" else exact.abs() + 2**-24)
    assert mode.again >= 1
    assert ((product.double() - exact).abs() <= allowed).all()
    assert torch.equal(kept, left)


def test_drawn_faults_show_and_are_drawn_again_by_their_seed() -> None:
    with process_pool(1) as pool:
        one, same, other = pool.starmap(
            draw, [("bert", torch.float32, seed, 3, 1) for seed in (5, 5, 6)], chunksize=1
        )
    assert one == same != other
    assert len(one.singles) == 3 and SHOWS > 1


@pytest.fixture(scope="module")
def listed() -> list[KernelCase]:
    return cases(("statistics",), 3, ("bert",), (torch.float32,), singles=3, pairs=1)


def test_the_cases_hold_single_faults_pairs_and_controls(listed: list[KernelCase]) -> None:
    assert [len(case.faults) for case in listed] == [1, 1, 1, 2, 0, 0, 0, 0]


def test_single_wrong_kernels_are_named_and_other_roundings_are_not(
    listed: list[KernelCase], tmp_path: Path
) -> None:
    chosen = [listed[0], listed[1], listed[-3]]
    verdicts = list(judge(chosen, 2, tmp_path))
    assert [verdict.error for verdict in verdicts] == [None] * len(chosen)
    for verdict in verdicts:
        if verdict.case.faults:
            assert verdict.judged and verdict.first and verdict.all_named, verdict
        else:
            assert verdict.findings == (), verdict


def test_the_place_is_where_bits_differ_first(tmp_path: Path) -> None:
    def dump(name: str, made: float, read: float) -> Path:
        folder = tmp_path / name / "step0" / "proc1"
        folder.mkdir(parents=True)
        value = {"type": "torch.Tensor", "Max": made}
        data = {
            "Torch.mm.0.forward": {"input_args": [1.0], "output": [value]},
            "Torch.mm.1.forward": {"input_args": [value], "output": [read]},
            "Module.m.M.forward.0": {"input_args": [1.0], "output": [read]},
        }
        parents = {n: None if n[0] == "M" else "Module.m.M.forward.0" for n in data}
        (folder / "dump.json").write_text(json.dumps({"data": data}))
        (folder / "construct.json").write_text(json.dumps(parents))
        return tmp_path / name

    sound = dump("sound", 1.0, 2.0)
    assert first_places(dump("wrong", 1.5, 2.5), sound) == {(0, "Torch.mm.0.forward")}
    assert first_places(dump("module", 1.0, 2.5), sound) == {(0, "Torch.mm.1.forward")}
    assert first_places(dump("same", 1.0, 2.0), sound) == frozenset()


def test_the_place_of_a_kernel_between_calls_is_the_first_reader(tmp_path: Path) -> None:
    def dump(name: str, read: float) -> Path:
        folder = tmp_path / name / "step0" / "proc1"
        folder.mkdir(parents=True)
        made, given = ({"type": "torch.Tensor", "Max": value} for value in (1.0, read))
        data = {
            "Torch.mm.1.backward": {"input": [1.0], "output": [made]},
            "Torch.mm.0.backward": {"input": [given], "output": [given]},
            "Module.m.M.backward.0": {"input": [given], "output": [given]},
            "Module.m.M.parameters_grad.0": {"weight": [given]},
            "Optimizer.SGD.step.m": {"input": [given], "output": [given]},
        }
        parents = dict.fromkeys(data) | {"Torch.mm.0.backward": "Module.m.M.backward.0"}
        (folder / "dump.json").write_text(json.dumps({"data": data}))
        (folder / "construct.json").write_text(json.dumps(parents))
        return tmp_path / name

    places = first_places(dump("wrong", 3.0), dump("sound", 2.0))
    assert places == {(0, "Torch.mm.0.backward"), (0, "Module.m.M.backward.0")}
