"""The second monitor of mindstudio-probe under its own name."""
