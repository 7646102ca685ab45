"""The same layer where compile workers and process have one ``ptxas``: torch's, if it brings one."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import torch

PTXAS = Path(torch.__file__).parent / "bin" / "ptxas"

if __name__ == "__main__":
    if PTXAS.exists():
        os.environ["TRITON_PTXAS_PATH"] = str(PTXAS)
    runpy.run_path(str(Path(__file__).with_name("two_assemblers.py")), run_name="__main__")
