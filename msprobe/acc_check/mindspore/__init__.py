"""The pre-check of MindSpore's calls: how they are found and run, and what PyTorch calls them."""
