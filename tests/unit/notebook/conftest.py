from __future__ import annotations

import sys
from pathlib import Path

# Tests are imported by file name, without packages: the builders need a place on the path.
sys.path.insert(0, str(Path(__file__).parents[2]))
