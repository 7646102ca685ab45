"""Put back what running a model has changed in it: a warm-up is no training step."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_log = logging.getLogger(__name__)

KEPT_BYTES = 256 * 2**20
"""How much of a model's parameters is copied, the smallest first: forward code that writes to a parameter in
place is rare, and a second copy of a large model may not fit."""

_STRUCTURE = ("_parameters", "_buffers", "_modules")

_ABSENT = object()


@contextmanager
def side_effects_undone(target: Any) -> Iterator[None]:
    """Afterwards random number generators are as before, and so is every module of ``target``.

    That is its buffers, assigned or written in place; parameters written in place; plain attributes that were
    assigned. Not what was changed inside an attribute, as by appending to a list.
    """
    model = target if isinstance(target, torch.nn.Module) else getattr(target, "__self__", None)
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    kept = [_Module(each) for each in modules]
    tensors = _Tensors(kept)
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        for each in kept:
            each.put_back()
        tensors.put_back()


class _Module:
    """The entries of a module's dictionaries; what they refer to is not copied.

    Of a module that sets itself up at its first call these are the buffers alone.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._with_attributes = not _changes_itself(module)
        self.buffers = dict(module._buffers)
        self.parameters = dict(module._parameters) if self._with_attributes else {}
        self._attributes = _attributes(module)

    def put_back(self) -> None:
        _put_back_entries(self._module._buffers, self.buffers)
        if self._with_attributes:
            _put_back_entries(self._module._parameters, self.parameters)
            self._put_back_attributes()

    def _put_back_attributes(self) -> None:
        own = self._module.__dict__
        for name in _attributes(self._module).keys() - self._attributes.keys():
            del own[name]
        for name, value in self._attributes.items():
            if own.get(name, _ABSENT) is not value:
                own[name] = value


class _Tensors:
    """Copies of buffers and of parameters, up to ``KEPT_BYTES`` of these."""

    def __init__(self, modules: Iterable[_Module]) -> None:
        buffers = _distinct(tensor for each in modules for tensor in each.buffers.values())
        parameters = _distinct(tensor for each in modules for tensor in each.parameters.values())
        parameters.sort(key=lambda each: each.nbytes)
        self._copies = [(each, each.detach().clone()) for each in buffers]
        self._versions: list[tuple[torch.Tensor, int]] = []
        kept = 0
        for each in parameters:
            kept += each.nbytes
            if kept <= KEPT_BYTES:
                self._copies.append((each, each.detach().clone()))
            elif not each.is_inference():
                self._versions.append((each, each._version))

    def put_back(self) -> None:
        with torch.no_grad():
            for tensor, before in self._copies:
                if not _same_values(tensor, before):
                    if tensor.shape != before.shape:
                        tensor.resize_(before.shape)
                    tensor.copy_(before)
        written = [each for each, version in self._versions if each._version != version]
        if written:
            shapes = ", ".join(str(tuple(each.shape)) for each in written[:3])
            _log.warning(
                "the model writes to %d of its own parameters (%s): too large to be kept, so the runs of the "
                "warm-up stay in them; load their values again after it",
                len(written),
                shapes,
            )


def _changes_itself(module: torch.nn.Module) -> bool:
    """At the first call: wrappers for several devices do, and lazy modules, which get their parameters."""
    if type(module).__module__.startswith(("torch.distributed", "torch.nn.parallel")):
        return True
    own = (*module._parameters.values(), *module._buffers.values())
    return any(torch.nn.parameter.is_lazy(each) for each in own)


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    return {name: value for name, value in module.__dict__.items() if name not in _STRUCTURE}


def _put_back_entries(now: dict[str, Any], before: dict[str, Any]) -> None:
    if now.keys() != before.keys() or any(now[name] is not before[name] for name in before):
        now.clear()
        now.update(before)


def _distinct(tensors: Iterable[torch.Tensor | None]) -> list[torch.Tensor]:
    some = (each for each in tensors if each is not None and not torch.nn.parameter.is_lazy(each))
    return list({id(each): each for each in some}.values())


def _same_values(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Nothing is written where nothing changed: a graph that waits for its backward would notice."""
    try:
        return bool(torch.equal(first, second))
    except (NotImplementedError, RuntimeError):
        return False
