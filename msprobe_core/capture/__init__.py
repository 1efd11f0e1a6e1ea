"""What recording needs whatever the framework: trace, selection, stacks, threads, lifecycle."""
