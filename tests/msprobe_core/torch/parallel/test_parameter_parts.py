"""Which elements of which parameter a tensor is that an optimizer updates."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel

from msprobe.pytorch import PrecisionDebugger
from msprobe_core.torch.parallel.parameter_parts import ParameterNames, Piece
from tests.rank_processes import run_ranks


def _model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))


def of(model: nn.Module, tensor: torch.Tensor) -> list[Piece]:
    (pieces,) = ParameterNames(model).pieces_of([tensor])
    return pieces


def test_a_parameter_of_the_model_is_all_of_itself() -> None:
    model = _model()
    assert of(model, model[0].weight) == [Piece("0.weight", 0, 0, 12, 12)]
    assert of(model, nn.Parameter(torch.zeros(2))) == []


def test_a_view_of_some_elements_is_a_share() -> None:
    model = _model()
    share = model[0].weight.detach().view(-1)[5:9]
    (piece,) = of(model, share)
    assert piece == Piece("0.weight", 0, 5, 4, 12)
    assert piece.is_share


def test_a_flat_buffer_has_the_parameters_that_are_views_of_it() -> None:
    model = _model()
    flat = torch.zeros(20)
    for start, parameter in ((1, model[0].weight), (13, model[0].bias)):
        with torch.no_grad():
            held = flat[start : start + parameter.numel()].view_as(parameter)
            parameter.data = held.copy_(parameter)
    pieces = of(model, flat)
    assert pieces == [Piece("0.weight", 1, 0, 12, 12), Piece("0.bias", 13, 0, 3, 3)]
    assert torch.equal(pieces[1].of(flat), model[0].bias)


def test_a_copy_in_single_precision_is_known_by_its_parameter() -> None:
    """As Megatron keeps them, the last elements of a parameter on the second of two ranks."""
    model = _model().to(torch.bfloat16)
    weight = model[0].weight
    share = weight.detach().view(-1)[7:].float()
    weight.main_param = share  # type: ignore[assignment]
    assert of(model, share) == [Piece("0.weight", 0, 7, 5, 12)]


def _train_sharded(folder: Path, views: bool, rank: int) -> None:
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 5))
    device = torch.device("cpu")
    model = FullyShardedDataParallel(
        inner, use_orig_params=views, device_id=device, process_group=dist.group.WORLD
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    debugger = PrecisionDebugger(dump_path=folder / "dump", level="mix", task="statistics")
    debugger.start(model)
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()


def _shares(folder: Path, views: bool) -> dict[str, list[list[int]]]:
    run_ranks(partial(_train_sharded, folder, views), 2, folder, "sharded")
    found: dict[str, list[list[int]]] = {}
    for path in sorted((folder / "dump").glob("step0/rank*/dump.json")):
        header = json.loads(path.read_text())
        assert header["parallel"]["axes"]["dp"]["size"] == 2
        (step,) = header["optimizer"].values()
        for name, record in step["parameters"].items():
            share = step["shares"].get(name)
            whole = record["shape"][0]
            found.setdefault(name, []).append(share["value"] if share else [0, whole, whole])
    return found


def test_shards_of_flat_parameters_have_the_names_of_the_model(tmp_path: Path) -> None:
    """35 elements in shards of 18 and 17: one parameter is cut, whichever way it is kept."""
    for views in (False, True):
        folder = tmp_path / str(views)
        folder.mkdir()
        found = _shares(folder, views)
        assert found.keys() == {"0.weight", "0.bias", "2.weight", "2.bias"}
        for places in found.values():
            ends = [0, *(offset + length for offset, length, _ in sorted(places))]
            assert [offset for offset, _, _ in sorted(places)] == ends[:-1]
            assert ends[-1] == places[0][2]
        assert len(found["2.weight"]) == 2


def test_many_shares_of_one_buffer_are_found_by_their_place_in_it() -> None:
    buffer, model = torch.arange(12.0), nn.Module()
    for index in range(4):
        parameter = nn.Parameter(buffer[3 * index : 3 * index + 3])
        model.register_parameter(f"w{index}", parameter)
    shares = [buffer[2:4], buffer[9:12], torch.zeros(3)]
    first, second, none = ParameterNames(model).pieces_of(shares)
    assert first == [Piece("w0", 0, 2, 1, 3), Piece("w1", 1, 0, 1, 3)]
    assert second == [Piece("w3", 0, 0, 3, 3)]
    assert none == []
