"""Counts the files that a call passes through: `python -m benchmarks.walks [--list] [words…]`."""

import sys
from collections.abc import Callable

from benchmarks.walks import recall, stdio

WALKS: dict[str, Callable[[], list[str]]] = {
    "one order": stdio.order,
    "one recall over HTTP": recall.walk,
    "one guarded call": stdio.guarded_call,
    "one call of a served tool": stdio.served_call,
}


def main() -> None:
    """Walk those ways whose name has one of the words; all of them without any."""
    words = [word for word in sys.argv[1:] if word != "--list"]
    for name, walk in WALKS.items():
        if words and not any(word in name for word in words):
            continue
        lines = walk()
        if "--list" in sys.argv:
            print("\n".join(lines))
        files = {line.split(" | ")[0] for line in lines}
        print(f"{name}: {len(files)} files, {len(lines)} jumps between them", flush=True)


if __name__ == "__main__":
    main()
