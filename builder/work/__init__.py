"""From dump folders to a result database: plan the pairs, work on each, put the result together."""
