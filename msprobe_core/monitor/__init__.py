"""What any framework needs to follow a training over its steps: the store, moments, alerts."""
