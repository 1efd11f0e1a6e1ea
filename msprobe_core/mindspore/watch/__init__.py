"""What sees a run of MindSpore: cells, calls, primitives, gradients, compiled code."""
