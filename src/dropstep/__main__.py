"""python -m dropstep: the same as the command dropstep."""

import sys

from dropstep.cli import main

if __name__ == "__main__":
    sys.exit(main())
