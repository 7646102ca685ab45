"""One function for each cause of a recompile, run by the test beside it, which has the rules."""

import torch

ones = torch.ones
compiled = torch.compile(backend="eager")


def module(cls):
    made = cls()
    return made, torch.compile(made, backend="eager")


@torch.compile(backend="eager", dynamic=False)
def sizes(x):
    return x * 2


@compiled
def zero_or_one(x):
    return x * 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.rate, self.name, self.flag, self.items = 0, 0.5, "a", False, []


class StepCounter(Net):
    def forward(self, x):
        self.calls += 1
        return x * self.calls


class FloatAttribute(Net):
    def forward(self, x):
        return x * self.rate


class TextAttribute(Net):
    def forward(self, x):
        return x * (2 if self.name == "b" else 3)


class FlagAttribute(Net):
    def forward(self, x):
        return x * 2 if self.flag else x * 3


class GrowingList(Net):
    def forward(self, x):
        self.items.append(1)
        return x * len(self.items)


class TrainOrEval(Net):
    def forward(self, x):
        return torch.nn.functional.dropout(x, training=self.training)


class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x):
        return x * self.index


@compiled
def int_argument(x, n):
    return x * 2 if n % 2 else x * n


@compiled
def float_argument(x, rate):
    return x * rate


@compiled
def text_argument(x, task):
    return x * len(task)


@compiled
def flag_argument(x, causal):
    return x * 2 if causal else x * 3


@compiled
def optional_argument(x, mask):
    return x * 2 if mask is None else x + mask


step = 0


@compiled
def global_number(x):
    return x * step


def closures():
    def made(k):
        @compiled
        def closure(x):
            return x * k

        return closure

    return [made(k) for k in range(4)]


@compiled
def function_argument(x, f):
    return f(x)


@compiled
def class_argument(x, kind):
    return x * kind.value


@compiled
def grad_modes(x):
    return x * 2


@compiled
def requires_grads(x):
    return x * 2


@compiled
def dtypes(x):
    return x * 2


@compiled
def strides(x):
    return x * 2


@compiled
def ranks(x):
    return x * 2


@compiled
def autocasts(x):
    return x @ x


@compiled
def list_grows(x, parts):
    return x * len(parts)


@compiled
def list_order(x, parts):
    return x * parts[0]


@compiled
def dict_keys(x, table):
    for value in table.values():
        x = x * value
    return x


@compiled
def dict_order(x, table):
    for value in table.values():
        x = x * value
    return x


@compiled
def pinned(x):
    return x + ones(4)


@compiled
def branches_on_size(x):
    return x * 2 if x.shape[0] > 5 else x * 3


@compiled
def equal_sizes(x, y):
    return (x + 1).sum() + (y + 1).sum()


def attributes():
    _, counter = module(StepCounter)
    _, growing = module(GrowingList)
    rate, with_rate = module(FloatAttribute)
    text, with_text = module(TextAttribute)
    flag, with_flag = module(FlagAttribute)
    mode, with_mode = module(TrainOrEval)
    for i in range(5):
        counter(ones(2))
        growing(ones(2))
        rate.rate, text.name, flag.flag, mode.training = i + 0.5, "abcde"[i], i % 2 == 0, i % 2 == 0
        for call in (with_rate, with_text, with_flag, with_mode):
            call(ones(2))
    layers = [Layer(i) for i in range(5)]
    for layer in layers:
        layer.compile(backend="eager")
        layer(ones(2))


def arguments():
    global step
    for i in range(5):
        step += 1
        global_number(ones(2))
        int_argument(ones(2), i + 2)
        float_argument(ones(2), i + 0.5)
        text_argument(ones(2), "abcde"[i])
        flag_argument(ones(2), i % 2 == 0)
        list_grows(ones(2), [ones(1)] * (i + 1))
        class_argument(ones(2), type("Kind", (), {"value": 2}))
        function_argument(ones(2), (torch.sin, torch.cos, torch.tan, torch.exp, torch.abs)[i])
    for call in closures():
        call(ones(2))
    for mask in (None, ones(2)):
        optional_argument(ones(2), mask)
    for parts in ([1, 2], [2, 1], [3, 1]):
        list_order(ones(2), parts)
    for table in ({"a": 1}, {"b": 1}, {"c": 1}):
        dict_keys(ones(2), table)
    for table in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
        dict_order(ones(2), table)


def tensors():
    for n in (4, 5, 6):
        sizes(ones(n))
    for n in (4, 1, 0, 1, 4):
        zero_or_one(ones(n))
    for n in (3, 4, 8, 9):
        branches_on_size(ones(n))
    for n, m in ((3, 3), (4, 4), (5, 6)):
        equal_sizes(ones(n), ones(m))
    for _ in range(2):
        grad_modes(ones(2))
        requires_grads(ones(2))
        autocasts(ones(4, 4))
        with torch.no_grad():
            grad_modes(ones(2))
        requires_grads(ones(2, requires_grad=True))
        with torch.autocast("cpu"):
            autocasts(ones(4, 4))
    for dtype in (torch.float32, torch.float64, torch.int64):
        dtypes(ones(2, dtype=dtype))
    strides(ones(4, 4))
    strides(ones(4, 8)[:, ::2])
    ranks(ones(4))
    ranks(ones(4, 4))
    marked = ones(4)
    torch._dynamo.mark_dynamic(marked, 0)
    try:
        pinned(marked)
    except Exception as error:
        print(type(error).__name__)


attributes()
arguments()
tensors()
