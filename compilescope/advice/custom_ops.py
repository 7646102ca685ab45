"""Rules for custom operators, from what ``torch.library.opcheck`` said of those that the program calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Severity
from compilescope.advice.op_check import PASSED, OpCheck


@dataclass(frozen=True, slots=True)
class _Words:
    fix_kind: str
    severity: Severity
    summary: str
    fix: str
    wrong: str


WORDS: dict[str, _Words] = {
    "custom_op_schema_hides_mutation": _Words(
        "declare_mutation",
        "high",
        "{op} writes to an argument that its schema does not declare as mutable: compiled code may move or "
        "drop that write",
        "name the argument in mutates_args of torch.library.custom_op, or write Tensor(a!) in the schema",
        "the write is of a value that nobody reads afterwards",
    ),
    "custom_op_schema_hides_aliasing": _Words(
        "return_new_tensor",
        "high",
        "{op} returns its argument, or a view of it, and its schema says that outputs are new",
        "return a clone, or declare the alias in the schema: (Tensor(a) x) -> Tensor(a)",
        "nothing is written to either tensor later",
    ),
    "custom_op_missing_fake": _Words(
        "register_fake",
        "medium",
        "{op} has no fake implementation: torch.compile cannot trace it",
        "add one with {op}.register_fake: it returns empty tensors of the output's shape and dtype",
        "the operator is never called in compiled code",
    ),
    "custom_op_fake_differs": _Words(
        "correct_fake",
        "high",
        "{op}: its fake implementation promises another output than the real one returns",
        "make shape, strides, dtype and device of the fake output those of the real one",
        "the operator is never called in compiled code",
    ),
    "custom_op_autograd_unregistered": _Words(
        "register_autograd",
        "high",
        "{op} computes gradients in a way that compiled code does not see",
        "register the backward with torch.library.register_autograd",
        "no gradient goes through the operator",
    ),
    "custom_op_fails_compiled": _Words(
        "correct_fake",
        "medium",
        "{op} does something else under torch.compile than eagerly",
        "compare the operator's outputs and gradients with and without torch.compile",
        "it is random, or differs only by rounding",
    ),
}


def custom_ops(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    known = {c for site in facts.report.graph_breaks for c in site.causes}
    for check in facts.op_checks:
        for rule, told in _failures(check):
            # The graph break has a finding of its own.
            if not (rule == "custom_op_missing_fake" and rule in known):
                yield _finding(facts, check, rule, told)


def _failures(check: OpCheck) -> Iterator[tuple[str, str]]:
    """The root of each failure: a hidden alias fails two tests, a gradient of its own three."""
    schema, fake, autograd = (
        check.failure(test) for test in ("test_schema", "test_faketensor", "test_autograd_registration")
    )
    found = dict[str, str]()
    if schema and "mutat" in schema:
        found["custom_op_schema_hides_mutation"] = schema
    if schema and "alias" in schema:
        found["custom_op_schema_hides_aliasing"] = schema
    if fake and "fake impl" in fake and "regist" in fake:
        found["custom_op_missing_fake"] = fake
    elif fake and "alias" not in fake and not autograd:
        found["custom_op_fake_differs"] = fake
    if autograd:
        found["custom_op_autograd_unregistered"] = autograd
    rest = [told for told in check.results.values() if told != PASSED]
    if rest and not found:
        found["custom_op_fails_compiled"] = rest[0]
    yield from found.items()


def _finding(facts: Facts, check: OpCheck, rule: str, told: str) -> Finding:
    words = WORDS[rule]
    notes = [f"torch.library.opcheck: {told.splitlines()[0][:300]}"]
    notes += [f"its schema: {check.schema}"] if check.schema else []
    telling = Telling(
        rule=rule,
        fix_kind=words.fix_kind,
        summary=words.summary.replace("{op}", check.op),
        fix=words.fix.replace("{op}", check.op.rpartition("::")[2]),
        subject=check.op,
        could_be_wrong=words.wrong,
        notes=tuple(notes),
    )
    code = facts.sources.line(check.file, check.line) if check.file and check.line else None
    place = Place(check.file, check.line, check.function, code, check.called)
    found = finding(facts, Cause(), place, telling, words.severity)
    amount = Amount(check.calls, "counted", "calls from Python in the run that was checked")
    return with_cost(found, {"op_calls": amount})
