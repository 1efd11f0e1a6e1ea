"""All nodes of one pair in memory: searched by name, filtered and sorted in milliseconds."""
