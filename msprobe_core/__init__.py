"""The dumper: records what a PyTorch model computes, step by step and rank by rank."""
