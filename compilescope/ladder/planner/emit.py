"""A planned ladder as code or configuration for whoever is to use it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from statistics import median_low

from compilescope.ladder.ladder import BucketLadder
from compilescope.ladder.planner.errors import PlanError
from compilescope.ladder.planner.joint import JointLadder
from compilescope.ladder.planner.plan import LadderPlan
from compilescope.ladder.planner.serve import AnyLadder, static_sizes

_SMALLEST_DYNAMIC = 2  # torch gives sizes 0 and 1 code of their own


def ladder_code(plan: LadderPlan) -> str:
    """Python that makes the ladder for the bucketed backend."""
    ladder = plan.chosen.ladder
    if isinstance(ladder, BucketLadder):
        return f"from compilescope.ladder import BucketLadder\n\nladder = {ladder!r}\n"
    product = ladder.as_product()
    rows = "".join(f"    {name!a}: {each!r},\n" for name, each in product.ladders)
    if ladder.pads is not None:
        return f"from compilescope.ladder import BucketLadder\n\nladder = {{\n{rows}}}\n"
    pairs = "".join(f"    {dict(pair)!a},\n" for pair in product.only or ())
    return (
        "from compilescope.ladder import BucketLadder, LadderProduct\n\n"
        f"ladders = {{\n{rows}}}\nonly = [\n{pairs}]\n"
        f"ladder = LadderProduct.of(ladders, only, budget={product.budget})\n"
    )


def mark_dynamic_code(plan: LadderPlan) -> str:
    """``torch._dynamo.mark_dynamic`` with bounds and specializations: torch.compile without our backend."""
    ladder = plan.chosen.ladder
    parts = [_mark(name, number, *_marked(ladder, number)) for number, name in enumerate(plan.symbols)]
    return "import torch\n\n" + _about_marks(ladder) + "\n".join(parts)


def _about_marks(ladder: AnyLadder) -> str:
    if isinstance(ladder, JointLadder) and ladder.combinations:
        pairs = ", ".join("x".join(map(str, pair)) for pair in ladder.combinations)
        return (
            "# Pad x to the first of these combinations that holds it. A mark is of one dimension: it\n"
            f"# cannot say which sizes come together: {pairs}\n"
        )
    padded = ladder.pads is not None if isinstance(ladder, JointLadder) else bool(ladder.pad_rungs)
    return "# Pad x to the ladder first: sizes are those of the padded tensor.\n" if padded else ""


def _marked(ladder: AnyLadder, axis: int) -> tuple[list[int], int, int, int | None]:
    """Specialized sizes, smallest and largest size, hint."""
    if isinstance(ladder, JointLadder):
        sizes = sorted({pair[axis] for pair in ladder.static_rungs})
        if ladder.highest is None:
            return sizes, sizes[0], sizes[-1], None
        return sizes, 1, ladder.highest[axis], None
    sizes = static_sizes(ladder)
    spans = ladder.range_rungs
    lowest = min([*sizes, *(span.low for span in spans)])
    highest = max([*sizes, *(span.high for span in spans)])
    return sizes, lowest, highest, median_low(span.hint for span in spans) if spans else None


def _mark(name: str, axis: int, sizes: list[int], lowest: int, highest: int, hint: int | None) -> str:
    special = [size for size in sizes if size >= _SMALLEST_DYNAMIC]
    lines = ["torch._dynamo.mark_dynamic(", "    x,", f"    {axis},"]
    lines += [f"    min={max(lowest, _SMALLEST_DYNAMIC)},"]
    lines += [f"    max={max(highest, _SMALLEST_DYNAMIC)},"]
    lines += [f"    hint_override={hint},"] if hint is not None and hint >= _SMALLEST_DYNAMIC else []
    if special:
        lines += ["    specialize_on=["]
        lines += [f"        lambda size: size == {size}," for size in special]
        lines += ["    ],"]
    lines += [")"]
    if lowest < _SMALLEST_DYNAMIC:
        why = "  # torch gives a size of 1 code of its own, and refuses the mark"
        lines = [f"if x.shape[{axis}] > 1:{why}", *(f"    {line}" for line in lines)]
    return "\n".join([f"# x is the tensor, {axis} its dimension of {name!a}", *lines, ""])


def vllm_config(plan: LadderPlan) -> str:
    """JSON for vLLM's ``--compilation-config``: pads as capture sizes, pins as sizes compiled for themselves.

    Raises PlanError for two symbols: vLLM buckets the number of tokens alone.
    """
    ladder = plan.chosen.ladder
    if not isinstance(ladder, BucketLadder):
        raise PlanError("vLLM buckets one size, the number of tokens", hint="choose it with --symbol")
    config: dict[str, list[int]] = {}
    static = static_sizes(ladder)
    if static:
        config["compile_sizes"] = static
    if ladder.pad_rungs:
        config["cudagraph_capture_sizes"] = [pad.size for pad in ladder.pad_rungs]
    if len(ladder.range_rungs) > 1:
        config["compile_ranges_endpoints"] = [span.high for span in ladder.range_rungs[:-1]]
    return json.dumps(config) + "\n"


def pad_list(plan: LadderPlan) -> str:
    """The pads in ascending order, one a line; for two symbols a line each, the name in front, or a line for
    each combination: 'batch=4 length=512'.

    Raises PlanError for a plan without pads.
    """
    ladder = plan.chosen.ladder
    if isinstance(ladder, BucketLadder) and ladder.pad_rungs:
        return "".join(f"{pad.size}\n" for pad in ladder.pad_rungs)
    if isinstance(ladder, JointLadder) and ladder.pads is not None:
        rows = zip(ladder.names, ladder.pads, strict=True)
        return "".join(
            f"{ascii(name)[1:-1]} {' '.join(str(p.size) for p in each.pad_rungs)}\n" for name, each in rows
        )
    if isinstance(ladder, JointLadder) and ladder.combinations:
        names = [ascii(name)[1:-1] for name in ladder.names]
        return "".join(
            " ".join(f"{name}={size}" for name, size in zip(names, pair, strict=True)) + "\n"
            for pair in ladder.combinations
        )
    raise PlanError("this plan has no pads", hint="plan pads alone with --pad")


FORMS: Mapping[str, Callable[[LadderPlan], str]] = {
    "python": ladder_code,
    "mark-dynamic": mark_dynamic_code,
    "vllm": vllm_config,
    "pads": pad_list,
}
