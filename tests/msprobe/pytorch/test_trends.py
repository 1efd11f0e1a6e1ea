"""What `Trends` writes against torch's own tensors in float64, and what it does to the training."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from builder.series.run import TrendRun
from msprobe.pytorch.trends import Trends
from msprobe_core.errors import ConfigError
from tests.msprobe.pytorch.trend_models import (
    Net,
    batches,
    loss_of,
    make,
    train,
    train_with_a_leap,
)

CLOSE = 2e-6
"""Relative: float32 sums of at most 131,072 elements, stored as float32."""


class Oracle:
    """Norms of the same tensors in float64, by hooks and loops of its own."""

    def __init__(self, net: Net, optimizer: torch.optim.Optimizer) -> None:
        self.found: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._squares: dict[tuple[str, str], float] = defaultdict(float)
        self.net, self.optimizer = net, optimizer
        self.before = {n: p.detach().double().clone() for n, p in net.named_parameters()}
        for name, module in net.named_modules():
            if name and not isinstance(module, nn.ModuleList):
                module.register_forward_hook(
                    lambda _m, _a, output, name=name: self._output(name, output)
                )
        optimizer.register_step_pre_hook(lambda *_: self._gradients())

    def _output(self, name: str, output: torch.Tensor) -> None:
        self._add("actv", name, output)
        output.register_hook(lambda gradient: self._add("actv_grad", name, gradient))

    def _add(self, kind: str, name: str, tensor: torch.Tensor) -> None:
        self._squares[kind, name] += tensor.detach().double().square().sum().item()

    def _gradients(self) -> None:
        for name, parameter in self.net.named_parameters():
            self._add("grad", name, parameter.grad)

    def end_step(self, loss: torch.Tensor) -> None:
        for key, squares in self._squares.items():
            self.found[key].append(squares**0.5)
        self._squares.clear()
        self.found["loss", "loss"].append(loss.item())
        for name, parameter in self.net.named_parameters():
            now = parameter.detach().double().clone()
            self.found["param", name].append(now.norm().item())
            ratio = (now - self.before[name]).norm() / now.norm()
            self.found["ratio", name].append(ratio.item())
            self.before[name] = now
            state = self.optimizer.state[parameter]
            for kind in ("exp_avg", "exp_avg_sq"):
                self.found[kind, name].append(state[kind].double().norm().item())


@pytest.mark.parametrize("micro", [1, 2])
def test_every_number_is_that_of_the_tensors(tmp_path: Path, micro: int) -> None:
    net, optimizer = make()
    oracle = Oracle(net, optimizer)
    with Trends(tmp_path, net, optimizer, activations="all") as trends:

        def after(loss: torch.Tensor) -> None:
            trends.step(loss=loss)
            oracle.end_step(loss)

        train(net, optimizer, batches(12), after, micro)
    run = TrendRun(tmp_path)
    own = {"seconds", "lr", "grad_norm", "setting"}
    assert {t.key for t in run.targets if t.kind not in own} == set(oracle.found)
    for key, wanted in oracle.found.items():
        steps, found = run.line(key)
        assert steps.tolist() == list(range(12))
        # The ratio is taken from few float32 elements: here all of them, differences of rounding.
        assert found.tolist() == pytest.approx(wanted, rel=1e-4 if key[0] == "ratio" else CLOSE)


def test_the_training_computes_the_same_bits(tmp_path: Path) -> None:
    plain, optimizer = make()
    train(plain, optimizer, batches(10), clip=0.5)
    watched, optimizer = make()
    with Trends(tmp_path, watched, optimizer, activations="all", keep=4) as trends:
        train(watched, optimizer, batches(10), trends.step, clip=0.5)
    for first, second in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(first, second)


def test_all_statistics_of_a_tensor(tmp_path: Path) -> None:
    net, optimizer = make()
    with torch.no_grad():
        net.head.weight[:3] = 0
    with Trends(tmp_path, net, optimizer, zeros=True, nonfinite=True, every={"ratio": 0}) as trends:
        optimizer.param_groups[0]["lr"] = 0.0
        train(net, optimizer, batches(1), trends.step)
    weight = net.head.weight.detach().double()
    run = TrendRun(tmp_path)
    wanted = {
        "norm": weight.norm(), "mean": weight.mean(), "min": weight.min(), "max": weight.max(),
        "nans": 0, "infs": 0, "zeros": (weight == 0).sum(), "size": weight.numel(),
    }  # fmt: skip
    for statistic, value in wanted.items():
        found = run.line(("param", "head.weight"), statistic)[1].item()
        assert found == pytest.approx(float(value), rel=1e-5, abs=1e-9), statistic
    assert not [target for target in run.targets if target.kind == "ratio"]


def test_gradients_are_those_before_clipping(tmp_path: Path) -> None:
    bare, optimizer = make()
    loss_of(bare, batches(1)[0]).backward()
    total = nn.utils.get_total_norm([p.grad for p in bare.parameters()]).item()
    net, optimizer = make()
    with Trends(tmp_path, net, optimizer) as trends:
        train(net, optimizer, batches(1), trends.step, clip=total / 4)
    run = TrendRun(tmp_path)
    assert run.line(("grad_norm", "grad_norm"))[1].item() == pytest.approx(total, rel=1e-5)
    assert run.line(("clip", "clip"))[1].item() == pytest.approx(0.25, rel=1e-4)
    gradient = bare.head.weight.grad.norm().item()
    assert run.line(("grad", "head.weight"))[1].item() == pytest.approx(gradient, rel=1e-5)


def test_a_step_ends_with_the_next_one_where_nobody_says_so(tmp_path: Path) -> None:
    net, optimizer = make()
    with Trends(tmp_path, net, optimizer):
        train(net, optimizer, batches(5))
    run = TrendRun(tmp_path)
    for key in [("actv", "layers.0"), ("grad", "head.bias"), ("param", "head.bias")]:
        assert run.line(key)[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("told", [False, True])
def test_the_loss_that_a_model_hands_out_is_that_of_its_whole_step(
    tmp_path: Path, told: bool
) -> None:
    """Of a Trainer that divides each micro-batch by the items of its step, or by its own."""

    class WithLoss(Net):
        def forward(  # type: ignore[override]
            self, ids: torch.Tensor, num_items_in_batch: int | None = None
        ) -> dict[str, torch.Tensor]:
            logits = super().forward(ids).flatten(0, 1)
            total = nn.functional.cross_entropy(logits, ids.flatten(), reduction="sum")
            return {"loss": total / (num_items_in_batch or ids.numel())}

    torch.manual_seed(0)
    net = WithLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    wanted = []
    with Trends(tmp_path, net, optimizer, activations=None):
        for ids in batches(3):
            with torch.no_grad():
                wanted.append(net.eval()(ids)["loss"].item())
            net.train()
            for part in ids.chunk(2):
                loss = net(part, num_items_in_batch=ids.numel() if told else None)["loss"]
                (loss if told else loss / 2).backward()
            optimizer.step()
            optimizer.zero_grad()
    run = TrendRun(tmp_path)
    assert run.line(("loss", "output.loss"))[1].tolist() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("as_tensor", [True, False])
def test_a_loss_and_what_else_has_a_name_keep_their_sign(tmp_path: Path, as_tensor: bool) -> None:
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    told = [-3.5, 0.25, -0.0, float("-inf"), 2.0]
    with Trends(tmp_path, net, optimizer, alerts=False) as trends:
        for value in told:
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            trends.step(loss=torch.tensor(value) if as_tensor else value, reward=-value)
    run = TrendRun(tmp_path)
    for statistic in ("norm", "mean", "min", "max"):
        loss, reward = (run.line((name, name), statistic)[1] for name in ("loss", "reward"))
        # The reader's word for what is not finite, since -inf says that nothing was measured.
        assert loss.tolist() == pytest.approx([-3.5, 0.25, 0, float("nan"), 2], nan_ok=True)
        assert reward.tolist() == pytest.approx([3.5, -0.25, 0, float("inf"), -2])
    [before] = [run.line(("grad", "bias"))[1].tolist()]
    assert all(value > 0 for value in before), "a tensor of one element has a norm"


def test_two_optimizers_make_one_step(tmp_path: Path) -> None:
    net, _ = make()
    body = torch.optim.SGD(list(net.layers.parameters()), lr=0.1, momentum=0.9)
    head = torch.optim.SGD(net.head.parameters(), lr=0.1)
    with Trends(tmp_path, net, body) as trends:
        trends.add(head)
        for ids in batches(4):
            loss_of(net, ids).backward()
            body.step()
            head.step()
            net.zero_grad()
            trends.step()
    run = TrendRun(tmp_path)
    for name in ("layers.0.fc1.weight", "head.weight"):
        assert run.line(("grad", name))[0].tolist() == [0, 1, 2, 3]
    assert run.line(("exp_avg", "layers.0.fc1.weight"))[0].tolist() == [0, 1, 2, 3]
    # No optimizer has the embedding.
    assert {kind for kind, name in (t.key for t in run.targets) if name == "emb.weight"} == set()


def test_what_an_optimizer_is_given_later_is_watched_from_then_on(tmp_path: Path) -> None:
    net, _ = make()
    optimizer = torch.optim.SGD(list(net.layers.parameters()), lr=0.1)
    with Trends(tmp_path, net, optimizer) as trends:
        for step, ids in enumerate(batches(4)):
            loss_of(net, ids).backward()
            if step == 2:
                optimizer.add_param_group({"params": list(net.head.parameters())})
            optimizer.step()
            net.zero_grad()
            trends.step()
    run = TrendRun(tmp_path)
    steps, ratios = run.line(("ratio", "head.weight"))
    assert steps.tolist() == [2, 3]
    assert (ratios > 0).all()
    assert run.line(("ratio", "layers.0.fc1.weight"))[0].tolist() == [0, 1, 2, 3]


def test_what_is_not_due_is_not_measured(tmp_path: Path) -> None:
    net, optimizer = make()
    every = {"param": 3, "actv_all": 2, "exp_avg": 0}
    with Trends(tmp_path, net, optimizer, every=every) as trends:
        train(net, optimizer, batches(7), trends.step)
    run = TrendRun(tmp_path)
    assert run.line(("param", "head.bias"))[0].tolist() == [0, 3, 6]
    assert run.line(("actv", "layers.0.fc1"))[0].tolist() == [0, 2, 4, 6]
    assert run.line(("actv", "layers.0"))[0].tolist() == list(range(7))
    assert not run.ranks_of(("exp_avg", "head.bias"))


class Checkpointed(Net):
    reentrant = False

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        result: torch.Tensor = self.head(x)
        return result


class CheckpointedAsOfOld(Checkpointed):
    reentrant = True


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("kind", [Net, Checkpointed, CheckpointedAsOfOld])
def test_evaluation_and_recomputation_are_not_measured(tmp_path: Path, kind: type[Net]) -> None:
    """Evaluation: in its mode, or without gradients before a step is told of."""
    found: dict[str, list[list[float]]] = {}
    for name, made in (("plain", Net), ("evaluated", kind)):
        torch.manual_seed(0)
        net = made()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with Trends(tmp_path / name, net, optimizer, activations="all") as trends:

            def ended(
                _: torch.Tensor, trends: Trends = trends, net: Net = net, name: str = name
            ) -> None:
                for guard in (torch.no_grad, torch.inference_mode) if name != "plain" else ():
                    with guard():
                        net(next(iter(batches(1))))
                trends.step()

            for ids in batches(3):
                net.eval()
                with torch.no_grad():
                    net(ids)
                net.train()
                train(net, optimizer, [ids], ended)
        run = TrendRun(tmp_path / name)
        assert not run.ranks_of(("skipped", "skipped"))
        keys = [(kind, f"layers.1{end}") for kind in ("actv", "actv_grad") for end in ("", ".fc1")]
        found[name] = [run.line(key)[1].tolist() for key in keys]
    assert found["evaluated"] == found["plain"]


def test_a_skipped_step_is_a_step(tmp_path: Path) -> None:
    net, optimizer = make()
    with Trends(tmp_path, net, optimizer) as trends:
        for number, ids in enumerate(batches(4)):
            loss = loss_of(net, ids)
            loss.backward()
            if number != 2:
                optimizer.step()
            optimizer.zero_grad()
            trends.step(loss=loss)
    run = TrendRun(tmp_path)
    assert run.line(("skipped", "skipped"))[0].tolist() == [2]
    assert run.line(("loss", "loss"))[0].tolist() == [0, 1, 2, 3]
    assert run.line(("param", "head.bias"))[0].tolist() == [0, 1, 3]


def test_a_failing_monitor_leaves_the_training_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    plain, optimizer = make()
    train(plain, optimizer, batches(6))
    net, optimizer = make()
    with Trends(tmp_path, net, optimizer) as trends:
        monkeypatch.setattr(trends._recorder._writer, "write", _full_disk)
        train(net, optimizer, batches(6), trends.step)
    assert "No space left" in capfd.readouterr().err
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), net.parameters(), strict=True))


def _full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_formats_of_tensors(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).to(torch.bfloat16)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    with Trends(tmp_path, net, optimizer) as trends:
        net(torch.ones(4, 8, dtype=torch.bfloat16)).float().sum().backward()
        optimizer.step()
        trends.step()
    found = TrendRun(tmp_path).line(("param", "0.weight"))[1].item()
    assert found == pytest.approx(net[0].weight.double().norm().item(), rel=CLOSE)


def test_huge_and_tiny_values_are_neither_infinite_nor_zero(tmp_path: Path) -> None:
    net = nn.Linear(2, 2, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    with Trends(tmp_path, net, optimizer, activations=None) as trends:
        for value in (1e30, 1e-30):
            nn.init.constant_(net.weight, value)
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            trends.step()
    found = TrendRun(tmp_path).line(("param", "weight"))[1]
    assert found.tolist() == pytest.approx([1e30, 1e-30])


def test_a_restart_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    net, optimizer = make()
    for start in (0, 4):
        with Trends(tmp_path, net, optimizer, start_iteration=start) as trends:
            train(net, optimizer, batches(6), trends.step)
    assert TrendRun(tmp_path).line(("loss", "loss"))[0].tolist() == list(range(10))


def test_hooks_are_gone_after_close(tmp_path: Path) -> None:
    net, optimizer = make()
    scale = nn.utils.clip_grad._clip_grads_with_norm_
    Trends(tmp_path, net, optimizer, activations="all").close()
    assert nn.utils.clip_grad._clip_grads_with_norm_ is scale
    assert not any(module._forward_hooks for module in net.modules())
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"activations": ["layers.0.fc3"]}, "did you mean 'layers.0.fc"),
        ({"every": {"params": 2}}, "did you mean 'param'"),
        ({"every": {"param": -1}}, "0 or more"),
        ({"keep": "5"}, "keep is '5'"),
        ({"on_alert": "mail"}, "on_alert is 'mail'"),
    ],
)
def test_wrong_settings_name_the_nearest(
    tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    net, optimizer = make()
    with pytest.raises(ConfigError, match=said):
        Trends(tmp_path, net, optimizer, **settings)


def test_an_alert_writes_what_led_up_to_it(tmp_path: Path) -> None:
    net, optimizer = make()
    with Trends(tmp_path, net, optimizer, activations=None, keep=5) as trends:
        train_with_a_leap(net, optimizer, 20, (15, 100), trends.step)
    run = TrendRun(tmp_path)
    assert [(a.step, a.kind, a.target) for a in run.alerts()] == [(15, "jump", ("loss", "loss"))]
    assert not run.ranks_of(("actv", "layers.1.fc1"))
    flight = TrendRun(tmp_path / "flight-15")
    assert flight.line(("actv", "layers.1.fc1"))[0].tolist() == [11, 12, 13, 14, 15]
    assert [(a.step, a.target) for a in flight.alerts()] == [(15, ("loss", "loss"))]


def test_an_alert_records_the_next_step_whole(tmp_path: Path) -> None:
    net, optimizer = make()
    with Trends(tmp_path, net, optimizer, on_alert="dump") as trends:
        train_with_a_leap(net, optimizer, 20, (15, 100), trends.step)
    assert [path.name for path in (tmp_path / "dumps").iterdir()] == ["step16"]
    dumps = list((tmp_path / "dumps").rglob("dump.json"))
    assert len(dumps) == 1
    assert "Module.layers.0.fc1" in dumps[0].read_text()


def test_an_alert_calls_a_function_before_the_next_step(tmp_path: Path) -> None:
    net, optimizer = make()
    seen: list[tuple[int, int]] = []
    numbers = iter(range(20))
    with Trends(
        tmp_path, net, optimizer, on_alert=lambda alert: seen.append((alert.step, current[0]))
    ) as trends:
        current = [0]
        for ids in batches(20):
            current[0] = next(numbers)
            loss = loss_of(net, ids) * (100 if current[0] == 15 else 1)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            trends.step(loss=loss)
    assert seen == [(15, 15)]
