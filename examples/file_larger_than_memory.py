"""A table that is read in blocks of rows: from Parquet files, and by a query of DuckDB (digits)."""

import os
import tempfile
from pathlib import Path

import duckdb
from sklearn.datasets import load_digits

from dropstep import select

os.environ["DROPSTEP_LARGE_FILE"] = "0"  # read files of any size in blocks, as those that are too large for memory
frame = load_digits(as_frame=True).frame
folder = Path(tempfile.mkdtemp())
for i in range(0, len(frame), 300):
    frame[i : i + 300].to_parquet(folder / f"digits-{i:04}.parquet")

path = select(str(folder / "*.parquet"), "target", max_features=20)
print(f"six files: {len(path.selected)} of {path.n_features} pixels in {path.n_passes} passes over the rows")
print("the same pixels as in memory:", path.selected_names == select(frame, "target", max_features=20).selected_names)

query = duckdb.sql(f"select * exclude (target), target = 8 as eight from '{folder}/*.parquet' where target in (3, 8)")
path = select(query, "eight", model="logistic", max_features=5)
print(f"3 or 8, logistic regression of a query: {', '.join(path.selected_names)} in {path.n_passes} passes")
