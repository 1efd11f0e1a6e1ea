"""Two gloo processes: the dump has both ranks, and training computes the same as without it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.msprobe_core.dump_reading import read_rank_dumps, tensors
from tests.msprobe_core.two_ranks import run_two_ranks

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch without torch.distributed"
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps of all kinds, written by one pair of processes."""
    folder = tmp_path_factory.mktemp("ranks")
    run_two_ranks(Path(__file__).with_name("distributed_program.py"), str(folder))
    return folder


@pytest.mark.parametrize("kind", ["ddp", "fsdp", "fsdp_tensor"])
def test_parallel_models(kind: str, out: Path) -> None:
    dumps = read_rank_dumps(out / kind)
    assert [f"{d.path.parent.name}/{d.path.name}" for d in dumps] == [
        "step0/rank0",
        "step0/rank1",
        "step1/rank0",
        "step1/rank1",
    ]
    prefix = "Module.module." if kind == "ddp" else "Module."
    for dump in dumps:
        assert not (dump.path / "dump_error_info.log").exists()
        for layer in ("first", "second"):
            names = [name for name in dump.names if name.startswith(f"{prefix}{layer}.")]
            assert any(".forward.0" in name for name in names)
            assert any(".backward.0" in name for name in names)
            assert any(".parameters_grad.0" in name for name in names), dump.names


def test_asynchronous_collectives_show_what_arrived(out: Path) -> None:
    for dump in read_rank_dumps(out / "async"):
        record = dump.data["Distributed.all_reduce.0.forward"]
        assert record["input_args"][0]["Max"] == 1.0
        assert record["output"][0]["Max"] == 2.0


def test_a_result_that_is_still_on_its_way_is_read_when_it_is_there(out: Path) -> None:
    for dump in read_rank_dumps(out / "async"):
        record = dump.data["Torch.mul.0.forward"]
        assert record["input_args"][0]["Max"] == 4.0
        assert record["output"][0]["Max"] == 8.0


def test_functional_collectives_are_recorded_at_risk_level_all(out: Path) -> None:
    for dump in read_rank_dumps(out / "async"):
        name = "Aten._c10d_functional.all_reduce.0.forward"
        assert name in dump.names
        assert dump.data["Aten._c10d_functional.wait_tensor.0.forward"]["output"][0]["Max"] == 4.0


def test_sharded_parameters_are_saved_and_torch_still_frees_them(out: Path) -> None:
    # That training went on is asserted where it ran: storage that anyone holds cannot be resized.
    for dump in read_rank_dumps(out / "fsdp_tensor"):
        saved = [record for entry in dump.data.values() for record in tensors(entry)]
        assert saved
        for record in saved:
            if record["Norm"] is None:  # what a collective is about to fill
                assert record["unwritten"]
                continue
            file = dump.path / "dump_tensor_data" / record["data_name"]
            assert list(torch.load(file).shape) == record["shape"]


@pytest.mark.parametrize("kind", ["fsdp", "fsdp_tensor"])
def test_gathered_parameters_are_known_in_every_step(kind: str, out: Path) -> None:
    for dump in read_rank_dumps(out / kind):
        module = dump.data["Module.first.FSDPLinear.forward.0"]
        for record in tensors(module["parameters"]):
            assert record["Norm"] > 0
        for record in tensors(dump.data["Functional.linear.0.forward"]["input_args"]):
            assert record["Norm"] > 0


@pytest.mark.parametrize("kind", ["ddp", "fsdp", "fsdp_tensor", "rowwise"])
def test_collectives_of_a_backward_pass_are_not_recomputed(kind: str, out: Path) -> None:
    for dump in read_rank_dumps(out / kind):
        assert "recomputed" not in dump.head
        names = dump.names
        begun = min(i for i, name in enumerate(names) if ".backward." in name)
        late = [name for name in names[begun:] if "Distributed." in name]
        assert late or not kind.startswith("fsdp"), names


def test_the_collectives_of_tensor_parallelism_are_recorded(out: Path) -> None:
    sides = read_rank_dumps(out / "rowwise")[:2]
    entries = [dump.data["Distributed.all_reduce.0.forward"] for dump in sides]
    for dump, entry in zip(sides, entries, strict=True):
        assert entry["input_kwargs"]["group"]["group_ranks"] == [0, 1]
        assert "Distributed.all_reduce.0.forward" in dump.construct
        reduced = dump.data["Module.second.Linear.forward.0"]["output"][0]
        assert entry["output"][0]["Norm"] == reduced["Norm"]
    # Each rank holds a part of the sum, so the means of the parts add up to that of the whole.
    parts = [entry["input_args"][0]["Mean"] for entry in entries]
    for entry in entries:
        assert entry["output"][0]["Mean"] == pytest.approx(sum(parts), rel=1e-5)


def test_unreduced_outputs_of_rowwise_layers_say_so(out: Path) -> None:
    for dump in read_rank_dumps(out / "rowwise"):
        partial = [
            name
            for name, entry in dump.data.items()
            for record in tensors(entry.get("output", []))
            if record.get("placements") == ["P"]
        ]
        assert any(name.startswith("Functional.linear.") for name in partial), dump.names
