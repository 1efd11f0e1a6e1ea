"""Result databases that the real builder made of the sample dumps, and clients of the server."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

import builder
from builder import BuildOptions
from tb_graph_ascend.server import Settings, create_app

Build = Callable[[str, str | None], Path]


@pytest.fixture(scope="session")
def built(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build the database of two samples once; `renamed/problem` is a side, None no benchmark."""
    known: dict[tuple[str, str | None], Path] = {}

    def build(problem: str, benchmark: str | None) -> Path:
        if (problem, benchmark) not in known:
            out = tmp_path_factory.mktemp("built")
            options = BuildOptions(overflow_check=True, workers=1, same="program")
            other = samples / benchmark if benchmark is not None else None
            made = builder.build(samples / problem, other, out, options)
            known[problem, benchmark] = made.path
        return known[problem, benchmark]

    return build


@dataclass(frozen=True)
class Site:
    """A log folder with one comparison, and a client of a server over it."""

    folder: Path
    file: Path
    client: FlaskClient
    db: str

    def get(self, path: str, **arguments: Any) -> Any:
        """The JSON answer below the database; fails unless it is 200."""
        answer = self.client.get(f"/api/databases/{self.db}{path}", query_string=arguments)
        assert answer.status_code == 200, answer.text
        return answer.json

    def send(self, method: str, path: str, body: Any, **headers: str) -> Any:
        """The JSON answer to a change; fails unless it is 200."""
        url = f"/api/databases/{self.db}{path}"
        answer = self.client.open(url, method=method, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json

    def named(self, name: str, side: str = "problem", step: int = 0, rank: int = 0) -> Any:
        """The node with exactly this name."""
        found = self.get(f"/pairs/{step}/{rank}/search", q=name, case=1, side=side)["hits"]
        return next(node for node in found if node["name"] == name)


@pytest.fixture
def site_of(built: Build, tmp_path: Path) -> Callable[..., Site]:
    """A site over a fresh log folder that holds the database of two samples, some levels deep."""

    def make(problem: str, benchmark: str | None, **settings: Any) -> Site:
        folder = tmp_path / "logs"
        file = folder / "runs" / "today" / "result.vis.db"
        file.parent.mkdir(parents=True)
        shutil.copy(built(problem, benchmark), file)
        client = create_app([folder], Settings(**settings)).test_client()
        (entry,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
        return Site(folder, file, client, entry["id"])

    return make


@pytest.fixture
def statistics(site_of: Callable[..., Site]) -> Site:
    """The sample whose second MLP multiplies once too often."""
    return site_of("statistics/problem", "statistics/bench")


@pytest.fixture
def renamed(site_of: Callable[..., Site]) -> Site:
    """The sample whose modules have other names, so that many nodes are unmatched."""
    return site_of("renamed/problem", "statistics/bench")
