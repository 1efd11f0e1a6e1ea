"""Records PyTorch: what watches a run, what names its calls, what records its values."""
