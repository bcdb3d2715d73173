"""Events: the row, folding, the SQLite table, the per-job stream."""
