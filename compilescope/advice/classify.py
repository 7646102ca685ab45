"""One recompile row -> the rule that explains it."""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from compilescope.advice.bounds import rule_of_bound
from compilescope.advice.facts import Facts
from compilescope.advice.pins import pin_of
from compilescope.advice.sources import Sources, calls_in, dotted, names_in, parameters
from compilescope.analysis.report import Recompile

_BY_KIND = {
    "container_length": "container_growth",
    "dict_keys": "dict_keys_change",
    "size_one": "size_zero_or_one",
    "stride": "memory_format_change",
    "rank": "rank_change",
    "dtype": "dtype_change",
    "device": "device_change",
    "requires_grad": "requires_grad_change",
    "grad_mode": "grad_mode_toggle",
    "autocast": "autocast_toggle",
    "training_mode": "train_eval_toggle",
    "backend": "backend_or_options_change",
    "code": "function_identity_changes",
    "type": "type_change",
    "duck_shape": "equal_sizes_assumed",
    "constraint": "mark_dynamic_differs",
    "alignment": "storage_offset_change",
}
_OPTIMIZER_LR = re.compile(r"param_groups\[\d+\]\['(?:lr|momentum|weight_decay)'\]|\b_?lr\b.*param_groups")
_PARAMETER = re.compile(r"(?:^|\.)(?:weight|bias)\b")
_FLAGS = frozenset(("bool", "enum"))
# As installed libraries name them: the cache of one layer, or those of all layers in two lists.
_CACHE = re.compile(
    r"\blayers\[\d+\]\.(?:keys|values|is_initialized|cumulative_length)\b"
    r"|\b(?:key_cache|value_cache|past_key_values?)\["
)
_NEARLY_ALL = 0.8
_INT_IN = {"container_item": "number_in_container", "object_attribute": "object_int_attribute"}


def rule_of(facts: Facts, row: Recompile) -> str:
    if grows_in_cache(facts, row):
        return "kv_cache_growth"
    if _OPTIMIZER_LR.search(row.source):
        return "optimizer_lr_float"
    if row.kind == "value":
        return _value(facts.sources, row)
    if row.kind == "size":
        return _size(facts, row)
    if row.kind == "identity":
        return _identity(row)
    if row.kind == "dispatch_keys":
        inference = "inference" in f"{row.meaning} {row.changes}"
        return (
            "grad_mode_toggle"
            if inference and "made inside" not in (row.meaning or "")
            else "dispatch_mode_change"
        )
    if row.kind == "symbolic_guard" and pin_of(facts, row):
        return "size_used_as_number"
    if row.kind == "symbolic_guard":
        is_number = row.holder in ("object_attribute", "container_item") and " dim " not in row.source
        return "float_hyperparameter_python" if is_number else rule_of_bound(facts.sources, row)
    if row.kind == "dtype" and row.holder is None:
        return "global_state_change"  # torch's default dtype
    if row.kind == "other":
        return "global_state_change" if row.holder is None else "unexplained_recompile"
    return _BY_KIND.get(row.kind, "unexplained_recompile")


def subject_of(row: Recompile) -> str:
    """The variable behind a guard: ``cache`` of ``cache[0] dim 1``, ``history`` of ``len(history)``."""
    text = row.source.removeprefix("keys of ")
    if row.kind == "dict_keys":
        text = text.removeprefix("members of ").rpartition(" in ")[2].removesuffix(".__dict__")
    if text.startswith("len("):
        text = text.removeprefix("len(").removesuffix(")")
    text = re.sub(r" (?:stride )?dim \d+$", "", text)
    return re.sub(r"\[\d+\]", "[i]", text)


def attribute_of(row: Recompile) -> str:
    return row.source.rsplit(".", 1)[-1]


def _value(sources: Sources, row: Recompile) -> str:
    pairs = [*row.changes, *row.blocked_changes]
    if row.value_type in (None, "none") and any((old is None) != (new is None) for old, new in pairs):
        return "optional_argument"
    if row.holder == "closure":
        return "closure_capture_changes"
    if row.holder == "global":
        return "global_python_state"
    if row.holder == "module_attribute" or _is_on_module(sources, row):
        return _module_attribute(sources, row)
    if row.value_type == "float":
        return "float_hyperparameter_python"
    if row.value_type == "str":
        return "string_argument_variants"
    if row.value_type in _FLAGS:
        return "flag_argument_variants"
    return _INT_IN.get(row.holder or "", "int_argument_variants")


def _is_on_module(sources: Sources, row: Recompile) -> bool:
    """After a graph break ``self`` is an argument like any other: the class around the line tells."""
    owner = sources.class_at(row.file, row.line) if row.holder == "object_attribute" else None
    function = sources.function_at(row.file, row.line) if owner else None
    own = parameters(function)[:1]
    bases = {(dotted(base) or "").rsplit(".", 1)[-1] for base in owner.bases} if owner else set()
    return row.source.split(".")[:-1] == own and any(base.endswith("Module") for base in bases)


def _module_attribute(sources: Sources, row: Recompile) -> str:
    if row.value_type == "float":
        return "module_float_attribute"
    if row.value_type != "int":
        return "module_flag_attribute"
    return "per_layer_attribute" if _never_written(sources, row) else "module_int_attribute"


def _never_written(sources: Sources, row: Recompile) -> bool:
    """True when the class is known, only its __init__ sets the attribute, and no other code stores it."""
    owner = sources.class_at(row.file, row.line)
    if owner is None or row.source.count(".") != 1:
        return False
    writers = [f.name for f in owner.body if isinstance(f, ast.FunctionDef) and row.source in _written(f)]
    return writers == ["__init__"] and not _stored_elsewhere(sources, row, owner)


def _stored_elsewhere(sources: Sources, row: Recompile, owner: ast.ClassDef) -> bool:
    within = range(owner.lineno, (owner.end_lineno or owner.lineno) + 1)
    name = attribute_of(row)
    return any(
        node.attr == name and not (file == row.file and node.lineno in within)
        for file, node in sources.stores()
    )


def _written(function: ast.FunctionDef) -> set[str]:
    stored = (n for n in ast.walk(function) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return {name for node in stored if (name := dotted(node))}


def _size(facts: Facts, row: Recompile) -> str:
    if row.holder == "module_attribute" and _PARAMETER.search(row.source):
        return "per_layer_parameter_shapes"
    if pin_of(facts, row):
        return "size_used_as_number"
    if row.benign:
        return "last_partial_batch"
    of_one = bool(row.changes) and all(old in (0, 1) or new in (0, 1) for old, new in row.changes)
    if of_one and _is_bucketed(facts, row):
        return "size_zero_or_one"  # its dims are marked, which does nothing for a size that is 0 or 1
    values = sizes_of(row)
    few = row.blocked_by_limit == 0 and len(values) >= 4 and len(set(values)) == len(values)
    if few and used_again(facts, row) is not False:
        doubling = all(b == 2 * a for a, b in pairwise(sorted(values)))
        return "bucket_ladder_poor_fit" if doubling else "intended_size_variants"
    return "size_drift"


def _is_bucketed(facts: Facts, row: Recompile) -> bool:
    return any(
        (rung.process, rung.file, rung.function) == (row.process, row.file, row.function)
        for rung in facts.report.buckets
    )


def used_again(facts: Facts, row: Recompile) -> bool | None:
    """Did nearly every graph of a row serve more than one call? One that served a single call was made for
    nothing, whoever wanted it. None: not known of all.
    """
    graphs = [g for i in row.compile_ids for g in facts.forwards.get((row.process, i), ())]
    calls = [graph.calls for graph in graphs if graph.calls is not None]
    if not graphs or len(calls) < len(graphs):
        return None
    return sum(n > 1 for n in calls) >= _NEARLY_ALL * len(calls)


def sizes_of(row: Recompile) -> list[int]:
    pairs = [*row.changes, *row.blocked_changes]
    values = [pairs[0][0], *(new for _, new in pairs)] if pairs else []
    return values if all(type(v) is int for v in values) else []


def _identity(row: Recompile) -> str:
    if " and " in row.source:
        return "aliased_arguments"
    texts = " ".join(str(v) for pair in row.changes for v in pair)
    return (
        "function_identity_changes" if "function" in texts or "method" in texts else "object_identity_changes"
    )


def grows_by_one(row: Recompile) -> bool:
    pairs = [p for p in (*row.changes, *row.blocked_changes) if type(p[0]) is int and type(p[1]) is int]
    met = [*(old for old, _ in pairs[:1]), *(new for _, new in pairs)]
    by_one = all(new == old + 1 for old, new in pairs) or all(b == a + 1 for a, b in pairwise(met))
    return bool(pairs) and by_one


def grows_in_cache(facts: Facts, row: Recompile) -> bool:
    """Keys and values in a model's cache object, where it grew: a static one only fills its fields."""
    if not _CACHE.search(row.source):
        return False
    same = (r for r in facts.report.recompiles if _frame(r) == _frame(row) and _CACHE.search(r.source))
    return any(r.kind in ("size", "size_one") and grows_by_one(r) for r in same)


def _frame(row: Recompile) -> tuple[str, str, str | None]:
    return row.process, row.function, row.called_from


def concatenates(sources: Sources, row: Recompile) -> bool:
    """Does the function join tensors to the variable (torch.cat), as a growing cache does?"""
    function = sources.function_at(row.file, row.line)
    root = re.split(r"[.\[]", subject_of(row))[0]
    return any(
        (dotted(call.func) or "").rsplit(".", 1)[-1] in ("cat", "concat", "hstack", "vstack")
        and root in names_in(call)
        for call in calls_in(function)
    )
