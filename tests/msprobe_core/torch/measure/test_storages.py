"""Storages are read without being counted as used, and without a Python storage that stays."""

from __future__ import annotations

import threading

import pytest
import torch

from msprobe_core.torch.measure.storages import (
    Storages,
    lend_storage,
    storage_key,
    storage_place,
    storage_size,
    take_back,
)
from msprobe_core.torch.memory.book import MemoryBook


def users_of(tensor: torch.Tensor) -> int:
    return torch._C._storage_Use_Count(torch._C._storage_address(tensor))


def test_what_is_known_of_a_tensor_makes_nobody_a_user_of_its_storage() -> None:
    tensor, book = torch.randn(40), MemoryBook()
    memory = book.at(tensor, True)
    book.at(tensor[3:], True)
    book.written([tensor])
    assert memory.size == storage_size(tensor) == 160
    assert storage_place(tensor) == tensor.data_ptr()
    assert users_of(tensor) == 1
    assert not memory.is_gone
    del tensor
    assert memory.is_gone


def test_what_is_lent_is_what_torch_itself_gives() -> None:
    for tensor in (
        torch.randn(3, 4)[1:, ::2],
        torch.empty(0),
        torch.empty(5, device="meta"),
        torch.from_numpy(torch.ones(2).numpy()),
    ):
        lent = lend_storage(tensor)
        seen = (lent._cdata, lent.nbytes(), lent.resizable(), lent.data_ptr())
        take_back(lent)
        own = tensor.untyped_storage()
        assert seen == (own._cdata, own.nbytes(), own.resizable(), own.data_ptr())
        assert storage_key(tensor) == own._cdata


def test_several_are_lent_at_once_and_from_several_threads() -> None:
    tensors = [torch.empty(n) for n in range(1, 40)]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            lent = [lend_storage(each) for each in tensors]
            wrong.extend(n for n, each in enumerate(lent) if each.nbytes() != 4 * (n + 1))
            for each in lent:
                take_back(each)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(users_of(each) == 1 for each in tensors)


def test_a_tensor_without_a_storage_says_so_and_nothing_stays_lent() -> None:
    sparse = torch.eye(3).to_sparse()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="Cannot access storage"):
            lend_storage(sparse)


def test_where_torch_counts_no_user_its_own_storages_are_lent() -> None:
    tensor, storages = torch.randn(4), Storages(through_own=False)
    lent = storages.lend(tensor)
    storages.take_back(lent)
    assert lent is tensor.untyped_storage()
    assert lent.nbytes() == 16
