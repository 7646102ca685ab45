"""``python -m compilescope.views.json`` prints the JSON Schema, as shipped in ``summary.schema.json``."""

from __future__ import annotations

import json

from compilescope.views.json import schema

print(json.dumps(schema(), indent=2))
