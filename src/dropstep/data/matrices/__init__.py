"""Design matrices: the numbers of a table, in memory, sparse, or on disk."""
