"""The frameworks whose dumps are read."""
