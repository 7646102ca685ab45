"""Code that is not the program's own, and the switch that turns its debug output off."""

from __future__ import annotations

import ast
import posixpath

from compilescope.advice.facts import Facts
from compilescope.advice.sources import names_in
from compilescope.analysis.report import GraphBreak

_KNOWN = {
    "torch/nn/parallel/distributed.py": "compile the module before it is wrapped: "
    "DistributedDataParallel(torch.compile(module))",
    "torch/optim/optimizer.py": "nothing: torch's optimizers break here on purpose, and compile what follows",
}
_INSTALLED = ("site-packages/", "dist-packages/")


def is_foreign(facts: Facts, site: GraphBreak) -> bool:
    """An installed package, or a package beside the program whose output hangs on a switch of its own."""
    if is_installed(site.file):
        return True
    beside = posixpath.dirname(site.file) != posixpath.dirname(facts.script or site.file)
    return beside and debug_switch(facts, site) is not None


def is_installed(file: str) -> bool:
    """Torch, an installed package, the standard library, or code that was generated."""
    return file.startswith(("torch/", "<")) or any(part in file for part in (*_INSTALLED, "/lib/python3"))


def is_standard(file: str) -> bool:
    """A module of Python's standard library."""
    return "/lib/python3" in file and not any(part in file for part in _INSTALLED)


def library_fix(site: GraphBreak) -> str | None:
    """What helps against the break of a library that is known."""
    return next((fix for file, fix in _KNOWN.items() if site.file.endswith(file)), None)


def debug_switch(facts: Facts, site: GraphBreak) -> str | None:
    """``fauxlib.util.VERBOSE``: a module-level name that an `if` around the line tests."""
    tree = facts.sources.tree(site.file)
    if tree is None:
        return None
    defined = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.lineno < site.line <= (node.end_lineno or 0):
            tested = sorted(names_in(node.test) & set(defined))
            if tested:
                return f"{_module(site.file)}.{tested[0]}"
    return None


def _module(file: str) -> str:
    name = file
    for part in _INSTALLED:
        name = name.rsplit(part, 1)[-1]
    return name.removesuffix(".py").removesuffix("/__init__").strip("/").replace("/", ".")
