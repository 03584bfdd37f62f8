"""A program that is frozen in tests: it says where and what it is."""

import json
import ssl
import sys
from pathlib import Path

from helper import greet


def main() -> None:
    internal = Path(getattr(sys, "_MEIPASS", "."))
    facts = {
        "greeting": greet("世界"),
        "frozen": bool(getattr(sys, "frozen", False)),
        "arguments": sys.argv[1:],
        "data": (internal / "data.txt").read_text("utf-8"),
        "openssl": ssl.OPENSSL_VERSION,
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
