"""The console script: outside the package, so that Ctrl-C is handled while the package itself is imported."""

import sys


def main() -> int:
    """Run the command line, and end quietly when it is interrupted during imports."""
    try:
        from dropstep.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("dropstep: interrupted\n")
        return 130
    return run()
