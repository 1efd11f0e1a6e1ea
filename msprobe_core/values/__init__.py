"""What is written about a value: statistics, checksums, arguments as JSON text."""
