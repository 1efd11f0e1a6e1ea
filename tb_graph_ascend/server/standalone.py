"""Runs the server on its own, without TensorBoard."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from builder.errors import InputError
from tb_graph_ascend.server.app import create_app
from tb_graph_ascend.server.workplace import Settings

_ANY = ("0.0.0.0", "::", "")


class ServeError(InputError):
    """The server cannot start with what it was given."""


def serve(
    logdirs: Sequence[Path],
    host: str = "127.0.0.1",
    port: int = 6006,
    *,
    allow_hosts: Sequence[str] = (),
    read_only: bool = False,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until interrupted; port 0 takes a free one.

    `announce` is told the address once the server listens. Raises ServeError when a folder is
    missing or the port is taken.
    """
    server = start(logdirs, host, port, allow_hosts=allow_hosts, read_only=read_only)
    shown = "localhost" if host in (*_ANY, "127.0.0.1", "::1") else host
    # A thread that computes lets the others go on after this long; five times as soon as usual.
    sys.setswitchinterval(0.001)
    announce(f"http://{shown}:{server.server_port}/")
    try:
        server.serve_forever()
    finally:
        server.server_close()


def start(
    logdirs: Sequence[Path],
    host: str = "127.0.0.1",
    port: int = 6006,
    *,
    allow_hosts: Sequence[str] = (),
    read_only: bool = False,
) -> BaseWSGIServer:
    """A server that listens already; `serve_forever` on it answers. Raises ServeError."""
    for folder in logdirs:
        if folder.is_file():
            raise ServeError(f"{folder}: is a file", f"give its folder, {folder.parent}")
        if not folder.is_dir():
            raise ServeError(f"{folder}: no such folder", "give one that holds *.vis.db files")
    own = own_names() if host in _ANY else [host]
    settings = Settings(read_only=read_only, hosts=[*allow_hosts, *own], any_address=host in _ANY)
    try:
        app = create_app(logdirs, settings)
        return make_server(host, port, app, threaded=True, request_handler=_Handler)
    except OSError as error:
        raise ServeError(
            f"{host}:{port}: cannot listen there ({error.strerror})", "choose another --port"
        ) from None
    except SystemExit:
        # Werkzeug says why on stderr and exits when the address is taken.
        raise ServeError(f"{host}:{port}: in use", "choose another --port") from None


def own_names() -> list[str]:
    """The names that this machine calls itself; none that a name server would have to be asked."""
    name = socket.gethostname().lower()
    return sorted({name, name.partition(".")[0]})


class _Handler(WSGIRequestHandler):
    # Connections are kept open: a page asks for dozens of small answers.
    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing of requests; failures are logged where they happen."""
