"""What cannot be compared: one line that says what to do, and no code of a file is run."""

from __future__ import annotations

import argparse
import enum
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from msprobe.checkpoints import compare_checkpoints
from msprobe.checkpoints.opening import open_checkpoint
from msprobe.checkpoints.pickled_file import load
from msprobe.errors import CheckError
from tests.msprobe.checkpoints.saved import (
    Cut,
    Sizes,
    hugging_face,
    save_dcp,
    save_megatron,
    save_safetensors,
    save_state_dict,
)

SMALL = Sizes(layers=2)


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    return hugging_face(SMALL)


def test_missing_path_and_empty_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="does not exist; give a checkpoint"):
        open_checkpoint(tmp_path / "none")
    with pytest.raises(CheckError, match="holds no checkpoint; expected mp_rank_"):
        open_checkpoint(tmp_path)
    (tmp_path / "notes.md").write_text("x")
    with pytest.raises(CheckError, match="no checkpoint by its name"):
        open_checkpoint(tmp_path / "notes.md")


def test_missing_rank_of_megatron_is_named(
    tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    folder = save_megatron(tmp_path / "m", weights, SMALL, Cut(tensor=2, pipeline=2))
    shutil.rmtree(folder / "iter_0000010" / "mp_rank_01_001")
    with pytest.raises(CheckError, match="tensor rank 1, pipeline rank 1"):
        open_checkpoint(folder)


def test_iteration_that_the_tracker_names_must_exist(
    tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    folder = save_megatron(tmp_path / "m", weights, SMALL, Cut())
    (folder / "latest_checkpointed_iteration.txt").write_text("20")
    with pytest.raises(CheckError, match="iter_0000020"):
        open_checkpoint(folder)
    assert open_checkpoint(folder / "iter_0000010").layout == "megatron"


def test_missing_shard_is_named(tmp_path: Path, weights: dict[str, torch.Tensor]) -> None:
    folder = save_safetensors(tmp_path / "s", weights)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckError, match="model-00002-of-00002"):
        open_checkpoint(folder)


def test_missing_file_of_a_distributed_checkpoint_is_named(
    tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    folder = save_dcp(tmp_path / "d", weights)
    next(folder.glob("*.distcp")).unlink()
    with pytest.raises(CheckError, match=r"distcp: named by \.metadata and missing"):
        open_checkpoint(folder)


@pytest.mark.parametrize("name", ["a.safetensors", "a.pt"])
def test_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 nothing of use")
    with pytest.raises(CheckError, match=name):
        open_checkpoint(tmp_path / name)


def test_file_without_tensors_is_refused(tmp_path: Path) -> None:
    torch.save({"epoch": 3}, tmp_path / "a.pt")
    with pytest.raises(CheckError, match="no tensor in it"):
        open_checkpoint(tmp_path / "a.pt")


class Trap:
    """Would make a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.mkdir, (str(self.target),))


def test_code_in_a_pickle_is_not_run(tmp_path: Path, weights: dict[str, torch.Tensor]) -> None:
    trap = Trap(tmp_path / "trapped")
    file = save_state_dict(tmp_path / "a.pt", weights)
    torch.save({"model": weights, "trap": trap}, file)
    with pytest.raises(CheckError, match="weights_only"):
        open_checkpoint(file)
    folder = save_dcp(tmp_path / "d", weights)
    (folder / ".metadata").write_bytes(pickle.dumps(trap))
    with pytest.raises(CheckError, match="mkdir, which no index needs"):
        open_checkpoint(folder)
    assert not (tmp_path / "trapped").exists()


class ModelType(enum.Enum):
    ENCODER = 1


class Recipe:
    def __init__(self) -> None:
        self.margin = 0


def test_classes_of_absent_libraries_are_stood_in_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = argparse.Namespace(model_type=ModelType.ENCODER, recipe=Recipe(), num_layers=2)
    torch.save({"args": arguments, "model": {"w": torch.ones(2)}}, tmp_path / "a.pt")
    monkeypatch.delattr(f"{__name__}.ModelType")
    monkeypatch.delattr(f"{__name__}.Recipe")
    content = load(tmp_path / "a.pt")
    assert content["args"].num_layers == 2
    assert torch.equal(content["model"]["w"], torch.ones(2))


def test_same_name_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.pt", "b.pt"):
        torch.save({"w": torch.ones(1)}, tmp_path / name)
    with pytest.raises(CheckError, match="name the one file"):
        open_checkpoint(tmp_path)


def test_unequal_shapes_are_rows_and_count_as_infinitely_far(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pt")
    torch.save({"w": torch.ones(3)}, tmp_path / "b.pt")
    result = compare_checkpoints(tmp_path / "a.pt", tmp_path / "b.pt")
    assert [row.status for row in result.rows] == ["shape"]
    assert result.worst == float("inf")
