"""Prints one table, fact by version, from the files facts.py wrote. Exit status 1 when a fact is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(paths: list[str]) -> int:
    results = [json.loads(Path(path).read_text()) for path in paths]
    names = list(dict.fromkeys(name for result in results for name in result["facts"]))
    print(f"| fact | {' | '.join(result['torch'] for result in results)} |")
    print(f"|---|{'---|' * len(results)}")
    wrong = 0
    for name in names:
        cells = [result["facts"].get(name, "not asked") for result in results]
        wrong += sum(not cell.startswith(("ok", "missing")) for cell in cells)
        print(f"| {name} | {' | '.join(cells)} |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
