"""Slugs for what makes a line break a graph, from the type, the explanation and torch's own context."""

from __future__ import annotations

import re

from compilescope.analysis.break_text import BreakText
from compilescope.model.clipped import clipped

# (slug, pattern over type, explanation and context, in one string). First match wins: the particular first.
_RULES = tuple(
    (slug, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for slug, pattern in (
        ("print_in_compiled_region", r"builtin (?:operator )?`?print\b"),
        ("logging_in_compiled_region", r"logging\.Logger|LoggingLoggerVariable"),
        ("warning_in_compiled_region", r"builtin `_?warnings\.warn"),
        ("scalar_read", r"Tensor\.item\(\)|Tensor\.tolist\(\)|\.item\(\) call|_local_scalar_dense"),
        ("data_dependent_branch", r"^Data-dependent branching|data-dependent (?:jump|assert)|generic_jump"),
        ("data_dependent_shape", r"Dynamic shape operator|Dynamic slicing|data-dependent|unbacked"),
        ("recurrent_layer", r"RNN, GRU, or LSTM"),
        ("numpy_unsupported", r"numpy"),
        ("custom_op_missing_fake", r"no fake impl|fake tensor call|Missing fake kernel"),
        ("context_manager_unsupported", r"context manager"),
        ("backward_in_region", r"Tensor\.backward\(\)|requires_grad_?\(\)|autograd\.grad"),
        ("compiler_disabled_call", r"torch\.compiler\.disable"),
        ("explicit_graph_break", r"torch\._dynamo\.graph_break\(\)"),
        ("exception_raised", r"Observed exception|raise"),
        ("time_call", r"builtin `time\.\w+"),
        ("random_call", r"builtin `\S*\s*\S*random\."),
        ("optimizer_step", r"Optimizer|lr_scheduler"),
        ("generator_unsupported", r"generator|yield"),
        ("copy_of_tensor", r"copy\.deepcopy"),
        ("side_effect_io", r"TextIOWrapper|method `?write|builtin (?:operator )?`?open\b|\.write\b"),
        ("skipped_function", r"marked as skipped|skipped function"),
        ("unsupported_method", r"Unsupported method call|call_method"),
        ("unsupported_builtin", r"builtin operator|Python builtin"),
        ("unsupported_function", r"Unsupported function call|call_function"),
    )
)
_CALLED = re.compile(r"(?:builtin|the function) `([^`]+)`")
_BACKWARD_FUNCTION = "backward"


def causes(text: BreakText) -> list[str]:
    """At least one slug; "unsupported" when none of the known ones fits."""
    blob = "\n".join(part for part in (text.gb_type, text.explanation, text.context) if part)
    found = next((slug for slug, pattern in _RULES if pattern.search(blob)), "unsupported")
    in_backward = bool(text.stack) and text.stack[-1][2] == _BACKWARD_FUNCTION
    if found == "data_dependent_branch" and in_backward:
        return [found, "backward_data_dependent_branch"]
    return [found]


_PLAIN = {
    "print_in_compiled_region": "print() cannot be compiled",
    "logging_in_compiled_region": "a logging call cannot be compiled",
    "warning_in_compiled_region": "warnings.warn() cannot be compiled",
    "scalar_read": "a tensor's value is read into Python",
    "data_dependent_branch": "Python branches on a tensor's value",
    "data_dependent_shape": "the shape of a result depends on a tensor's values",
    "recurrent_layer": "Dynamo leaves nn.RNN, nn.GRU and nn.LSTM to Python",
    "numpy_unsupported": "a NumPy function has no torch counterpart",
    "custom_op_missing_fake": "a custom op has no fake implementation",
    "context_manager_unsupported": "Dynamo cannot enter this context manager",
    "backward_in_region": "backward() is called inside the compiled region",
    "compiler_disabled_call": "the function called is marked with torch.compiler.disable",
    "explicit_graph_break": "the code asks for a graph break here",
    "exception_raised": "an exception is raised inside the compiled region",
    "optimizer_step": "Dynamo does not trace into this optimizer wrapper",
    "generator_unsupported": "Dynamo cannot trace this generator",
    "copy_of_tensor": "copy.deepcopy() of a tensor cannot be compiled",
    "side_effect_io": "input or output cannot be compiled",
    "time_call": "a clock is read inside the compiled region",
    "random_call": "Python's random numbers cannot be compiled",
    "skipped_function": "Dynamo does not trace into the function called",
}


def plain_reason(text: BreakText) -> str:
    """One plain sentence, without torch's vocabulary where the cause is known."""
    slug = causes(text)[0]
    plain = _PLAIN.get(slug)
    if plain is None:
        return clipped((text.explanation or text.gb_type).rstrip("."), 200)
    called = _CALLED.search(text.explanation or "") if slug == "skipped_function" else None
    return f"Dynamo does not trace into {called[1].rstrip('.')}()" if called else plain
