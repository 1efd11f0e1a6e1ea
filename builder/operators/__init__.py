"""What calls do to the values they read: one table, asked by every room that has to know."""
