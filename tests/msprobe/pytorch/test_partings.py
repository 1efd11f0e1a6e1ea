"""Two real trainings part at what one of them lacks, or has set otherwise; with and without noise.

Those in HELD were not looked at while the rules were made.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from builder.series.all_ranks import Compared, compare_all
from builder.series.run import TrendRun
from msprobe.cli import main
from tests.msprobe.pytorch.parting_programs import AT, Branched, Change, Run, Scene, train

NOISES = (0.0, 1e-6)


def freezes(*names: str) -> Change:
    def change(scene: Scene) -> None:
        for name in names:
            for each in scene.model.get_submodule(name).parameters():
                each.requires_grad_(False)

    return change


def adds(place: str, number: int) -> Change:
    return lambda scene: getattr(scene.model, place).add(number)


def evaluates(scene: Scene) -> None:
    scene.model.eval()


def freezes_a_bias(scene: Scene) -> None:
    scene.model.router.bias.requires_grad_(False)


def leaves_out(scene: Scene) -> None:
    """The head is in no group of the optimizer any more."""
    head = {id(each) for each in scene.model.head.parameters()}
    for group in scene.optimizer.param_groups:
        group["params"] = [each for each in group["params"] if id(each) not in head]


GONE: dict[str, tuple[Change, int, str]] = {
    "a frozen layer": (freezes("layers.1"), AT, "grad layers.1"),
    "a layer frozen at first": (freezes("layers.1"), 0, "grad layers.1"),
    "evaluation is left on": (evaluates, AT, "actv emb"),
    "evaluation from the first step on": (evaluates, 0, "actv emb"),
    "a branch is not called": (adds("uncalled", 1), AT, "actv layers.1"),
    "a branch is never called": (adds("uncalled", 2), 0, "actv layers.2"),
    "an expert is missing": (adds("closed", 2), 0, "actv experts.2"),
    "a layer is cut off": (adds("cut", 1), AT, "actv_grad layers.1"),
}
HELD_GONE: dict[str, tuple[Change, int, str]] = {
    "an expert goes missing": (adds("closed", 1), AT, "actv experts.1"),
    "a layer runs without gradients": (adds("blind", 2), AT, "actv"),
    "a bias is frozen": (freezes_a_bias, AT, "grad router.bias"),
    "a layer is in no group": (leaves_out, AT, "setting group0.elements"),
}


def sets(place: int = 0, **values: Any) -> Change:
    return lambda scene: scene.optimizer.param_groups[place].update(values)


def clips(scene: Scene, norm: float | None, value: float | None = None) -> None:
    parameters = list(scene.model.parameters())
    if norm is not None:
        scene.clip = lambda: nn.utils.clip_grad_norm_(parameters, norm)
    else:
        scene.clip = lambda: value and nn.utils.clip_grad_value_(parameters, value)


def moves_a_bias(scene: Scene) -> None:
    weights, others = (group["params"] for group in scene.optimizer.param_groups)
    weights.append(others.pop())


def skips(scene: Scene) -> None:
    scene.skips = True


def scales(scene: Scene) -> None:
    scene.scale = 1024.0


DECIDED: dict[str, tuple[Change, int, str]] = {
    "twice the rate": (sets(lr=2e-3), AT, "lr group0"),
    "a rate that is a little larger": (sets(1, lr=1.0001e-3), AT, "lr group1"),
    "no clipping": (lambda scene: clips(scene, None), AT, "clip clip"),
    "clipping to another norm": (lambda scene: clips(scene, 0.05), AT, "setting clip.max_norm"),
    "another decay": (sets(weight_decay=0.1), AT, "setting group0.weight_decay"),
    "a bias that decays": (moves_a_bias, 0, "setting group0.elements"),
    "a step is skipped": (skips, AT, "skipped skipped"),
    "another loss scale": (scales, AT, "loss_scale loss_scale"),
}
HELD_DECIDED: dict[str, tuple[Change, int, str]] = {
    "other betas": (sets(betas=(0.8, 0.999)), AT, "setting group0.betas[0]"),
    "another epsilon": (sets(eps=1e-3), AT, "setting group0.eps"),
    "clipping by value": (lambda scene: clips(scene, None, 1e-3), AT, "setting clip.max_value"),
    "no clipping from the first step on": (lambda scene: clips(scene, None), 0, "clip clip"),
}


@cache
def sound() -> Path:
    folder = Path(mkdtemp())
    train(folder, Run())
    return folder


def compared(folder: Path, run: Run) -> Compared:
    train(folder, run)
    return compare_all(TrendRun(folder), TrendRun(sound()))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("case", [*GONE, *HELD_GONE, *DECIDED, *HELD_DECIDED])
def test_what_one_run_lacks_or_decides_is_named_with_its_step(
    case: str, noise: float, tmp_path: Path
) -> None:
    change, at, target = {**GONE, **HELD_GONE, **DECIDED, **HELD_DECIDED}[case]
    found = compared(tmp_path / "run", Run(change, at, noise=noise)).divergence
    assert (found.verdict, found.step) == ("parts", at)
    assert " ".join(found.target or ()).startswith(target)
    assert (found.missing is not None) is (case in {**GONE, **HELD_GONE} and found.decided is None)
    assert (found.decided is not None) is target.startswith(("lr", "setting", "clip", "s", "loss_"))


def test_both_ways_round_the_same_is_missing(tmp_path: Path) -> None:
    train(tmp_path / "run", Run(freezes("layers.1")))
    runs = TrendRun(tmp_path / "run"), TrendRun(sound())
    one, other = compare_all(*runs).divergence, compare_all(*runs[::-1]).divergence
    assert (one.step, one.target, one.missing) == (other.step, other.target, "ours")
    assert other.missing == "theirs"


@pytest.mark.parametrize("noise", NOISES)
def test_what_both_lack_is_no_difference(noise: float, tmp_path: Path) -> None:
    for name, off in (("a", noise), ("b", 0.0)):
        train(tmp_path / name, Run(freezes("layers.1", "experts.0"), noise=off))
    found = compare_all(TrendRun(tmp_path / "a"), TrendRun(tmp_path / "b"))
    assert found.divergence.verdict == ("noise" if noise else "equal")
    assert found.claim.is_clear


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "settings",
    [
        {"activations": None},
        {"activations": ["layers.1", "head"]},
        {"activations": "blocks", "every": {"actv_all": 5}},
        {"every": {"grad": 4}},
        {"every": {"param": 0, "ratio": 3}},
        {"keep": 4},
        {"optimizer": False},
    ],
)
def test_what_a_run_was_not_set_to_record_is_no_difference(
    settings: dict[str, Any], noise: float, tmp_path: Path
) -> None:
    found = compared(tmp_path / "run", Run(settings=settings, noise=noise))
    assert found.divergence.verdict == ("noise" if noise else "equal")
    assert "only_series" not in {gap.code for gap in found.claim.evidence.gaps}


def test_the_command_says_what_is_missing_and_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(tmp_path / "run", Run(freezes("layers.1")))
    assert main(["trend", str(tmp_path / "run"), "--compare", str(sound())]) == 4
    said = capsys.readouterr().out
    assert f"they part at step {AT}: grad of layers.1." in said
    assert f"is not measured in {tmp_path / 'run'} from then on" in said


def test_the_command_says_what_was_decided_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(tmp_path / "run", Run(sets(weight_decay=0.1)))
    assert main(["trend", str(tmp_path / "run"), "--compare", str(sound())]) == 4
    said = capsys.readouterr().out
    assert f"step {AT}: group0.weight_decay is 0.1, in the other run 0.01; what follows: " in said


@pytest.mark.parametrize("settings", [{"keep": 4}, {"every": {"actv_all": 5}}])
def test_further_modules_take_no_series_away(settings: dict[str, Any], tmp_path: Path) -> None:
    """A layer hands up what its last part gives: measured by either, and always by the layer."""
    train(tmp_path / "alone", Run(settings={"activations": "blocks"}))
    train(tmp_path / "more", Run(settings={"activations": "blocks", **settings}))
    alone, more = (TrendRun(tmp_path / name) for name in ("alone", "more"))
    keys = [target.key for target in alone.targets]
    assert ("actv", "layers.1") in keys
    for key in keys:
        assert more.line(key)[0].tolist() == alone.line(key)[0].tolist(), key


def test_a_setting_is_written_when_it_changes_and_every_sixteen_steps(tmp_path: Path) -> None:
    train(tmp_path / "run", Run(sets(weight_decay=0.1)))
    run = TrendRun(tmp_path / "run")
    steps, values = run.line(("setting", "group0.weight_decay"))
    assert steps.tolist() == [0, 16, AT, 32]
    assert values.tolist() == pytest.approx([0.01, 0.01, 0.1, 0.1])
    weights = sum(each.numel() for each in Branched().parameters() if each.dim() > 1)
    assert run.line(("setting", "group0.elements"))[1].tolist() == [weights] * 3


@pytest.mark.parametrize("between", [2, 5])
def test_an_update_is_that_of_one_step_however_seldom_it_is_measured(
    between: int, tmp_path: Path
) -> None:
    train(tmp_path / "run", Run(settings={"every": {"ratio": between}}))
    key = ("ratio", "head.weight")
    steps, seldom = TrendRun(tmp_path / "run").line(key)
    known, always = TrendRun(sound()).line(key)
    assert seldom.tolist() == always[np.isin(known, steps)].tolist()
    assert len(steps) == -(-len(known) // between)
