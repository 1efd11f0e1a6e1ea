"""Processes of a build: a second one beside this, and interrupts that reach all of them."""
