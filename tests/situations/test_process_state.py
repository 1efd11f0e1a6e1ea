"""What counts as left behind: something that came, not something that ended meanwhile."""

from __future__ import annotations

import os
import threading

import pytest

from benchmarks.situations.process_state import differences, process_state

# Reading every attribute of torch.distributed touches deprecated ones.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def test_a_thread_that_came_is_told() -> None:
    before, done = process_state(), threading.Event()
    thread = threading.Thread(target=done.wait, name="left", daemon=True)
    thread.start()
    after = process_state()
    done.set()
    thread.join()
    assert [said for said in differences(before, after) if "left" in said]


def test_a_thread_that_ended_is_no_trace() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="queue feeder of the run before", daemon=True)
    thread.start()
    before = process_state()
    done.set()
    thread.join()
    assert differences(before, process_state()) == []


def test_a_descriptor_that_came_is_told() -> None:
    before = process_state()
    reader, writer = os.pipe()
    after = process_state()
    os.close(reader)
    os.close(writer)
    assert [said for said in differences(before, after) if said.startswith("descriptors")]
