"""Who may ask for what: host names, other sites, read-only mode; and the headers of every answer.

A page of another site can send requests to this server through the visitor's browser; it can
imitate neither the origin of our own page nor, for a name we do not answer to, the host.
"""

from __future__ import annotations

import ipaddress

from flask import Request, Response

from tb_graph_ascend.server.errors import ForbiddenError, RequestError
from tb_graph_ascend.server.workplace import Settings

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_READS = frozenset(("GET", "HEAD", "OPTIONS"))
_OWN_SITE = frozenset(("same-origin", "none"))
CONTENT_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)


class WrongMediaTypeError(RequestError):
    """A request that changes something is not JSON."""

    status = 415


def check(request: Request, settings: Settings) -> None:
    """Raise RequestError for a request that must not be answered."""
    mutation = request.method not in _READS
    if mutation or settings.guard_reads:
        _check_host(request, settings)
    if mutation:
        _check_site(request, settings)
        _check_type(request)
        if settings.read_only:
            raise ForbiddenError(
                "this server is read-only", "start it without --read-only to change anything"
            )


def add_headers(answer: Response) -> Response:
    """The headers that keep a browser from running or guessing anything."""
    answer.headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "same-origin"
    answer.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return answer


def _check_host(request: Request, settings: Settings) -> None:
    name = host_name(request.headers.get("Host", ""))
    if name in _LOOPBACK or _is_allowed(name, settings):
        return
    if settings.any_address and _is_address(name):
        return
    raise ForbiddenError(
        f"this server does not answer to the host name {name[:100]!r}",
        f"start it with {settings.allow_host_option} {name[:100]}",
    )


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def _is_allowed(name: str, settings: Settings) -> bool:
    return name in {host.lower() for host in settings.hosts}


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_site(request: Request, settings: Settings) -> None:
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    foreign = origin is not None and _is_foreign(origin, request, settings)
    if foreign or (site is not None and site not in _OWN_SITE):
        raise ForbiddenError(
            f"the request comes from another site ({(origin or site or '')[:100]})",
            "use the interface that this server serves; behind a proxy of another name, start it "
            f"with {settings.allow_host_option} NAME",
        )


def _is_foreign(origin: str, request: Request, settings: Settings) -> bool:
    host = origin.partition("://")[2].lower()
    # A proxy may pass its own host name on; the browser's page then has the allowed one.
    return host != request.host.lower() and not _is_allowed(host_name(host), settings)


def _check_type(request: Request) -> None:
    if request.mimetype != "application/json":
        raise WrongMediaTypeError(
            f"Content-Type is {request.mimetype or 'missing'}", "send application/json"
        )
