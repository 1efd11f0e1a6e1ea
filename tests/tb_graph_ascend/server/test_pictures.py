"""Pictures agree with NumPy over the whole tensors, and only a dump's own files are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from builder.dump.tensor_data import data_of
from tb_graph_ascend.server.drawing import BLOCK, Histogram, draw
from tests.tb_graph_ascend.conftest import Site

ANY_FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 5), st.integers(1, 9)).flatmap(
        lambda shape: st.tuples(
            arrays.arrays(np.float32, shape, elements=ANY_FLOATS),
            arrays.arrays(np.float32, shape, elements=ANY_FLOATS),
        )
    ),
    st.integers(1, 8),
)
def test_every_element_is_counted_once(pair: tuple[Any, Any], parts: int) -> None:
    ours, theirs = pair
    picture = draw(data_of(ours), data_of(theirs), list(ours.shape), parts, parts)
    for histogram in (picture.problem, picture.benchmark, picture.error):
        assert histogram is not None
        total = sum(histogram.counts) + histogram.zeros + histogram.nonfinite
        assert total == ours.size
        assert len(histogram.edges) == len(histogram.counts) + 1
    assert picture.problem is not None
    assert picture.problem.nonfinite == int((~np.isfinite(ours)).sum())
    assert picture.benchmark is not None
    assert picture.problem.edges == picture.benchmark.edges
    for side, histogram in ((ours, picture.problem), (theirs, picture.benchmark)):
        assert_counted_as_numpy_does(side.astype(np.float64), histogram)


def assert_counted_as_numpy_does(values: Any, histogram: Histogram) -> None:
    """All finite values lie between the outermost edges, each in NumPy's bin for these edges."""
    finite = values[np.isfinite(values)]
    counts, _ = np.histogram(finite, np.array(histogram.edges))
    range_of = (finite.min(), finite.max()) if finite.size else (None, None)
    assert (histogram.least, histogram.most) == range_of
    assert histogram.counts == counts.tolist()
    assert sum(histogram.counts) == finite.size


@pytest.mark.parametrize("bins", [2, 7, 8])
def test_errors_a_rounding_apart_are_counted_between_their_edges(bins: int) -> None:
    ours = np.array([7.0455236e26, 7.0455236e26], dtype=np.float32)
    theirs = np.array([1.3743895e11, 0.0], dtype=np.float32)
    picture = draw(data_of(ours), data_of(theirs), [2], bins, bins)
    error = np.abs(ours.astype(np.float64) - theirs)
    assert picture.error is not None
    assert picture.error.edges[0] < error.min() < error.max() < picture.error.edges[-1]
    assert_counted_as_numpy_does(error, picture.error)


def test_heat_shows_where_the_error_sits() -> None:
    benchmark = np.zeros((2, 6, 10), dtype=np.float32)
    problem = benchmark.copy()
    problem[1, 4, 7] = 3.0
    picture = draw(data_of(problem), data_of(benchmark), [2, 6, 10], 8, 5)
    assert picture.heat is not None
    assert (picture.heat.rows, picture.heat.columns, picture.heat.largest) == (12, 10, 3.0)
    hot = [(r, c) for r, row in enumerate(picture.heat.cells) for c, v in enumerate(row) if v]
    assert hot == [(10 * 5 // 12, 7 * 5 // 10)]
    assert (picture.heat.shape, picture.heat.at) == ([2, 6, 10], [1, 4, 7])


def test_errors_at_one_place_are_a_bar_that_one_sees() -> None:
    problem = np.zeros(4096, dtype=np.float32)
    problem[::17] = 1e9
    picture = draw(data_of(problem), data_of(np.zeros_like(problem)), [4096], 64, 8)
    assert picture.error is not None
    filled = [
        (low, count) for low, count in zip(picture.error.edges, picture.error.counts) if count
    ]
    assert [count for _, count in filled] == [241]
    # What is said of them is what they are, not where their bar ends.
    assert (picture.error.least, picture.error.most) == (1e9, 1e9)
    # A bar in the middle third of its axis, as wide as one of 64.
    assert picture.error.edges[0] < 5e8 < filled[0][0] <= 1e9
    assert picture.error.edges[-1] > 2e9


def test_marks_and_integers_have_a_bin_for_each_number() -> None:
    mask = np.triu(np.ones((16, 16), dtype=bool), 1)
    picture = draw(data_of(np.triu(mask, 2)), data_of(mask), [16, 16], 64, 8)
    assert picture.error is not None and picture.problem is not None
    error = picture.error
    assert (error.scale, error.whole, error.edges) == ("linear", True, [0.5, 1.5])
    assert (error.counts, error.zeros) == ([15], 241)
    assert (picture.problem.edges, picture.problem.counts) == ([-0.5, 0.5, 1.5], [151, 105])
    # Labels: one bin each between the least and the largest; ids that are too many have a scale.
    labels = draw(data_of(np.array([3, 5, 9])), data_of(np.array([3, 4, 6])), [3], 64, 8)
    assert labels.error is not None and labels.error.counts == [1, 0, 1]
    ids = draw(data_of(np.array([1, 5, 30_000])), data_of(np.array([1, 4, 6])), [3], 64, 8)
    assert ids.error is not None and (ids.error.scale, ids.error.whole) == ("log", False)
    # Numbers that happen to be whole are none.
    halves = draw(data_of(np.ones(4)), data_of(np.zeros(4)), [4], 64, 8)
    assert halves.error is not None and not halves.error.whole


def test_blocks_agree_with_the_whole() -> None:
    random = np.random.default_rng(1)
    benchmark = random.normal(size=(3 * BLOCK // 1000, 1000)).astype(np.float32)
    problem = benchmark + random.normal(size=benchmark.shape).astype(np.float32) * 1e-3
    picture = draw(data_of(problem), data_of(benchmark), list(benchmark.shape), 32, 16)
    assert picture.benchmark is not None
    assert picture.heat is not None
    counts, _ = np.histogram(benchmark.astype(np.float64), picture.benchmark.edges)
    assert picture.benchmark.counts == counts.tolist()
    error = np.abs(problem.astype(np.float64) - benchmark)
    assert picture.heat.largest == error.max()


@pytest.fixture
def tensor(site_of: Callable[..., Site]) -> Site:
    return site_of("tensor/problem", "tensor/bench")


def output_of(site: Site, name: str) -> tuple[int, dict[str, Any]]:
    node = site.named(name)
    return node["id"], site.get(f"/nodes/{node['id']}")["values"][-1]


def test_picture_of_a_dumped_value(tensor: Site) -> None:
    node, output = output_of(tensor, "Module.layers.1.mlp.fc2.Linear.forward.0")
    path = f"/nodes/{node}/values/{output['problem']['id']}/picture"
    picture = tensor.get(path, bins=16, cells=4)
    elements = int(np.prod(output["problem"]["shape"]))
    assert sum(picture["problem"]["counts"]) == elements
    assert picture["problem"]["edges"] == picture["benchmark"]["edges"]
    assert picture["heat"]["largest"] == pytest.approx(output["measures"]["MaxAbsErr"])
    other = f"/nodes/{node}/values/{output['benchmark']['id']}/picture"
    assert tensor.get(other, bins=16, cells=4) == picture


def test_statistics_dump_has_no_picture(statistics: Site) -> None:
    node, output = output_of(statistics, "Module.layers.1.mlp.fc2.Linear.forward.0")
    url = f"/api/databases/{statistics.db}/nodes/{node}/values/{output['problem']['id']}/picture"
    answer = statistics.client.get(url)
    assert answer.status_code == 409
    assert "tensor" in answer.json["hint"]  # type: ignore[index]
    answer = statistics.client.get(
        url.replace(f"/values/{output['problem']['id']}", "/values/9999")
    )
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        (None, "../../secret.pt"),
        (None, "/etc/passwd"),
        (None, "link.pt"),
        ("outside", "secret.pt"),
    ],
)
def test_database_cannot_name_files_outside_a_dump(
    tensor: Site, tmp_path: Path, folder: str | None, file: str
) -> None:
    """A hostile database points elsewhere; nothing there is read."""
    node, output = output_of(tensor, "Module.layers.1.mlp.fc2.Linear.forward.0")
    outside = tmp_path / "outside" / "dump_tensor_data"
    outside.mkdir(parents=True)
    (outside / "secret.pt").write_bytes(b"secret")
    connection = sqlite3.connect(tensor.file)
    value = output["problem"]["id"]
    connection.execute("UPDATE record SET file = ? WHERE id = ?", (file, value))
    if folder is not None:
        connection.execute("UPDATE graph SET dump_dir = ?", (str(tmp_path / folder),))
    connection.commit()
    connection.close()
    url = f"/api/databases/{tensor.db}/nodes/{node}/values/{value}/picture"
    answer = tensor.client.get(url)
    assert answer.status_code == 409
    assert "has no tensor" in answer.json["error"]  # type: ignore[index]
