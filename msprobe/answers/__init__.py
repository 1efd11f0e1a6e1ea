"""What programs may ask of results: one definition of each answer for `mcp`, `ask`, `--json`."""
