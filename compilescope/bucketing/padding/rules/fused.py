"""Operations that do a layer's work: pooling, resizing, the fast path of torch's transformer layers."""

from __future__ import annotations

from typing import Any

from compilescope.bucketing.padding.operation import Operation, tensors_in
from compilescope.bucketing.padding.rows import Rows
from compilescope.bucketing.padding.values import Values, truth

_KEY_PADDING = 1
"""``mask_type`` of a mask of keys alone, one row for each sample."""


def spatial(dims: int) -> Any:
    """An operation over the last ``dims`` dimensions of each image: rows may be samples or channels."""

    def rule(operation: Operation) -> list[Rows]:
        source = operation.tensors[0]
        rows = operation.rows(source)
        if any(axis is not None for axis in rows.axes[source.dim() - dims :]):
            raise operation.refuse("over padded rows reaches from the last real row into them")
        axes = tuple(axis and axis.with_pads(Values(finite=axis.pads.finite)) for axis in rows.axes)
        return [Rows(axes, Values(finite=rows.whole.finite)) for _ in tensors_in(operation.result)]

    return rule


def transformer_layer(operation: Operation) -> list[Rows]:
    """Attention over the second dimension, whose padded rows a mask must hide, and otherwise row by row."""
    source, mask = operation.tensors[0], operation.get("mask")
    rows = operation.rows(source)
    batch, keys, features = rows.axes if len(rows.axes) == 3 else (None, None, rows.axes[-1])
    if features is not None or operation.get("need_weights"):
        raise operation.refuse("is not known to keep rows apart")
    given = [operation.tensors[0], *(operation.get(name, source) for name in ("key", "value"))]
    if any(each is not source for each in given):
        raise operation.refuse("of queries and keys that differ has no rule")
    if mask is not None and operation["mask_type"] != _KEY_PADDING:
        raise operation.refuse("with a mask of pairs has no rule")
    hides = None if mask is None else operation.rows(mask).axes[-1]
    if keys is not None and (hides is None or truth(hides.seen).only != 1):
        raise operation.refuse("over padded keys needs a mask that hides them")
    finite = tuple(axis and axis.with_pads(Values(finite=axis.pads.finite)) for axis in (batch, keys, None))
    return [Rows(finite, Values(finite=rows.whole.finite)) for _ in tensors_in(operation.result)]


_POOLS = {
    1: ("avg_pool1d", "adaptive_avg_pool1d", "reflection_pad1d", "replication_pad1d"),
    2: ("avg_pool2d", "_adaptive_avg_pool2d", "adaptive_max_pool2d", "max_pool2d_with_indices"),
    3: ("avg_pool3d", "_adaptive_avg_pool3d", "adaptive_max_pool3d", "max_pool3d_with_indices"),
}
_RESIZES = {
    1: ("upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_linear1d"),
    2: (
        "upsample_nearest2d",
        "_upsample_nearest_exact2d",
        "upsample_bilinear2d",
        "_upsample_bilinear2d_aa",
        "upsample_bicubic2d",
        "_upsample_bicubic2d_aa",
        "reflection_pad2d",
        "replication_pad2d",
    ),
    3: ("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d", "reflection_pad3d"),
}

RULES: dict[str, Any] = {
    **{
        name: spatial(dims) for table in (_POOLS, _RESIZES) for dims, names in table.items() for name in names
    },
    **dict.fromkeys(("_transformer_encoder_layer_fwd", "_native_multi_head_attention"), transformer_layer),
}
