"""Single changes of recorded numbers, and whether any command says that nothing differs."""
