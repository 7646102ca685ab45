"""What fixed a size that was to stay free: the other operand of the line, whose size is that number."""

from __future__ import annotations

import re

from compilescope.analysis.index import Index
from compilescope.analysis.source_text import readable
from compilescope.model import Specialized

NO_PARTNER = "no other input with a dim of that size is named on the line"


def partner(index: Index, fact: Specialized) -> str | None:
    """ "self.row_bias dim 0": an input named on the guilty line with a fixed dim of the value."""
    place = fact.location
    if place is None or fact.compile is None or not fact.value.isdecimal():
        return None
    code = index.source_line(place.file, place.line)
    if code is None:
        return None
    own = fact.source.partition(".size()")[0]
    for graph in index.graphs_of.get(fact.compile, ()):
        for placeholder in graph.placeholders:
            if placeholder.kind != "tensor" or placeholder.source in (None, own):
                continue
            name = readable(placeholder.source or "").text
            dims = [n for n, size in enumerate(placeholder.shape or ()) if size == int(fact.value)]
            if dims and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code):
                return f"{name} dim {dims[0]}"
    return None
