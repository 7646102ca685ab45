"""What to do about a compile that ended in an error. A slug is a rule and the name of its page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailureWords:
    """``{op}``, ``{dim}`` and ``{size}`` in a summary stand for what torch's message names."""

    fix_kind: str
    summary: str
    fix: str
    wrong: str


WORDS = {
    "custom_op_missing_fake": FailureWords(
        "register_fake",
        "the custom op {op} has no fake implementation, so nothing of the function can be compiled",
        "register one beside the op: a function under @op.register_fake that returns an empty tensor "
        "of the right shape and dtype",
        "the shape in the diff is a guess: it must be the shape the op really returns",
    ),
    "dynamic_dim_pinned": FailureWords(
        "make_partner_broadcast",
        "{dim} was marked dynamic, but the code allows only the size {size}",
        "make the other operand broadcast over that dim (size 1), or leave the mark out",
        "maybe_mark_dynamic or allow_ignore_mark_dynamic silence the error, but the size stays pinned",
    ),
    "fullgraph_violation": FailureWords(
        "remove_break_or_fullgraph",
        "fullgraph=True turns the first line Dynamo cannot trace into an error",
        "remove the break at this line, or compile without fullgraph=True",
        "fullgraph=True also captures .item() and boolean masks: without it other lines may break",
    ),
    "recompile_limit_raises": FailureWords(
        "see_guard",
        "fullgraph=True turns the recompile limit into an error",
        "make what changes between calls the same, or data",
        "with a limit above the number of values that ever come, each is compiled once and no call raises",
    ),
    "suppressed_error": FailureWords(
        "fix_or_exclude",
        "compiling failed, the error was suppressed, and the function runs eager without a word",
        "turn torch._dynamo.config.suppress_errors off to see the error, then fix the line or leave it out "
        "of the compiled function",
        "the error may be in a part that hardly runs: then leaving it eager costs nothing",
    ),
    "backend_error": FailureWords(
        "fix_or_exclude",
        "the compiler behind Dynamo failed",
        'check with backend="aot_eager": if that works, the fault is Inductor\'s; leave the operation '
        "out with torch.compiler.disable, or try another torch version",
        "the fault may be the machine's: no C++ compiler, no memory, no driver",
    ),
    "error_in_compiled_code": FailureWords(
        "fix_error",
        "the code raises an error while it is traced",
        "run it without torch.compile: if it raises too, the program is at fault",
        "an error only under torch.compile is a limit of Dynamo",
    ),
}

# A backend error or a suppressed one whose text names a library of the cache that is not whole.
DAMAGED_FILE = FailureWords(
    "delete_cached_file",
    "a file of Inductor's cache is damaged",
    "delete it: the next run compiles it again; if more of them are, delete the whole cache",
    "a disk that is full, or two machines that share the cache directory, damage the next one as well",
)
