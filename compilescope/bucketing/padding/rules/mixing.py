"""Operations along a dimension: sums, softmax, norms, losses. Along rows they need pads that do not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compilescope.bucketing.padding.operation import Operation, sizes, tensors_in
from compilescope.bucketing.padding.rows import Axis, Rows
from compilescope.bucketing.padding.rules.products import lowest
from compilescope.bucketing.padding.values import ANYTHING, FINITE, INF, TRUTH, Values, exactly

_NEUTRAL = {
    "sum": 0.0,
    "nansum": 0.0,
    "prod": 1.0,
    "amax": -INF,
    "max": -INF,
    "argmax": -INF,
    "logsumexp": -INF,
    "amin": INF,
    "min": INF,
    "argmin": INF,
    "any": 0.0,
    "all": 1.0,
    "count_nonzero": 0.0,
    "linalg_vector_norm": 0.0,
}
"""What an entry must be to leave the result alone."""

_GIVES_PLACES = ("argmax", "argmin", "max", "min")

_KEEPS_BOUNDS = ("mean", "amax", "amin", "max", "min")


def reduction(operation: Operation) -> list[Rows]:
    source = operation.tensors[0]
    rows = operation.rows(source)
    over = operation.dims(source)
    if operation.name in ("max", "min") and len(operation.tensors) == 2:
        raise operation.refuse("of two tensors has no rule")
    for dim in over:
        axis = rows.axes[dim] if source.dim() else None
        if axis is not None:
            _check_neutral(operation, axis, rows.whole)
            _check_place(operation, axis, over)
    keep = bool(operation.get("keepdim", False))
    axes = [
        None if dim in over else axis and axis.with_pads(_reduced(operation.name, axis.pads))
        for dim, axis in enumerate(rows.axes)
        if keep or dim not in over
    ]
    found = Rows(tuple(axes), _reduced(operation.name, rows.whole))
    _, *beside = tensors_in(operation.result)
    among = _reduced_rows(rows, over) if operation.name in _GIVES_PLACES else None
    if operation.name in ("argmax", "argmin"):
        return [replace(found, among=among)]
    return [found, *(found if each.dtype.is_floating_point else _as_places(found, among) for each in beside)]


def _reduced_rows(rows: Rows, over: tuple[int, ...]) -> Any:
    axis = rows.axes[over[0]] if len(over) == 1 and rows.axes else None
    return axis.rows if axis is not None and axis.is_plain else None


def _as_places(rows: Rows, among: Any = None) -> Rows:
    """What is returned beside values: where they were."""
    places = Values(0, finite=True)
    return Rows(tuple(axis and axis.with_pads(places) for axis in rows.axes), places, among=among)


def _check_neutral(operation: Operation, axis: Axis, whole: Values) -> None:
    neutral = _NEUTRAL.get(operation.name)
    if neutral is None:
        raise operation.refuse("over padded rows counts them")
    if operation.name == "linalg_vector_norm" and operation["ord"] <= 0:
        raise operation.refuse("over padded rows counts them")
    if axis.seen.only != neutral and not _is_no_better(operation, axis.seen, whole):
        raise operation.refuse(f"over padded rows needs a mask that makes them {neutral:g}")


def _is_no_better(operation: Operation, pads: Values, whole: Values) -> bool:
    """Of equals the first is chosen, and padding is last; but a gradient is shared out among equals."""
    if operation.has_gradient and operation.name in ("amax", "amin", "max", "min"):
        return False
    if operation.name in ("amax", "max", "argmax"):
        return pads.is_at_most(whole.low)
    return operation.name in ("amin", "min", "argmin") and pads.number and pads.low >= whole.high


def _check_place(operation: Operation, axis: Axis, over: tuple[int, ...]) -> None:
    """An index into rows is the same in a padded tensor, unless something lies outside of them."""
    if operation.name in _GIVES_PLACES and (axis.outer != 1 or len(over) > 1):
        raise operation.refuse("gives a place in rows that are folded into others")


def _reduced(name: str, values: Values) -> Values:
    if name in _KEEPS_BOUNDS:
        return values
    if name == "sum":
        if values.only == 0:
            return values
        return Values(0 if values.low >= 0 else -INF, 0 if values.high <= 0 else INF, values.finite)
    if name in ("any", "all"):
        return TRUTH
    if name in ("argmax", "argmin", "count_nonzero"):
        return Values(0, finite=True)
    if name in ("linalg_vector_norm", "var", "std"):
        return Values(0, INF, values.finite)
    return Values(finite=values.finite)


def softmax(operation: Operation) -> Rows:
    source = operation.tensors[0]
    rows = operation.rows(source)
    dim = operation.dim(source)
    own = rows.axes[dim]
    if own is not None and not own.seen.is_at_most(lowest(source)):
        raise operation.refuse("over padded rows needs a mask that makes them -inf")
    share = _SHARES[operation.name]
    among = own is not None and rows.axis_count == 2
    axes = [
        axis and axis.with_pads(share(axis.pads, axis.seen if among else axis.pads)) for axis in rows.axes
    ]
    finite = all(axis.pads.finite for place, axis in enumerate(axes) if axis is not None and place != dim)
    whole = share(rows.whole, FINITE)
    if own is not None:
        is_masked = own.pads.is_at_most(lowest(source))
        masked = exactly(0) if is_masked and finite else Values(0, 1, finite)
        axes[dim] = (
            own.with_pads(masked, exactly(0)) if share is not _logarithm_of_share else own.with_pads(ANYTHING)
        )
    return Rows(tuple(axes), replace(whole, finite=whole.finite and finite, number=whole.number and finite))


def _share(values: Values, some: Values) -> Values:
    """A softmax of entries, of which real rows have ``some``: nan only where all of them are masked."""
    return Values(
        0, 1, values.number and values.below_inf and (values.finite or some.low > -INF or some.finite)
    )


def _logarithm_of_share(values: Values, some: Values) -> Values:
    """It is infinite where one is masked."""
    return Values(-INF, 0, values.finite, _share(values, some).number)


def _safe_share(values: Values, _: Values) -> Values:
    """Where all of them are masked it is 0, and no more is asked of real rows than of any."""
    return Values(0, 1, values.number and values.below_inf)


_SHARES = {"_softmax": _share, "_safe_softmax": _safe_share, "_log_softmax": _logarithm_of_share}


def running(operation: Operation) -> list[Rows]:
    """cumsum and its like: an entry depends on those before it, and padded rows come last."""
    source = operation.tensors[0]
    rows = operation.rows(source)
    axis = rows.axes[operation.dim(source)] if source.dim() else None
    if axis is not None and not axis.is_plain:
        raise operation.refuse("runs through padded rows that are folded into another dimension")
    axes = tuple(each and each.with_pads(Values(finite=each.pads.finite)) for each in rows.axes)
    return [Rows(axes, Values(finite=rows.whole.finite))] * len(tensors_in(operation.result))


def along(operation: Operation) -> list[Rows]:
    """Sorting, rolling and the like within each row."""
    source = operation.tensors[0]
    rows = operation.rows(source)
    for dim in operation.dims(source, "dims" if "dims" in operation.arguments else "dim"):
        if source.dim() and rows.axes[dim] is not None:
            raise operation.refuse("over padded rows moves them among the real ones")
    _, *beside = tensors_in(operation.result)
    is_place = operation.name == "argsort"
    return [_as_places(rows) if is_place else rows, *(_as_places(rows) for _ in beside)]


def gated(operation: Operation) -> Rows:
    """One half of the features times a share by the other."""
    source = operation.tensors[0]
    rows = operation.rows(source)
    if rows.axes[operation.dim(source)] is not None:
        raise operation.refuse("over padded rows moves them among the real ones")

    def product(values: Values) -> Values:
        return values if values.only == 0 else Values(finite=values.finite)

    axes = tuple(axis and axis.with_pads(product(axis.pads), product(axis.seen)) for axis in rows.axes)
    return Rows(axes, product(rows.whole))


def layer_norm(operation: Operation) -> list[Rows]:
    source = operation.tensors[0]
    rows = operation.rows(source)
    width = len(operation["normalized_shape"])
    if any(axis is not None for axis in rows.axes[source.dim() - width :]):
        raise operation.refuse("over padded rows counts them")
    return _finite_like(operation, rows)


def batch_norm(operation: Operation) -> list[Rows]:
    source = operation.tensors[0]
    rows = operation.rows(source)
    is_training = operation.get("training", operation.name == "_batch_norm_with_update")
    if rows.has_axis and (is_training or operation.get("running_mean") is None):
        raise operation.refuse("in training takes its statistics, and those it keeps, from padded rows too")
    if source.dim() > 1 and rows.axes[1] is not None:
        raise operation.refuse("has padded rows for channels")
    return _finite_like(operation, rows)


def group_norm(operation: Operation) -> list[Rows]:
    rows = operation.rows(operation.tensors[0])
    if any(axis is not None for axis in rows.axes[1:]):
        raise operation.refuse("over padded rows counts them")
    return _finite_like(operation, rows)


def _finite_like(operation: Operation, rows: Rows) -> list[Rows]:
    """The normalized tensor, and statistics of it: of each row, or of none."""
    is_regular = operation.get("eps") is None or operation["eps"] > 0  # else a row of zeros is divided by 0
    axes = tuple(
        axis and axis.with_pads(Values(finite=axis.pads.finite and is_regular)) for axis in rows.axes
    )
    whole = Values(finite=rows.whole.finite and is_regular)
    found = []
    for out in tensors_in(operation.result):
        carried = [operation.carries(size) for size in out.shape]
        own = [axis if of_rows else None for axis, of_rows in zip(axes, carried, strict=False)]
        if len(own) != out.dim() or any(c and a is None for c, a in zip(carried, own, strict=True)):
            raise operation.refuse("is not known to keep rows apart")
        found.append(Rows(tuple(own), whole))
    return found


def nll_loss(operation: Operation) -> list[Rows]:
    """The mean is over targets that are not ignored: padded ones must be."""
    target = operation.rows(operation["target"])
    ignored = operation["ignore_index"]
    per_row = operation["reduction"] == 0
    axis = target.axes[0] if target.axes else None
    if axis is not None and axis.pads.only != ignored and not per_row:
        raise operation.refuse(f"counts padded rows: pad its targets with ignore_index ({ignored})")
    if operation.rows(operation["self"]).axes[-1] is not None:
        raise operation.refuse("has padded rows for classes")
    finite = Values(finite=operation.rows(operation["self"]).whole.finite)
    loss = Rows(tuple(each and each.with_pads(finite) for each in target.axes), finite)
    scalar = Rows((), FINITE)
    return [loss if per_row else scalar, scalar]


def pointwise_loss(operation: Operation) -> Rows:
    first = operation.rows(operation.tensors[0])
    if operation["reduction"] != 0 and first.has_axis:
        raise operation.refuse("over padded rows counts them: use reduction='none' and masked_mean")
    if any(operation.rows(other).axes != first.axes for other in operation.tensors[1:2]):
        for a, b in zip(first.axes, operation.rows(operation.tensors[1]).axes, strict=True):
            if (a is None) != (b is None) or (a and b and not a.aligns_with(b)):
                raise operation.refuse("puts rows beside others that they do not belong to")
    finite = Values(finite=all(operation.rows(each).whole.finite for each in operation.tensors))
    return Rows(tuple(axis and axis.with_pads(finite) for axis in first.axes), finite)


def no_rows(operation: Operation) -> list[Rows]:
    """Reading a number, or counting what a mask keeps: only of tensors without padded rows."""
    if operation.has_rows:
        raise operation.refuse("of padded rows depends on them")
    return [Rows((None,) * len(sizes(out)), FINITE) for out in tensors_in(operation.result)]


MOVES = ("sort", "argsort", "topk", "flip", "roll")

SLOPE_OF_ONE = (
    "sum",
    "nansum",
    "amax",
    "amin",
    "max",
    "min",
    "cumsum",
    "cummax",
    "cummin",
    "nll_loss_forward",
)

_REDUCTIONS = (*_NEUTRAL, "mean", "var", "std", "var_mean", "median", "nanmedian", "mode", "norm")

RULES: dict[str, Any] = {
    **dict.fromkeys(_REDUCTIONS, reduction),
    **dict.fromkeys(_SHARES, softmax),
    **dict.fromkeys(("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"), running),
    **dict.fromkeys(MOVES, along),
    "glu": gated,
    **dict.fromkeys(("native_layer_norm", "_fused_rms_norm"), layer_norm),
    **dict.fromkeys(
        ("native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm", "_batch_norm_with_update"),
        batch_norm,
    ),
    **dict.fromkeys(("_native_batch_norm_legit_no_training", "_batch_norm_no_update"), batch_norm),
    "native_group_norm": group_norm,
    "nll_loss_forward": nll_loss,
    **dict.fromkeys(
        ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "soft_margin_loss"),
        pointwise_loss,
    ),
    **dict.fromkeys(("_local_scalar_dense", "nonzero", "masked_select", "equal"), no_rows),
}

BEARS_TAILS = (*_REDUCTIONS, *_SHARES, "native_layer_norm", "_fused_rms_norm")

TAKES_SIZES = frozenset(("native_layer_norm", "native_group_norm"))
