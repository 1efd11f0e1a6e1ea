"""Further fields of the first monitor, against what mindstudio-probe 26.2.0 wrote of this run."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed
from torch.nn import functional as F

from msprobe.core.monitor import anomaly_processor
from msprobe.pytorch import TrainerMon
from msprobe_core.errors import ConfigError
from tests.msprobe.pytorch.test_monitor_tables import Net, close, rows_of

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "monitor-26.2.0" / "v1_fields"
BASE = {"targets": {}, "format": "csv", "ops": ["min", "max", "mean", "norm"], "ndigits": 8}
RULES = [
    {"rule_name": "AnomalyTurbulence", "args": {"threshold": 0.5}},
    {"rule_name": "AnomalyNan", "args": {"threshold": 1e10}},
]
pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook is firing")


_CURRENT = re.compile(r"current value (\S+),")


class Training:
    """A training that goes on step by step, monitored by a configuration."""

    def __init__(self, place: Path, config: dict[str, object]) -> None:
        self.config = place / "config.json"
        self.config.write_text(json.dumps({**BASE, **config}))
        self.out = place / "out"
        torch.manual_seed(1)
        self.net = Net()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-2)
        self.monitor = TrainerMon(self.config)
        self.monitor.set_monitor(self.net, self.optimizer, grad_acc_steps=2)

    def step(self, *factors: float) -> None:
        for factor in factors or (1.0, 1.0):
            ids, wanted = torch.randint(0, 16, (2, 4)), torch.randint(0, 16, (2, 4))
            loss = F.cross_entropy(self.net(ids).reshape(-1, 16), wanted.reshape(-1)) / 2
            (loss * factor).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    @property
    def folders(self) -> list[Path]:
        return sorted(self.out.glob("*-rank0-*"))

    def table(self, name: str) -> list[list[str]]:
        (folder,) = self.folders
        return rows_of(folder / name)


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(tmp_path / "out"))
    begun: list[Training] = []

    def begin(**config: object) -> Training:
        begun.append(Training(tmp_path, config))
        return begun[-1]

    original = distributed.all_reduce
    yield begin
    for training in reversed(begun):
        training.monitor.close()
    assert distributed.all_reduce is original


def test_gradients_of_every_micro_batch(train: Any) -> None:
    training = train(wg_distribution=True, monitor_mbs_grad=True)
    training.step()
    training.step()
    own, theirs = (
        training.table("grad_unreduced_1-1.csv"),
        rows_of(SAMPLES / "grad_unreduced_1-1.csv"),
    )
    assert [row[:4] + row[-2:] for row in own] == [row[:4] + row[-2:] for row in theirs]
    assert all(close(a[4:-2], b[4:-2]) for a, b in zip(own[1:], theirs[1:], strict=True))


def test_how_much_gradient_and_momentum_agree(train: Any) -> None:
    training = train(mg_direction=True)
    training.step()
    training.step()
    assert {row[3] for row in training.table("other_0-0.csv")[1:]} == {"1.0"}
    own, theirs = training.table("other_1-1.csv"), rows_of(SAMPLES / "other_1-1.csv")
    assert [row[:3] + row[-2:] for row in own] == [row[:3] + row[-2:] for row in theirs]
    # Rows of an embedding that no token has met are 0 in both; only there the two count otherwise.
    for one, other in zip(own[1:], theirs[1:], strict=True):
        assert one == other or one[1] == "emb.weight"


def test_the_structure_is_written_and_the_training_goes_on(train: Any) -> None:
    training = train(print_struct=True)
    training.step()
    written = training.out / "module_struct" / "rank0" / "module_struct.json"
    assert written.read_bytes() == (SAMPLES / "module_struct.json").read_bytes()
    written.unlink()
    training.step()
    assert not written.exists()


def test_each_module_is_told_with_its_callers(train: Any) -> None:
    training = train(xy_distribution=True, stack_info=True)
    training.step()
    header, *rows = training.table("stack_info.csv")
    assert header == ["module_name", "stack_info"]
    struct = json.loads((SAMPLES / "module_struct.json").read_text())
    assert [name for name, _ in rows] == list(struct)
    first = rows[0][1].splitlines()
    assert first[0].startswith("File ") and first[0].endswith("in forward, ")
    assert first[1].strip() == "x = self.emb(ids)"
    assert "loss = F.cross_entropy(self.net(ids)" in rows[-1][1]


def told_of(alerts: Iterable[dict[str, Any]]) -> set[tuple[str, int, str]]:
    """Alerts but for those of rounding: the gradient of logits has a mean of 0, and what is left of
    it in float32, below an ulp of 50 in the step that is so many times as large, is another number
    with vectors of another width.
    """
    return {
        (facts["tag_name"], facts["step"], facts["message"].split(" reports")[0])
        for facts in alerts
        if not abs(float(_CURRENT.findall(facts["message"])[0])) < 50 * 2**-23
    }


def test_alerts_are_the_former_ones_without_gradients_that_do_not_exist(
    train: Any,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    training = train(
        ops=["norm", "mean", "nans"],
        wg_distribution=True,
        xy_distribution=True,
        alert={"rules": RULES, "dump": True},
    )
    for factors in ((1, 1), (1, 1), (1, 1), (50, 50), (1, float("nan")), (1, 1)):
        training.step(*factors)
    detected = training.out / "anomaly_detected"
    own = json.loads((detected / "rank0" / "anomaly.json").read_text())
    theirs = json.loads(gzip.decompress((SAMPLES / "anomaly.json.gz").read_bytes()))
    absent = ("0:.input", "0:emb.input")
    wanted = told_of(
        facts
        for facts in theirs.values()
        if not (facts["tag_name"].startswith(absent) and "actv_grad" in facts["tag_name"])
    )
    found = told_of(own.values())
    assert found == wanted
    shared = [key for key in own if key in theirs]
    assert len(shared) > 20
    assert all(own[key].keys() == theirs[key].keys() for key in shared)
    assert "Rule AnomalyTurbulence reports anomaly signal" in capfd.readouterr().err

    words = ["-d", str(detected), "-o", str(tmp_path / "first"), "-k", "3", "-s", "[3, 4]"]
    assert anomaly_processor.main(words) == 0
    said = capfd.readouterr().out
    assert said.count("at step 3,") == 3
    first = json.loads((tmp_path / "first" / "anomaly_analyse.json").read_text())
    assert [own[key] for key in first] == list(first.values())


def test_a_value_that_is_finite_again_is_judged_as_before(train: Any) -> None:
    training = train(ops=["norm"], wg_distribution=True, alert={"rules": RULES, "dump": True})
    state = {name: each.clone() for name, each in training.net.state_dict().items()}
    for factor in (1.0, 1.0, float("nan"), 1.0, 100.0):
        training.net.load_state_dict(state)
        training.step(factor, factor)
    detected = training.out / "anomaly_detected" / "rank0" / "anomaly.json"
    steps = {facts["step"] for facts in json.loads(detected.read_text()).values()}
    assert {2, 4} <= steps


def test_the_earliest_come_first_along_the_pipeline(tmp_path: Path) -> None:
    def hit(kind: str, stage: int, call: int, step: int = 1) -> dict[str, object]:
        tag = f"0:layer{stage}/rank{stage}/{kind}"
        return {"rank": stage, "step": step, "pp_stage": stage, "call_id": call, "tag_name": tag}

    hits = [
        hit("actv", 1, 2, step=0),
        hit("actv", 0, 7),
        hit("actv", 1, 3),
        hit("post_grad", 1, 1),
        hit("actv_grad", 1, 5),
        hit("acc_grad", 0, 1),
        hit("exp_avg", 1, 0),
    ]
    for rank in (0, 1):
        folder = tmp_path / f"rank{rank}"
        folder.mkdir()
        mine = {str(i): each for i, each in enumerate(hits[::-1]) if each["rank"] == rank}
        (folder / "anomaly.json").write_text(json.dumps(mine))
    loaded = anomaly_processor.AnomalyDataLoader(tmp_path).get_anomalies_from_jsons()
    sorted_hits = anomaly_processor.AnomalyAnalyse().get_range_top_k(99, [], loaded)
    assert [each.tag_name for each in sorted_hits] == [each["tag_name"] for each in hits]


def test_the_processor_says_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert anomaly_processor.main(["-d", str(tmp_path)]) == 1
    assert "no rank*/anomaly.json is here" in capsys.readouterr().err
    (tmp_path / "rank0").mkdir()
    (tmp_path / "rank0" / "anomaly.json").write_text('{"a": {"odd": 1}}')
    assert anomaly_processor.main(["-d", str(tmp_path)]) == 1
    assert "odd" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        anomaly_processor.main(["-d", str(tmp_path), "-s", "3"])


def test_a_second_start_goes_on_in_the_folder(train: Any) -> None:
    training = train(param_distribution=True, step_count_per_record=4)
    for _ in range(4):
        training.step()
    (folder,) = training.folders
    time = folder.name.partition("-rank")[0]
    again = train(param_distribution=True, step_count_per_record=4, append_output=[time, time])
    for _ in range(4):
        again.step()
    assert again.folders == [folder]
    rows = again.table("param_origin_0-3.csv")
    assert [row[0] for row in rows].count("vpp_stage") == 1
    assert [row[2] for row in rows[1:]] == [
        str(step) for step in (*range(4), *range(4)) for _ in range(11)
    ]


def test_a_monitor_is_switched_on_and_off_while_the_training_runs(
    train: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DYNAMIC_MONITOR", "True")
    training = train(param_distribution=True, collect_times=2, dynamic_on=False)
    training.step()
    assert training.folders == []
    config = json.loads(training.config.read_text())
    training.config.write_text(json.dumps({**config, "dynamic_on": True}))
    for _ in range(5):
        training.step()
    (folder,) = training.folders
    steps = sorted(path.name for path in folder.glob("param_updated_*"))
    assert steps == ["param_updated_2-2.csv", "param_updated_3-3.csv"]
    assert json.loads(training.config.read_text())["dynamic_on"] is False


@pytest.fixture
def group() -> Iterator[None]:
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def test_collectives_have_a_row_an_argument(
    train: Any,
    group: None,
    capfd: pytest.CaptureFixture[str],
) -> None:
    training = train(ops=["norm"], cc_distribution={"enable": True, "cc_pre_hook": True})
    distributed.all_reduce(torch.full((4,), 3.0))
    distributed.all_gather([torch.empty(4)], torch.full((4,), 2.0))
    distributed.all_reduce(torch.full((4,), 0.5), async_op=True).wait()
    training.step()
    rows = [row[:4] for row in training.table("other_0-0.csv")]
    assert rows == [
        ["vpp_stage", "name", "step", "norm"],
        *(["0", "all_reduce.pre.0", "0", norm] for norm in ("6.0", "1.0")),
        *(["0", "all_reduce.post.0", "0", norm] for norm in ("6.0", "1.0")),
        ["0", "all_gather.pre.1", "0", "4.0"],
        ["0", "all_gather.post.0.0", "0", "4.0"],
        ["0", "all_gather.post.1", "0", "4.0"],
    ]


def test_collectives_of_a_line_and_who_calls(
    train: Any,
    group: None,
    capfd: pytest.CaptureFixture[str],
) -> None:
    training = train(
        ops=["norm"], cc_distribution={"enable": True, "cc_codeline": ["nowhere.py\\[1\\]"]}
    )
    distributed.all_reduce(torch.ones(4))
    training.step()
    assert not any(folder.glob("other*") for folder in training.folders)
    log_only = train(cc_distribution={"enable": True, "cc_log_only": True})
    distributed.all_reduce(torch.ones(4))
    log_only.step()
    assert "test_monitor_fields.py[" in capfd.readouterr().err.split("who calls them")[1]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"alert": {"rules": [{"rule_name": "AnomalyNam"}]}}, "did you mean 'AnomalyNan'"),
        ({"alert": {"rules": [{"rule_name": "AnomalyTurbulence"}]}}, "has no threshold"),
        ({"cc_distribution": {"enabled": True}}, "did you mean 'enable'"),
        ({"cc_distribution": {"cc_codeline": ["("]}}, "cc_codeline"),
    ],
)
def test_wrong_parts_of_fields_are_answered(
    train: Any,
    config: dict[str, object],
    said: str,
) -> None:
    with pytest.raises(ConfigError) as raised:
        train(**config)
    assert said in str(raised.value)


def test_numbers_of_steps_that_are_too_small_are_left_at_their_default(
    train: Any,
    capfd: pytest.CaptureFixture[str],
) -> None:
    training = train(param_distribution=True, start_step=-1, step_interval=0)
    training.step()
    assert len(training.table("param_origin_0-0.csv")) == 12
    said = capfd.readouterr().err
    assert "start_step is -1" in said and "step_interval is 0" in said
