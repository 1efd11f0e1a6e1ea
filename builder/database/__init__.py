"""The result database (`*.vis.db`): schema, writer and queries."""
