"""The pre-check of MindSpore's calls, where MindSpore is not needed."""
