"""Everything torch can do, run plain, recorded and plain again: a recording must leave no trace."""
