"""Alerts on series made here, whose noise is known: in octaves, Gaussian, unlike by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pytest
from numpy.typing import NDArray

from msprobe_core.format.alerts import Alert
from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.live_alerts import AlertWatch

NOISE = {"actv": 0.04, "loss": 0.9, "grad": 1.3}
"""As measured in a small network with batch norm."""
COUNT = {"actv": 12, "loss": 1, "grad": 40}
FAULT = 150
ABSENT = -1.0
TARGETS = [TrendTarget(kind, f"{kind}{i}", place=i) for kind in COUNT for i in range(COUNT[kind])]
COLUMN = {target.name: column for column, target in enumerate(TARGETS)}


def octaves(steps: int = 200) -> NDArray[np.float64]:
    """[step][target]: noise around 1."""
    spread = np.asarray([NOISE[target.kind] for target in TARGETS])
    return spread * np.random.default_rng(0).standard_normal((steps, len(TARGETS)))


def alerts(
    values: NDArray[np.float64],
    targets: Sequence[TrendTarget] = TARGETS,
    sizes: Mapping[int, int] = MappingProxyType({}),
) -> list[Alert]:
    """What a watch says of values [step][target], root mean squares; `sizes` by column, else 64."""
    watch, found = AlertWatch(), []
    for step, row in enumerate(values):
        table = np.zeros((len(STATISTICS), len(targets)), np.float32)
        size = [sizes.get(column, 64) for column in range(len(targets))] * (row != ABSENT)
        table[STATISTICS.index("norm")], table[STATISTICS.index("size")] = row * size**0.5, size
        found += watch.step(step, targets if step == 0 else [], table)
    return found


def said(found: list[Alert]) -> list[tuple[int, str, str]]:
    return [(alert.step, alert.kind, alert.target[1]) for alert in found]


def test_noise_is_silent() -> None:
    assert alerts(2 ** octaves(4000)) == []


def test_a_steady_kind_is_not_measured_by_a_noisy_one() -> None:
    """An eightfold output: 75 times the noise of its kind, but 2.3 times that of gradients."""
    values = 2 ** octaves()
    values[FAULT:, COLUMN["actv5"]] *= 8
    assert said(alerts(values)) == [(FAULT, "jump", "actv5")]


def test_one_loss_needs_less_than_one_of_many_gradients() -> None:
    """Six times its noise above its last 8 values: too much for one loss, not for a gradient."""
    values = octaves()
    for name in ("loss0", "grad7"):
        past = values[FAULT - 70 : FAULT, COLUMN[name]]
        noise = 1.4826 * np.median(np.abs(past - np.median(past)))
        values[FAULT, COLUMN[name]] = past[-8:].max() + 6 * noise
    found = alerts(2**values)
    assert said(found) == [(FAULT, "jump", "loss0")]
    assert found[0].count == 1


def test_what_fell_to_zero_gives_a_jump_behind_it_its_name() -> None:
    values = 2 ** octaves()
    values[FAULT:, COLUMN["actv5"]] = 0
    values[FAULT:, COLUMN["grad3"]] *= 2.0**20
    assert said(alerts(values)) == [(FAULT, "vanishes", "actv5")]


def test_what_falls_in_the_first_steps_is_being_learnt() -> None:
    """The gradient of a bias that one or two updates have put right."""
    for first, told in ((3, []), (30, [(32, "vanishes", "grad3")])):
        values = 0.1 * octaves()
        values[first:, COLUMN["grad3"]] -= 3
        assert said(alerts(2**values)) == told


def test_a_fall_alone_is_said_at_its_third_step() -> None:
    values = 2 ** octaves()
    values[FAULT : FAULT + 2, COLUMN["actv4"]] = 0.1
    values[FAULT + 20 :, COLUMN["actv5"]] = 0.1
    assert said(alerts(values)) == [(FAULT + 22, "vanishes", "actv5")]


def test_what_falls_beside_a_nan_is_no_alert_of_its_own() -> None:
    values = 2 ** octaves()
    values[FAULT, COLUMN["actv5"]] = 0.1
    values[FAULT, COLUMN["loss0"]] = np.nan
    assert said(alerts(values)) == [(FAULT, "not finite", "loss0")]


def swinging(steps: int = 200) -> NDArray[np.float64]:
    """Gradients swing together by what `NOISE` says, and each alone by a tenth of it."""
    chance = np.random.default_rng(1)
    values = octaves(steps)
    gradients = [COLUMN[f"grad{i}"] for i in range(COUNT["grad"])]
    together = NOISE["grad"] * chance.standard_normal((steps, 1))
    values[:, gradients] = together + 0.13 * chance.standard_normal((steps, len(gradients)))
    return values


def test_a_gradient_that_leaves_the_others_is_seen_in_a_common_swing() -> None:
    """32 times is less than four times the noise of the swing, and 38 times that of one of them."""
    values = swinging()
    values[FAULT, COLUMN["grad3"]] += 5
    (found,) = alerts(2**values)
    assert (found.step, found.kind, found.target, found.count) == (
        *(FAULT, "jump"),
        *(("grad", "grad3"), 1),
    )


def test_a_gradient_is_told_behind_a_batch_that_raised_all_of_them_as_far() -> None:
    values = 0.1 * octaves()
    values[FAULT - 4, [COLUMN[f"grad{i}"] for i in range(COUNT["grad"])]] += 3.9
    assert alerts(2**values) == []
    values[FAULT, COLUMN["grad3"]] += 4.6
    assert said(alerts(2**values)) == [(FAULT, "jump", "grad3")]


def test_one_batch_may_raise_one_gradient_and_all_of_them() -> None:
    values = swinging()
    values[FAULT, COLUMN["grad3"]] += 3
    values[FAULT + 20, [COLUMN[f"grad{i}"] for i in range(COUNT["grad"])]] += 3
    assert alerts(2**values) == []


def test_what_stays_raised_is_said_at_its_third_step() -> None:
    values = swinging()
    values[FAULT:, COLUMN["grad3"]] += 3
    (found,) = alerts(2**values)
    assert (found.step, found.target[1]) == (FAULT + 2, "grad3")


def test_what_stays_while_the_others_fall_back_does_not_drift() -> None:
    """One hard sample of a learnt loss raises all updates but one, and they fall for a window."""
    targets = [TrendTarget("loss", "loss"), *(TrendTarget("ratio", f"ratio{i}") for i in range(12))]
    steps = np.arange(400.0)
    values = 0.05 * np.random.default_rng(0).standard_normal((400, 13))
    values[:, 0] -= np.clip(0.05 * (steps - 20), 0, 6)
    values[200, 0] += 2.5
    values[:, 1:] -= 8
    raised = np.where(steps >= 200, np.clip(5 - 5 * (steps - 200) / 64, 0, 5), 0)
    values[:, [1, 2, 3, *range(5, 13)]] += raised[:, None]
    assert alerts(2**values, targets) == []
    values[:, 4] += np.clip(0.06 * (steps - 200), 0, 4)  # now it grows itself
    assert said(alerts(2**values, targets))[0][1:] == ("drift", "ratio3")


def test_a_gradient_that_is_not_measured_any_more_is_missing() -> None:
    values = 2 ** octaves()
    values[FAULT:, [COLUMN["grad3"], COLUMN["grad4"]]] = ABSENT
    values[5::7, COLUMN["grad9"]] = ABSENT  # an expert that is not always chosen
    (found,) = alerts(values)
    assert (found.kind, found.target, found.count) == ("missing", ("grad", "grad3"), 2)
    assert FAULT < found.step <= FAULT + 3


def test_one_hard_sample_of_a_learnt_loss_is_no_alert_unless_it_stays() -> None:
    values = 0.1 * octaves(300)
    loss = COLUMN["loss0"]
    values[:, loss] -= np.clip((np.arange(300) - 20) / 6, 0, 10)
    values[160, loss] += 7.5  # less than a quarter of what it began with
    assert said(alerts(2**values)) == []
    for raised, steps, told in ((7.5, 3, 252), (9, 1, 250)):
        changed = values.copy()
        changed[250 : 250 + steps, loss] += raised
        assert said(alerts(2**changed)) == [(told, "jump", "loss0")]


def test_an_update_that_its_weight_cannot_hold_is_no_signal() -> None:
    """A bias before batch norm: its gradient is rounding, few elements change by their last bit."""
    targets = [TrendTarget("ratio", f"ratio{i}", place=i) for i in range(6)]
    values = 2 ** (0.3 * np.random.default_rng(0).standard_normal((200, 6)))
    values[:, 0] *= 3.5e-10
    values[:, 1:] *= 1e-4
    values[FAULT : FAULT + 3, 0] *= 100
    assert alerts(values, targets) == []
    values[FAULT : FAULT + 3, 1] *= 1000
    assert said(alerts(values, targets)) == [(FAULT, "jump", "ratio1")]


def test_a_gradient_of_two_elements_passes_through_zero_and_one_of_many_does_not() -> None:
    values = 0.3 * octaves()
    column = COLUMN["grad3"]
    values[FAULT : FAULT + 4, column] -= 4.5
    for size, told in ((2, []), (64, [(FAULT + 2, "vanishes", "grad3")])):
        assert said(alerts(2**values, sizes={column: size})) == told


def test_what_one_hard_sample_of_a_learnt_loss_makes_of_gradients_is_no_alert_either() -> None:
    values = 0.1 * octaves(300)
    gradients = [COLUMN[f"grad{i}"] for i in range(COUNT["grad"])]
    values[:, COLUMN["loss0"]] -= np.clip((np.arange(300) - 20) / 6, 0, 10)
    values[250:253, gradients] += [[6], [4], [1]]
    assert said(alerts(2**values)) == [(250, "jump", "grad0")]
    values[250, COLUMN["loss0"]] += 2  # within its own noise
    assert said(alerts(2**values)) == []
    values[250:270, gradients[5]] += 4
    assert said(alerts(2**values)) == [(253, "jump", "grad5")]


def test_what_follows_where_an_alert_gave_a_new_level_is_no_alert_of_its_own() -> None:
    values = 0.1 * octaves(300)
    column = COLUMN["actv5"]
    for stays, steps in ((150, [FAULT]), (3, [FAULT, 200])):
        changed = values.copy()
        changed[FAULT : FAULT + stays, column] += 6
        changed[200:203, column] += 9
        assert [alert.step for alert in alerts(2**changed)] == steps


def signed_losses() -> dict[str, NDArray[np.float64]]:
    """Losses that fall as they should, below zero and through it."""
    steps, noise = np.arange(400), 0.02 * np.random.default_rng(1).standard_normal(400)
    return {
        "a likelihood that grows": -0.1 * 2 ** (steps / 25) * (1 + noise),
        "through zero once": 3 - steps / 50 + noise,
        "around zero": np.sin(steps / 9) + noise,
    }


@pytest.mark.parametrize("name", signed_losses())
def test_a_loss_below_zero_neither_drifts_nor_vanishes(name: str) -> None:
    values = signed_losses()[name][:, None]
    assert alerts(values, [TrendTarget("loss", "loss")], {0: 1}) == []


def test_a_loss_below_zero_leaps_and_breaks_as_any_other() -> None:
    values = signed_losses()["a likelihood that grows"][:200, None]
    values[FAULT] *= 30
    values[FAULT + 20] = np.nan
    assert said(alerts(values, [TrendTarget("loss", "loss")], {0: 1})) == [
        (FAULT, "jump", "loss"),
        (FAULT + 20, "not finite", "loss"),
    ]
