"""A fixed policy that goes from two dumps to a line of source by the tools alone.

Build, open, take the first finding, explain its node, read the line. It looks at nothing else, so
what it finds is what the answers say.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.agents.tool_user import ToolUser


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Where the policy says that it begins; `line` is `file:number`, None where no stack tells."""

    step: int
    node: str
    inside: str | None
    line: str | None


def investigate(user: ToolUser, result: str) -> Suspicion | None:
    """The node and line that the tools lead to; None where they name no beginning."""
    opened = user.ask("open_result", result=result)
    if opened["claim"]["all_clear"] or not opened["findings"]:
        return None
    first = user.ask("findings", result=result)["findings"][0]
    why = user.ask("explain_node", result=result, node=first["node_id"])
    # Behind a library's line stands the user's own.
    stack = why["problem_stack"] or why["benchmark_stack"]
    line = f"{stack[-1]['file']}:{stack[-1]['line']}" if stack else None
    return Suspicion(first["step"], first["node"], why["node"]["inside"], line)
