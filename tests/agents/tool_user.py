"""The official client of the Model Context Protocol, driven from code that is not asynchronous."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client

from tests.conftest import ROOT


@dataclass(slots=True)
class ToolUser:
    """A client that is connected; `sizes` are the bytes of each answer by its tool."""

    client: Client
    portal: BlockingPortal
    sizes: dict[str, list[int]] = field(default_factory=dict)

    def call(self, tool: str, **arguments: object) -> tuple[bool, str]:
        """Whether a tool refused, and the text that it sent."""
        result = self.portal.call(self.client.call_tool, tool, arguments)
        (content,) = result.content
        assert content.type == "text"
        assert result.structured_content is None
        if not result.is_error:
            self.sizes.setdefault(tool, []).append(len(content.text.encode()))
        return result.is_error, content.text

    def ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The answer of a tool that must not refuse."""
        refused, text = self.call(tool, **arguments)
        assert not refused, text
        answer: dict[str, Any] = json.loads(text)
        return answer

    def refusal(self, tool: str, **arguments: object) -> str:
        """What a tool says that must refuse."""
        refused, text = self.call(tool, **arguments)
        assert refused, text
        return text


@contextmanager
def connected(*arguments: str | Path) -> Iterator[ToolUser]:
    """A client of `msprobe mcp` with these arguments, in a process of its own."""
    command = ["-m", "msprobe", "mcp", *map(str, arguments)]
    server = StdioServerParameters(
        command=sys.executable, args=command, cwd=ROOT, env={"OMP_NUM_THREADS": "1"}
    )
    with start_blocking_portal() as portal:
        opened = portal.call(_client, server)
        with portal.wrap_async_context_manager(opened) as client:
            yield ToolUser(client, portal)


async def _client(server: StdioServerParameters) -> Client:
    return Client(stdio_client(server))
