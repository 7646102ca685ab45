# ruff: noqa: E501, W293  torch's lines are as long, and as blank, as torch makes them
"""Texts as torch 2.13 wrote them, shortened only in their Python tracebacks."""

from __future__ import annotations

_HEAD = "Graph break in user code at /home/user/{place}\nGraph Break Reason: {reason}\n"
_CALL = "Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\n"
_URL = (
    " For more details about this graph break, please visit: "
    "https://meta-pytorch.github.io/compile-graph-break-site/gb/{gb}.html\n\n"
)
_STACK = "User code traceback:\n{frames}\n"
_PYTHON = 'Traceback (most recent call last):\n  File "/venv/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper\n'


def _frame(file: str, line: int, function: str, text: str) -> str:
    return f'  File "/home/user/{file}", line {line}, in {function}\n    {text}\n       ^^^^^^^^\n'


MAIN = _frame("train.py", 22, "main", "model(torch.randn(8, 32))")

PRINT = (
    _HEAD.format(place="train.py:14", reason=_CALL)
    + """Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str', 'Size'] (has_kwargs False)
  Hint: Avoid calling builtin `print` with argument types ['str', 'Size']. Consider using an equivalent alternative function/method to `print`.
  Hint: Please report an issue to PyTorch.

  Developer debug context: builtin print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False

"""
    + _URL.format(gb="gb0059")
    + _STACK.format(frames=MAIN + _frame("train.py", 14, "forward", 'print("mean", h.shape)'))
    + _PYTHON
)

BRANCH = (
    _HEAD.format(place="train.py:16", reason="Data-dependent branching")
    + """  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic control flow.

      The branch condition involves a tensor computed as follows:
        # File "/home/user/train.py", line 16, in torch_dynamo_resume_in_forward_at_14, code: if y.mean() > 0:
        gt = gt(mean, 0)
    
  Hint: Use `torch.cond` to express dynamic control flow.

  Developer debug context: attempted to jump with TensorVariable()

"""
    + _URL.format(gb="gb0170")
    + _STACK.format(frames=MAIN + _frame("train.py", 16, "forward", "if y.mean() > 0:"))
    + "NoneType: None\n"
)

TAIL_SKIPPED = (
    _HEAD.format(
        place="train.py:24",
        reason="Encountered graph break that we cannot resume from. Compiling up to the previous resumable state, "
        "then skipping the rest of the function. Graph break encountered:\n",
    )
    + """
Unsupported context manager
  Explanation: Dynamo does not know how to enter a `Stopwatch` context manager.
  Hint: Avoid using the unsupported context manager.

  Developer debug context: Attempted SETUP_WITH/BEFORE_WITH/LOAD_SPECIAL on LazyVariableTracker()

"""
    + _URL.format(gb="gb0142")
    + _STACK.format(frames=MAIN + _frame("train.py", 24, "block", "with watch:"))
    + _PYTHON
)

LOOP_SKIPPED = (
    _HEAD.format(
        place="lib/util.py:8",
        reason="Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
        "Graph break encountered:\n",
    )
    + """
Unsupported method call
  Explanation: Dynamo does not know how to trace method `write` of class `TextIOWrapper`
  Hint: Avoid calling `TextIOWrapper.write` in your code.

  Developer debug context: call_method UserDefinedObjectVariable(TextIOWrapper) write []

"""
    + _URL.format(gb="gb0156")
    + """*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop. Skipping the frame and falling back to eager, as graph breaks in loops are not supported.

"""
    + _URL.format(gb="gb7000")
    + """Stack variable source attribution:
  DictValuesIterator() originated from:
  File "/venv/lib/python3.11/site-packages/torch/nn/modules/container.py", line 410
            return iter(self._modules.values())

"""
    + _STACK.format(
        frames=MAIN
        + _frame("lib/blocks.py", 35, "forward", "x = s(x)")
        + _frame("lib/util.py", 8, "debug_shape", "sys.stderr.write(tag)")
    )
    + _PYTHON
)

SKIPPED_CALL = (
    _HEAD.format(place="train.py:62", reason=_CALL)
    + """Attempted to call function marked as skipped
  Explanation: Dynamo does not know how to trace the builtin `posix.getpid.` This function is either a Python builtin (e.g. _warnings.warn) or a third-party C/C++ Python extension (perhaps created with pybind).
  Hint: If it is a Python builtin, please file an issue on GitHub so the PyTorch team can add support for it.

"""
    + _URL.format(gb="gb0007")
    + _STACK.format(frames=MAIN + _frame("train.py", 62, "f", "os.getpid()"))
)

BACKWARD = BRANCH.replace("in forward\n", "in backward\n").replace(
    "Reason: Data-dependent branching",
    "Reason: " + _CALL + "Data-dependent branching\n  Higher Order Operator: autograd.Function",
)

FULLGRAPH_ERROR = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py", line 10, in compile
torch._dynamo.exc.Unsupported: Data-dependent branching
  Explanation: Detected data-dependent branching

from user code:
   File "/home/user/train.py", line 13, in block
    h = soft_shrink(h, 0.1)
        ^^^^^^^^^^^^^^^^^^^
  File "/venv/lib/python3.11/site-packages/torch/_library/custom_ops.py", line 863, in __call__
    return self._opoverload(*args, **kwargs)

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace
"""

CONSTRAINT_ERROR = """Constraints violated (L['x'].size()[0])! For more information, run with TORCH_LOGS="+dynamic".
  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (4).

User stack:
  File "/home/user/train.py", line 13, in forward
    return self.lin(x) + self.row_bias
"""
