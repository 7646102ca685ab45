"""What a bucketed backend may be told beside its ladder and dimensions: the one list of it."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from compilescope.bucketing.inner import Inner, InnerCompiler
from compilescope.bucketing.padding.contract import Pad
from compilescope.bucketing.piecewise import PiecewiseCompiler, SplitOp
from compilescope.errors import UsageError

Build = Literal["capture", "warm_up"]
Fallback = Literal["dynamic", "eager"]
GraphMode = bool | Literal["shared", "pieces"]

_Described = TypeVar("_Described", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``inner`` makes the artifacts: "inductor" (with torch.compile's ``mode`` and ``options``), "aot_eager",
    "eager" or a callable. With several ladders, ``only`` lists the combinations to make and ``budget`` limits
    their number. ``build`` says when rungs are compiled: as soon as Dynamo has captured a graph, or only by
    ``warm_up``, until which calls run eagerly and are counted so.
    ``cuda_graphs`` records static rungs as CUDA graphs, in training forward and backward. Without gradients
    their outputs are valid until the next call of the model unless ``clone_outputs``; with gradients always.
    "shared" records the dynamic artifact at each of their sizes: one compile. "pieces" records what
    ``split_ops`` leave between them, and runs those operators on each replay. Both are for inference.
    ``pad`` are the contracts for ladders with pads. With ``verify`` a padded rung serves only after it has
    been compared with the unpadded graph, in ``warm_up`` at several sizes or at its first call. ``fallback``
    "eager" saves the compile of the dynamic artifact where the ladder serves all sizes that can occur.
    ``split_ops`` (``piecewise.ATTENTION``, or operators of yours) run eagerly between compiled pieces.

    Raises UsageError where they contradict each other.
    """

    inner: Inner = "inductor"
    mode: str | None = None
    options: Mapping[str, Any] | None = None
    only: Sequence[Mapping[str, int]] | None = None
    budget: int | None = None
    build: Build = "capture"
    cuda_graphs: GraphMode = False
    clone_outputs: bool = False
    pad: Sequence[Pad] = ()
    verify: bool = False
    fallback: Fallback = "dynamic"
    split_ops: Sequence[SplitOp] | None = None

    def __post_init__(self) -> None:
        if self.build not in ("capture", "warm_up"):
            raise UsageError(f"build={self.build!r} is neither 'capture' nor 'warm_up'")
        if self.fallback not in ("dynamic", "eager"):
            raise UsageError(f"fallback={self.fallback!r} is neither 'dynamic' nor 'eager'")
        if self.fallback == "eager" and self.cuda_graphs == "shared":
            raise UsageError(
                "cuda_graphs='shared' records the dynamic artifact, which fallback='eager' leaves out"
            )
        if self.cuda_graphs not in (False, True, "shared", "pieces"):
            raise UsageError(f"cuda_graphs={self.cuda_graphs!r} is neither a bool nor 'shared' nor 'pieces'")

    @classmethod
    def named(cls, given: Mapping[str, Any]) -> Options:
        """Raises TypeError for a name that is none, as a call does, but says which was meant."""
        names = [each.name for each in fields(cls)]
        for name in given:
            if name not in names:
                near = nearest(name, names)
                hint = f"did you mean {near!r}?" if near else f"there are {', '.join(names)}"
                raise TypeError(f"there is no option {name!r}: {hint}")
        return cls(**given)

    def given(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def compiler(self) -> InnerCompiler:
        """Raises UsageError for an ``inner`` that torch does not know."""
        if self.split_ops is None:
            return InnerCompiler(self.inner, self.mode, self.options)
        return PiecewiseCompiler(self.split_ops, self.inner, self.mode, self.options)


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Which of ``names`` was probably meant, if any."""
    return next(iter(difflib.get_close_matches(name, names, 1)), None)


def takes_options(function: _Described) -> _Described:
    """Show the options in ``function``'s signature, where help() and editors look for ``**options``."""
    own = inspect.signature(function)
    named = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    options = inspect.signature(Options).parameters.values()
    function.__signature__ = own.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
    return function
