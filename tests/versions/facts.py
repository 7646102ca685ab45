"""Which facts this torch gives: small programs whose answer is known by construction, one fact each.

Run by the interpreter of that version: ``python facts.py --json OUT [--only WORD]``. A fact is "ok",
"wrong: …" or "missing: …". Nothing here knows torch's version: what a version lacks shows by itself.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import backward
import costs
import dynamo
import processes
import symbols
import torch
from fact import Fact

from compilescope.capture import probe

FACTS: dict[str, Fact] = {
    **dynamo.FACTS,
    **symbols.FACTS,
    **backward.FACTS,
    **costs.FACTS,
    **processes.FACTS,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", default="", help="facts whose name has this word")
    arguments = parser.parse_args()
    hooks = probe()
    told = {name: fact.result(hooks) for name, fact in FACTS.items() if arguments.only in name}
    if not arguments.only:
        told |= {f"hook: {name}": state for name, state in hooks.items()}
    arguments.json.write_text(json.dumps({"torch": torch.__version__, "facts": told}, indent=1) + "\n")


if __name__ == "__main__":
    main()
