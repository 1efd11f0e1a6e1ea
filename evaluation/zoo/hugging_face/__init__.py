"""Eight models of transformers with random weights, a seeded fault in each; `make models-zoo`."""
