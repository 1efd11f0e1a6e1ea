"""A build in units that any scheduler can run: plan them, run each, join what they made."""
