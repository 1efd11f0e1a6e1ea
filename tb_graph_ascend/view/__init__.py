"""What only the page and the report see of a result: rows, search, strip, answer, slide."""
