"""The text of records: plain values and containers as JSON, whatever the framework."""
