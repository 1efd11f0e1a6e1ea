"""Programs that find a fault by the tools of `msprobe mcp` alone."""
