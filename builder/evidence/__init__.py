"""What a comparison tells of each row: the values that it pairs and how far apart they are."""
