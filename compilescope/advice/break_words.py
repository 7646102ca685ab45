"""What to do about a graph break, by its cause. A slug is a rule and the name of its page in the docs."""

from __future__ import annotations

from dataclasses import dataclass

SIDE_EFFECT = "remove_or_guard_side_effect"
TENSOR = "keep_as_tensor_ops"
OUTSIDE = "move_out_of_region"


@dataclass(frozen=True, slots=True)
class BreakWords:
    """``summary`` follows "... in forward(): "; ``wrong`` is what could make the advice wrong."""

    fix_kind: str
    summary: str
    fix: str
    wrong: str


_GUARD = "wrap it in `if not torch.compiler.is_compiling():`, log from the caller, or remove it"
_GUARD_WRONG = "if the output is wanted on every step, log it in the caller from returned tensors instead"
_MOVE = "call it before or after the compiled function, or compile a smaller function without it"

WORDS = {
    "print_in_compiled_region": BreakWords(SIDE_EFFECT, "a print() splits the graph", _GUARD, _GUARD_WRONG),
    "logging_in_compiled_region": BreakWords(
        SIDE_EFFECT, "a logging call splits the graph, even when its level is off", _GUARD, _GUARD_WRONG
    ),
    "warning_in_compiled_region": BreakWords(
        SIDE_EFFECT, "warnings.warn() splits the graph", _GUARD, _GUARD_WRONG
    ),
    "side_effect_io": BreakWords(SIDE_EFFECT, "input or output splits the graph", _GUARD, _GUARD_WRONG),
    "library_debug_code": BreakWords(
        "library_switch_or_disable",
        "debug code of a library splits the graph",
        "switch it off before compiling",
        "the switch may do more than print",
    ),
    "scalar_read": BreakWords(
        TENSOR,
        "a tensor's value is read into Python",
        "keep the value a tensor: leave out .item(), float() or int(), and use tensor operations",
        "if Python needs the number here, return the tensor and read it outside the compiled function",
    ),
    "data_dependent_branch": BreakWords(
        TENSOR,
        "Python branches on a tensor's value",
        "compute both sides and choose with torch.where (or torch.cond for expensive sides)",
        "torch.where computes both sides: an expensive or not-finite side needs torch.cond or a safe input",
    ),
    "backward_data_dependent_branch": BreakWords(
        TENSOR,
        "the backward of a Function branches on a tensor's value: it runs eager and splits the forward",
        "write the backward with tensor operations only: torch.where or clamp instead of `if`",
        "torch.where computes both sides: an expensive or not-finite side needs a safe input",
    ),
    "scalar_read_and_data_dependent_branch": BreakWords(
        TENSOR,
        "tensor values are read into Python and branched on",
        "keep the values tensors: no .item(), and torch.where instead of `if`",
        "torch.where computes both sides: an expensive or not-finite side needs torch.cond or a safe input",
    ),
    "hook_reads_scalar": BreakWords(
        "hook_writes_tensor_buffer",
        "a hook reads a tensor's value into Python on every call",
        "let the hook write into a preallocated buffer (buffer.copy_(value)), and read that after the step",
        "hooks that must stop the run on a value have to stay outside the compiled region",
    ),
    "data_dependent_shape": BreakWords(
        "fixed_shape_with_mask",
        "the shape of a result depends on a tensor's values",
        "keep the shape fixed: a mask with torch.where instead of boolean indexing, nonzero or unique",
        "if few elements are kept, the full shape may compute more than it saves",
    ),
    "recurrent_layer": BreakWords(
        "torch_switch",
        "Dynamo leaves nn.RNN, nn.GRU and nn.LSTM to Python unless it is told to trace them",
        "set torch._dynamo.config.allow_rnn = True before the first call, or compile what is around it",
        "torch calls that support experimental: compare the results, and the time of a step",
    ),
    "numpy_unsupported": BreakWords(
        "replace_with_torch_op",
        "a NumPy function without a torch counterpart splits the graph",
        "write this one function with torch operations; other NumPy calls can stay, Dynamo traces them",
        "results may differ in the last digits: NumPy computes in float64",
    ),
    "custom_op_missing_fake": BreakWords(
        "register_fake",
        "a custom op has no fake implementation",
        "register one with @op.register_fake: it returns an empty tensor of the right shape and dtype",
        "its output may depend on the values of its inputs: then no fake output has the right shape",
    ),
    "context_manager_unsupported": BreakWords(
        OUTSIDE,
        "Dynamo cannot enter this context manager",
        "put the `with` around the call of the compiled function, not inside it",
        "a context manager that changes how tensors behave inside has to stay: then compile its body instead",
    ),
    "backward_in_region": BreakWords(
        OUTSIDE,
        "backward() is called inside the compiled function",
        "compile the forward and the loss, and call backward() outside: its graph is compiled all the same",
        "with compiled autograd a break here is by design",
    ),
    "compiler_disabled_call": BreakWords(
        "accept_or_remove_disable",
        "the function called is marked with torch.compiler.disable",
        "remove the mark if it is no longer needed, or call the function outside the compiled one",
        "the mark may be there because the function cannot be compiled",
    ),
    "explicit_graph_break": BreakWords(
        "remove_explicit_break",
        "the code asks for a graph break",
        "remove torch._dynamo.graph_break()",
        "the break may be there to keep a part out of the graph that compiles wrongly or too slowly",
    ),
    "exception_raised": BreakWords(
        OUTSIDE,
        "an exception is raised inside the compiled function",
        "check the input before the compiled function, or use torch._check for a condition on sizes",
        "if the call raises without torch.compile too, the program is at fault",
    ),
    "time_call": BreakWords(
        OUTSIDE,
        "a clock is read inside the compiled function",
        "time the call from outside",
        "a time that the result depends on cannot move: pass it in as an argument",
    ),
    "random_call": BreakWords(
        "replace_with_torch_op",
        "Python's random numbers split the graph",
        "use torch.rand or pass the number in",
        "torch's generator gives other numbers for the same seed",
    ),
    "optimizer_step": BreakWords(
        "accept_library_break",
        "a learning rate scheduler wraps optimizer.step(), and Dynamo does not trace the wrapper",
        "nothing needs changing: the step behind it is compiled as a graph of its own",
        "nothing is lost unless the wrapper itself does work",
    ),
    "generator_unsupported": BreakWords(
        "materialize_generator",
        "Dynamo cannot trace this generator",
        "build a list before the compiled function",
        "a long or endless generator must not become a list: then iterate outside the compiled function",
    ),
    "copy_of_tensor": BreakWords(
        "replace_with_torch_op",
        "copy.deepcopy() of a tensor cannot be compiled",
        "use tensor.clone()",
        "a copy that must keep hooks or subclass state is not what clone() makes",
    ),
    "skipped_function": BreakWords(
        OUTSIDE,
        "Dynamo does not trace into the function called",
        f"{_MOVE}; a C extension that works on tensors can be a torch.library.custom_op",
        "a cheap call between two large graphs costs little: the split may not matter",
    ),
    "unsupported_method": BreakWords(
        OUTSIDE,
        "Dynamo cannot trace this method call",
        _MOVE,
        "a newer torch may trace it: torch's message names what it knows today",
    ),
    "unsupported_builtin": BreakWords(
        OUTSIDE,
        "Dynamo cannot trace this builtin",
        _MOVE,
        "a newer torch may trace it: torch's message names what it knows today",
    ),
    "unsupported_function": BreakWords(
        OUTSIDE,
        "Dynamo cannot trace this call",
        f"{_MOVE}; a C extension that works on tensors can be a torch.library.custom_op",
        "a newer torch may trace it: torch's message names what it knows today",
    ),
    "break_in_library": BreakWords(
        "library_switch_or_disable",
        "a line of a library splits the graph",
        "look for a switch of the library or a newer version; else compile a smaller function without it",
        "a break in torch's own code is often by design and cheap",
    ),
    "unsupported": BreakWords(OUTSIDE, "Dynamo cannot trace this line", _MOVE, "torch's reason says more"),
}
