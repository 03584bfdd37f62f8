"""``python -m vvbuild``."""

import sys

from vvbuild.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
