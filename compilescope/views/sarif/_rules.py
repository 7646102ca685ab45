"""What a rule is, from its page of the documentation: shipped in a wheel, in ``docs/rules`` in a checkout."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[2]
_SLUG = re.compile(r"[a-z0-9_]+")
_LABEL = re.compile(r"^\([a-z0-9_]+\)=\n")


def rule(slug: str) -> dict[str, Any]:
    """A SARIF ``reportingDescriptor``; without a page only the name is known."""
    name = "".join(word.capitalize() for word in slug.split("_"))
    described: dict[str, Any] = {
        "id": slug,
        "name": name,
        "properties": {"tags": ["torch.compile", "performance"]},
    }
    text = page(slug)
    if text is None:
        return {**described, "shortDescription": {"text": slug.replace("_", " ")}}
    first = _first_sentence(text) or slug.replace("_", " ")
    return {
        **described,
        "shortDescription": {"text": first},
        "help": {"text": first, "markdown": text},
    }


@cache
def page(slug: str) -> str | None:
    """The rule's page in Markdown, without what only the documentation's own builder reads."""
    if not _SLUG.fullmatch(slug):
        return None
    for folder in (_PACKAGE / "_reports" / "rules", _PACKAGE.parent / "docs" / "rules"):
        try:
            return _LABEL.sub("", (folder / f"{slug}.md").read_text(encoding="utf-8"))
        except OSError:
            continue
    return None


def _first_sentence(text: str) -> str | None:
    """The first paragraph below the title."""
    paragraphs = (part.strip() for part in text.split("\n\n"))
    return next((" ".join(part.split()) for part in paragraphs if part and not part.startswith("#")), None)
