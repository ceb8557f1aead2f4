"""``python -m pgbn`` is the command ``pgbn``."""

import sys

from pgbn.cli import main

if __name__ == "__main__":
    sys.exit(main())
