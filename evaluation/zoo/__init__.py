"""Seeded bugs and controls: how often the diagnosis names the culprit, how often it cries wolf."""
