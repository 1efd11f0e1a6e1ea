"""The server on its own: over a real socket, many threads at a time, and mistakes in one line."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tb_graph_ascend.server import ServeError
from tb_graph_ascend.server.standalone import start


@pytest.fixture
def address(built: Callable[..., Path], tmp_path: Path) -> Iterator[str]:
    for name, sample in (("a", "statistics"), ("b", "md5")):
        shutil.copy(built(f"{sample}/problem", f"{sample}/bench"), tmp_path / f"{name}.vis.db")
    server = start([tmp_path], port=0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        body: bytes = answer.read()
        return body


def test_two_files_under_many_threads_do_not_disturb_each_other(address: str) -> None:
    listed = json.loads(fetch(f"{address}/api/databases"))["databases"]
    urls = [
        f"{address}/api/databases/{entry['id']}/{path}"
        for entry in listed
        for path in (
            "",
            "findings",
            "pairs/0/0",
            "nodes/1/children",
            "nodes/5",
            "pairs/0/0/nodes?show=divergent",
            "pairs/0/0/search?q=linear",
        )
    ]
    alone = {url: fetch(url) for url in urls}
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda url: (url, fetch(url)), urls * 6))
    assert all(alone[url] == body for url, body in together)


def test_missing_folder_and_taken_port_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ServeError, match=r"missing: no such folder; give one"):
        start([tmp_path / "missing"])
    (tmp_path / "a.vis.db").touch()
    with pytest.raises(ServeError, match=r"a\.vis\.db: is a file; give its folder"):
        start([tmp_path / "a.vis.db"])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ServeError, match="--port"):
            start([tmp_path], port=taken.getsockname()[1])
