"""No line of the user's code may run when a guarded value is read: every way in has a tripwire.

Lazy proxies load what they stand for when their ``__class__`` is asked, a ``defaultdict`` grows when a
missing key is looked up, a property may do anything. Guards fail on just such objects.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from compilescope.capture._access import read
from compilescope.capture._inert import UnreadableError
from compilescope.capture._telling import told

_TRIPPED: list[str] = []


@pytest.fixture(autouse=True)
def _no_user_code() -> Iterator[None]:
    _TRIPPED.clear()
    yield
    assert _TRIPPED == []


def _trap(name: str, answer: Any = None) -> Callable[..., Any]:
    def tripped(*_: Any, **__: Any) -> Any:
        _TRIPPED.append(name)
        return answer

    return tripped


def _attempt(reading: Callable[[], Any]) -> Any:
    try:
        return reading()
    except UnreadableError as error:
        return error


class _Everything:
    """Each special method that reading could touch by accident."""

    x = property(_trap("property"))
    __getattr__ = _trap("__getattr__")
    __getitem__ = _trap("__getitem__")
    __len__ = _trap("__len__", 1)
    __iter__ = _trap("__iter__", iter(()))
    __eq__ = _trap("__eq__", True)
    __hash__ = _trap("__hash__", 1)
    __bool__ = _trap("__bool__", True)
    __repr__ = _trap("__repr__", "")
    __str__ = _trap("__str__", "")
    __format__ = _trap("__format__", "")
    __index__ = _trap("__index__", 1)
    __contains__ = _trap("__contains__", True)


class _LyingClass:
    __class__ = property(_trap("__class__", dict))


class _DictProperty:
    __dict__ = property(_trap("__dict__", {"x": 1}))


class _LazyModule(types.ModuleType):
    def __getattribute__(self, name: str) -> Any:
        _TRIPPED.append(f"module {name}")
        return super().__getattribute__(name)


class _Meta(type):
    __eq__ = _trap("metaclass __eq__", False)
    __hash__ = type.__hash__
    __instancecheck__ = _trap("metaclass __instancecheck__", True)
    __subclasscheck__ = _trap("metaclass __subclasscheck__", True)
    __mro__ = property(_trap("metaclass __mro__", (object,)))
    __dict__ = property(_trap("metaclass __dict__", {}))  # type: ignore[misc]
    __module__ = property(_trap("metaclass __module__", "m"))
    __name__ = property(_trap("metaclass __name__", "n"))

    def __getattr__(cls, name: str) -> Any:
        _TRIPPED.append(f"metaclass __getattr__ {name}")
        raise AttributeError(name)


class _OfMeta(metaclass=_Meta):
    z = 1


class _HoldsOfMeta:
    held = _OfMeta()


class _CollidingKey:
    """Hashes like the string it is not."""

    def __hash__(self) -> int:
        return hash("x")

    __eq__ = _trap("key __eq__", False)


class _MissingDict(dict[str, int]):
    __missing__ = _trap("__missing__", 1)


class _ListOfLies(list[int]):
    __getitem__ = _trap("list __getitem__")
    __len__ = _trap("list __len__", 3)
    __iter__ = _trap("list __iter__", iter(()))


class _DictOfLies(dict[str, int]):
    __getitem__ = _trap("dict __getitem__")
    __len__ = _trap("dict __len__", 3)
    __iter__ = _trap("dict __iter__", iter(()))
    __contains__ = _trap("dict __contains__", True)
    keys = _trap("dict keys", ())
    get = _trap("dict get")


class _StrOfLies(str):
    __eq__ = _trap("str __eq__", True)
    __hash__ = str.__hash__
    __getitem__ = _trap("str __getitem__", "")
    __format__ = _trap("str __format__", "")


class _IntOfLies(int):
    __int__ = _trap("int __int__", 1)
    __eq__ = _trap("int __eq__", True)
    __abs__ = _trap("int __abs__", 1)
    __hash__ = int.__hash__


class _Callable:
    __call__ = _trap("__call__")

    def __getattr__(self, name: str) -> Any:
        _TRIPPED.append(f"callable __getattr__ {name}")
        raise AttributeError(name)


class _Data:
    __get__ = _trap("__get__", 1)
    __set__ = _trap("__set__")


class _NonData:
    __get__ = _trap("__get__", 1)


class _Descriptors:
    data = _Data()
    non_data = _NonData()
    shadowed = _NonData()
    cls = classmethod(_trap("classmethod"))

    def __init__(self) -> None:
        self.__dict__["data"] = 1
        self.__dict__["shadowed"] = 2


class _OverridingTensor(torch.Tensor):  # type: ignore[misc]
    dtype = property(_trap("dtype", torch.int8))
    device = property(_trap("device", torch.device("meta")))
    layout = property(_trap("layout", torch.strided))
    requires_grad = property(_trap("requires_grad", True))
    size = _trap("size", (1,))
    stride = _trap("stride", (1,))

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        _TRIPPED.append("__torch_function__")
        return NotImplemented


class _DispatchingTensor(torch.Tensor):  # type: ignore[misc]
    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, dispatch_sizes_strides_policy="sizes"
        )

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function: Any, *_: Any) -> Any:
        _TRIPPED.append(f"__torch_dispatch__ {function}")
        return 1


_VALUES: dict[str, Any] = {
    "everything": _Everything(),
    "lying class": _LyingClass(),
    "dict property": _DictProperty(),
    "metaclass instance": _OfMeta(),
    "metaclass": _OfMeta,
    "missing": _MissingDict(),
    "colliding key": {_CollidingKey(): 1, "x": 2},
    "list": _ListOfLies([1]),
    "hostile tuple key": {("x", _CollidingKey()): 1},
    "dict": _DictOfLies(a=1),
    "str": _StrOfLies("s"),
    "int": _IntOfLies(5),
    "callable": _Callable(),
    "method of callable": types.MethodType(_Callable(), 1),
    "method": types.MethodType(_trap("method"), 1),
    "tensor": torch.ones(2).as_subclass(_OverridingTensor),
    "dispatching tensor": _DispatchingTensor(torch.ones(2)),
    "holds": _HoldsOfMeta(),
    "descriptors": _Descriptors(),
}


@pytest.mark.parametrize("name", _VALUES)
@pytest.mark.parametrize(
    "source",
    [
        "L['v'].x",
        "L['v'].z",
        "L['v'].held",
        "L['v'].data",
        "L['v'].non_data",
        "L['v'].cls",
        "L['v'].__dict__['x']",
        "L['v'].__closure__",
        "L['v'].cell_contents",
        "L['v']['x']",
        "L['v'][0]",
        "L['v'][('x', 1)]",
        "len(L['v'])",
        "type(L['v'])",
        "list(dict.keys(L['v']))",
        "L['v'].size()[0]",
        "L['v'].stride()[0]",
    ],
)
def test_reading_runs_no_user_code(name: str, source: str) -> None:
    scope = {"v": _VALUES[name]}
    _attempt(lambda: read(source, scope, {}))


@pytest.mark.parametrize("name", _VALUES)
def test_telling_runs_no_user_code_and_always_tells(name: str) -> None:
    assert type(_attempt(lambda: told(_VALUES[name]))["t"]) is str


def test_reading_a_lazy_module_does_not_load_it() -> None:
    module = _LazyModule("lazy")
    _TRIPPED.clear()
    _attempt(lambda: read("L['v'].x", {"v": module}, {}))


def test_a_missing_key_of_a_defaultdict_is_not_made() -> None:
    users = collections.defaultdict(list, a=[1])
    assert isinstance(_attempt(lambda: read("L['v']['b']", {"v": users}, {})), UnreadableError)
    assert dict(users) == {"a": [1]}


def test_a_shadowed_descriptor_is_read_where_python_reads_it() -> None:
    assert read("L['v'].shadowed", {"v": _Descriptors()}, {}) == 2


def test_a_tensor_that_lies_is_told_as_it_is() -> None:
    said = told(_VALUES["tensor"])["v"]
    assert (said["size"], said["dtype"], said["device"]) == ([2], "float32", "cpu")


def test_a_symbolic_size_is_not_specialized() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    environment = ShapeEnv()
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])
    mode = FakeTensorMode(shape_env=environment)
    fake = mode.from_tensor(torch.ones(5, 3), symbolic_context=context)
    assert isinstance(fake.shape[0], torch.SymInt)
    told(fake)
    assert environment.guards == []
