"""One file a tool: `record(program, folder)` and `answer(pair)`; the README has the contract."""
