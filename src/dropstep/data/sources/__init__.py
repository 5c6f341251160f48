"""Row sources: tables that are read in blocks of rows, because they are larger than memory or on other machines."""

from dropstep.data.sources.source import SOMEWHERE, Block, ColumnType, Partial, Place, RowSource, SequentialSource

__all__ = ["SOMEWHERE", "Block", "ColumnType", "Partial", "Place", "RowSource", "SequentialSource"]
