"""The experiments belong to no installed package: they are imported from the repository."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
