"""python -m dropstep.paper."""

import sys

from dropstep.paper.command import main

if __name__ == "__main__":
    sys.exit(main())
