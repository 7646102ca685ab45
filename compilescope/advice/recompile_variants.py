"""Words of a rule made fit for one case: what to change hangs on what the value is and where it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from compilescope.advice.classify import attribute_of, grows_by_one, sizes_of, subject_of, used_again
from compilescope.advice.facts import Facts
from compilescope.advice.handed_over import made_inside
from compilescope.advice.pins import fixed_somewhere, is_loop, pin_of
from compilescope.advice.recompile_words import WORDS, RecompileWords
from compilescope.advice.sources import called_name
from compilescope.analysis.report import Recompile
from compilescope.analysis.worst import show, steps

_TENSORS = frozenset(("Tensor", "tensor", "Parameter", "Buffer"))
_KEPT = frozenset(("module_attribute", "object_attribute", "container_item", "global", "closure"))
_SAME_MEMBERS = "always pass the same members, or the numbers among them as a tensor"
_SAME_KEYS = "always pass the same keys (of **kwargs: the same keyword arguments)"
_BEFORE = "fill it before the first call, or look it up outside the compiled function and pass the result in"


def words_for(facts: Facts, rule: str, row: Recompile) -> RecompileWords:
    words, fit = WORDS[rule], _FITTED.get(rule)
    return fit(facts, row, words) if fit else words


def values_for(facts: Facts, row: Recompile) -> dict[str, str]:
    """What the words of any rule may name. Values of a program are put in last: they may hold braces."""
    pairs = [*row.changes, *row.blocked_changes]
    pin = fixed_somewhere(facts, row)
    quoted = row.value_type in ("str", "none")
    return {
        "source": row.source,
        "name": attribute_of(row),
        "subject": subject_of(row),
        "key": row.source.rpartition(" in ")[0],
        "function": row.function,
        "changes": steps(pairs, quoted=row.value_type == "str"),
        "value": next((show(v, quoted=quoted) for pair in pairs for v in pair if v is not None), "a value"),
        "meaning": row.meaning or "strides differ",
        "bound": next((str(old) for old, _ in pairs), row.source),
        "partner": (pin.partner if pin else None) or "an operand",
        "number": str(len(set(sizes_of(row)))),
        "moves": "grows" if grows_by_one(row) else "changes",
    }


def _size_used_as_number(facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    pin = pin_of(facts, row)
    if pin is None or not is_loop(facts.sources, pin):
        return words
    return replace(
        words,
        summary="the loop runs over {source}, so each length is unrolled and compiled by itself",
        fix="compile the body of the loop and loop outside, or use an operation of torch that loops by "
        "itself (cumsum, torch.vmap); few lengths: pad to them, call each once first",
    )


def _size(facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    """Where the dim cannot be marked: torch refuses it, or the tensor is made inside a library."""
    pin = fixed_somewhere(facts, row)
    if row.benign and (pin is not None or made_inside(facts, row)):
        return replace(
            words, fix="nothing, or leave the last batch out (drop_last=True where batches are made)"
        )
    if pin is not None:
        what = "{partner} has that size fixed" if pin.partner else "some graphs need it as a number"
        return replace(words, fix=f"pad to a few sizes; {what}, so torch refuses a dynamic mark")
    if made_inside(facts, row):
        return replace(
            words,
            fix="pad to a few sizes where the input is made, or compile with dynamic=True; a library hands "
            "the tensor over, so a mark on its dim has no place in the program",
        )
    return words


def _variants(facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    if used_again(facts, row) is not None:
        return words
    return replace(
        words, summary="{source} comes in {number} sizes, each compiled once; their calls are unknown"
    )


def _zero_or_one(facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    if not made_inside(facts, row):
        return words
    return replace(
        words, fix="accept the extra graph: a library hands the tensor over, with the size it needs"
    )


def _optional(_facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    pairs = [*row.changes, *row.blocked_changes]
    values = [value for pair in pairs for value in pair if value is not None]
    is_tensor = all(value in _TENSORS for value in values)
    if row.holder in _KEPT and pairs and all(new is not None for _, new in pairs):
        value = "its tensor" if is_tensor else "{value}"
        return replace(
            words,
            fix_kind="set_before_first_call",
            summary="{source} is None at first and set later",
            fix=f"give it {value} before the first compiled call (in __init__, or where it is made)",
        )
    if row.holder in _KEPT:
        what = "its tensors are reset in place" if is_tensor else "it is set once before the first call"
        return replace(
            words,
            fix_kind="set_before_first_call",
            fix=f"keep the object from call to call, so that {what}; or accept one graph for None",
        )
    if not is_tensor:
        return replace(
            words,
            fix_kind="split_or_accept",
            fix="accept one graph for None, or choose outside the compiled function",
        )
    return words


def _keys(_facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    key, _, container = row.source.rpartition(" in ")
    if container.endswith(".__dict__"):
        return replace(
            words,
            fix_kind="set_before_first_call",
            summary="{subject} has the attribute {key} in some calls only",
            fix="set it in __init__, so that it is there before the first call",
        )
    if key and _came(row.changes):
        summary = "{subject} is filled while the compiled function runs: {key} was not in it at first"
        return replace(words, summary=summary, fix=_BEFORE)
    if key:
        words = replace(words, summary="{key} is in {subject} in some calls only")
    if row.source.startswith("members of "):
        words = replace(words, summary="the members of {subject} change between calls", fix=_SAME_MEMBERS)
    return words if row.holder == "argument" and not key else replace(words, fix=_BEFORE)


def _came(changes: list[tuple[Any, Any]]) -> bool:
    return bool(changes) and all((old, new) == (False, True) for old, new in changes)


def _length(facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    if row.meaning in ("dict", "set", "frozenset"):
        return replace(words, fix_kind="fixed_keys", fix=_SAME_KEYS if row.holder == "argument" else _BEFORE)
    name = subject_of(row)
    grown = {f"{name}.append", f"{name}.extend", f"{name}.insert"}
    by_caller = row.holder == "argument" and facts.sources.tree(row.file) is not None
    appended = any(called_name(call) in grown for _, call in facts.sources.calls())
    if row.meaning == "tuple" or (by_caller and not appended):
        return replace(
            words,
            fix_kind="stack_into_tensor",
            fix="pass one tensor in its place (torch.stack, or padded), whose first dim torch makes dynamic; "
            "few lengths: pad to them",
        )
    return words


def _cache(_facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    if "/transformers/" not in row.file:
        return words
    return replace(
        words,
        summary="the cache of keys and values grows by one position a call",
        fix='use a static cache: generate(..., cache_implementation="static"), or a '
        "transformers.StaticCache as past_key_values",
        wrong="a static cache computes over padding; the prompt and the step of one token keep a graph each",
    )


_FITTED: dict[str, Callable[[Facts, Recompile, RecompileWords], RecompileWords]] = {
    "size_used_as_number": _size_used_as_number,
    "size_drift": _size,
    "last_partial_batch": _size,
    "intended_size_variants": _variants,
    "size_zero_or_one": _zero_or_one,
    "optional_argument": _optional,
    "dict_keys_change": _keys,
    "container_growth": _length,
    "kv_cache_growth": _cache,
}
