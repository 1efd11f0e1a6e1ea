"""What two levels alone record."""
