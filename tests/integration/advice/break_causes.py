"""One function for each cause of a graph break, run by the test beside it; comments name the rules."""

import contextlib
import copy
import json
import logging
import random
import time
import warnings
import zlib

import numpy as np
import torch

compiled = torch.compile(backend="eager")
x = torch.ones(2)
log = logging.getLogger("causes")


@compiled
def prints(x):
    print("p")  # print_in_compiled_region
    return x + 1


@compiled
def logs(x):
    log.debug("p %s", x.shape)  # logging_in_compiled_region
    return x + 1


@compiled
def warns(x):
    warnings.warn("careful", stacklevel=2)  # warning_in_compiled_region
    return x + 1


@compiled
def writes_file(x):
    y = x + 1
    with open("/dev/null", "w") as file:  # noqa: PTH123  # side_effect_io
        file.write("x")
    return y * 2


@compiled
def branches(x):
    if x.sum() > 0:  # data_dependent_branch
        return x + 1
    return x - 1


@compiled
def reads_scalar(x):
    y = x.sum().item()  # scalar_read
    return x * y


@compiled
def reads_and_branches(x):
    y = x.sum().item()  # scalar_read_and_data_dependent_branch
    if x.mean() > 0:
        y += 1
    return x * y


@compiled
def leaves_numpy(x):
    y = x + 1
    np.save("/dev/null", y.numpy())  # numpy_unsupported
    return y * 2


@compiled
def unknown_shape(x):
    y = torch.nonzero(x)  # data_dependent_shape
    return y * 2


@compiled
def calls_c_extension(x):
    n = zlib.crc32(b"abc")  # skipped_function
    return x + n % 3


@contextlib.contextmanager
def timer():
    start = time.perf_counter()  # time_call
    yield
    log.debug("%s", time.perf_counter() - start)


@compiled
def enters_context(x):
    y = x + 1
    with timer():
        y = y * 2
    return y + 1


@compiled
def breaks_inside_try(x):
    try:
        print("x")  # print_in_compiled_region
        y = x + 1
    except ValueError:
        y = x
    return y


@compiled
def raises(x):
    y = x + 1
    if y.shape[0] == 2:
        raise ValueError("bad shape")  # exception_raised
    return y


seen = []


def keeps_mean(module, inputs, output):
    seen.append(output.mean().item())  # hook_reads_scalar


@compiled
def takes_generator(x, numbers):
    for n in numbers:  # generator_unsupported
        x = x + n
    return x


@compiled
def draws(x):
    random.shuffle([1, 2])
    return x + random.random()  # random_call


@torch.compiler.disable
def disabled(x):
    return x * 2


@compiled
def calls_disabled(x):
    return disabled(x + 1) * 2  # compiler_disabled_call


@compiled
def asks_for_break(x):
    y = x + 1
    torch._dynamo.graph_break()  # explicit_graph_break
    return y * 2


@compiled
def library_breaks(x):
    y = x + 1
    return y * len(json.dumps([1]))  # break_in_library


@compiled
def copies(x):
    return copy.deepcopy(x + 1) * 2  # copy_of_tensor


@compiled
def needs_two_changes(x):
    y = x + 1
    print("a")  # print_in_compiled_region
    z = y * 2
    n = zlib.crc32(b"abc")  # skipped_function
    return z + n


def main():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    model[0].register_forward_hook(keeps_mean)
    hooked = torch.compile(model, backend="eager")
    for _ in range(3):
        hooked(x)
        for function in (
            prints, logs, warns, writes_file, branches, reads_scalar, reads_and_branches, leaves_numpy,
            unknown_shape, calls_c_extension, enters_context, breaks_inside_try, draws, calls_disabled,
            asks_for_break, library_breaks, copies, needs_two_changes,
        ):  # fmt: skip
            function(x)
        takes_generator(x, (i for i in range(3)))
        with contextlib.suppress(ValueError):
            raises(x)


main()
