"""What the notebook around us tells, if there is one. IPython is asked only where it runs already."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def running_shell() -> Any | None:
    """The InteractiveShell of this process, or None."""
    module = sys.modules.get("IPython")
    ask = getattr(module, "get_ipython", None)
    return ask() if ask is not None else None


def cell_numbers(shell: Any | None) -> dict[str, int]:
    """Number by the file name that Python knows a cell by, such as /tmp/ipykernel_7/1.py."""
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return dict(numbers) if isinstance(numbers, dict) else {}


def cell_names(shell: Any | None) -> dict[str, str]:
    """``In[3]`` by the file name of the cell."""
    return {file: f"In[{number}]" for file, number in cell_numbers(shell).items()}


def notebook_name(shell: Any) -> str:
    """``train.ipynb`` where the front end told it, else ``notebook``."""
    told = os.environ.get("JPY_SESSION_NAME") or getattr(shell, "user_ns", {}).get("__vsc_ipynb_file__")
    name = Path(str(told)).name if told else ""
    return name if name.endswith(".ipynb") else "notebook"
