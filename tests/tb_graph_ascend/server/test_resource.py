"""Routes may be asked for the first time by many threads at once."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: what it looks for is a crash, not an exception.
PROGRAM = """
from __future__ import annotations
import sys, threading
from typing import Annotated, Literal
import msgspec
from flask import Flask
from tb_graph_ascend.server.resource import Resource

class Answer(msgspec.Struct):
    page: int

sys.setswitchinterval(1e-6)
for number in range(300):
    class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        q: Annotated[str, msgspec.Meta(max_length=1000)] = ""
        regex: bool = False
        side: Literal["problem", "benchmark"] | None = None
        offset: Annotated[int, msgspec.Meta(ge=0)] = 0
        page: Annotated[int, msgspec.Meta(ge=0)] = 500

    routes = Resource(f"made{number}")

    @routes.route("/made", query=Query, answer=Answer)
    def made(query):
        "Made."
        return Answer(query.page)

    app = Flask("made")
    app.register_blueprint(routes.blueprint)
    clients = [app.test_client() for _ in range(6)]
    together = threading.Barrier(len(clients))

    def ask(client):
        together.wait()
        assert client.get("/api/made?page=7").json == {"page": 7}

    threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_first_requests_at_the_same_time_are_answered() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
