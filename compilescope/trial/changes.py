"""What can be changed from outside the program, and which of it answers which rule: one table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from compilescope.advice import Finding
from compilescope.analysis import Report
from compilescope.trial.ladders import Buckets, planned_buckets

DYNAMIC_SOURCES = "torch.compiler.config.dynamic_sources"
_DYNAMO = "torch._dynamo.config"
_RAISED_LIMIT = 64

_SIZE = re.compile(r"^(?P<source>.+?)(?: dim (?P<dim>\d+))?$")
_EXPRESSION = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\]|\['[\w.]+'\])*")
_RECOMPILE_REF = re.compile(r"recompiles\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Recipe:
    """``is_fix``: it does what the finding asks for. Else it is another change that may help as well.

    ``from_recompiles``: it can only help from so many recompiles on.
    """

    settings: Mapping[str, object] = field(default_factory=dict)
    ignore_calls: bool = False
    dynamic: bool = False
    is_fix: bool = True
    from_recompiles: int = 0


_IGNORED = Recipe(ignore_calls=True)
_DYNAMIC = Recipe(dynamic=True)
_DYNAMIC_INSTEAD = Recipe(dynamic=True, is_fix=False)
_HIGHER_LIMIT = Recipe({f"{_DYNAMO}.recompile_limit": _RAISED_LIMIT}, is_fix=False)
_UNSPEC_INT = Recipe({f"{_DYNAMO}.allow_unspec_int_on_nn_module": True}, is_fix=False)
_SCALARS = Recipe({f"{_DYNAMO}.capture_scalar_outputs": True}, is_fix=False)
_SHAPES = Recipe(
    {f"{_DYNAMO}.capture_dynamic_output_shape_ops": True, f"{_DYNAMO}.capture_scalar_outputs": True},
    is_fix=False,
)
# Without it a float is specialized at most once, unless code branches on it.
_SYMBOLIC_FLOATS = Recipe({f"{_DYNAMO}.specialize_float": False}, is_fix=False, from_recompiles=2)
_SUPPRESS = Recipe({f"{_DYNAMO}.suppress_errors": True}, is_fix=False)
_NO_DYNAMIC_GRAPHS = Recipe(
    {"torch._inductor.config.triton.cudagraph_skip_dynamic_graphs": True}, is_fix=False
)

RECIPES: dict[str, Recipe] = {
    "print_in_compiled_region": _IGNORED,
    "logging_in_compiled_region": _IGNORED,
    "warning_in_compiled_region": _IGNORED,
    "scalar_read": _SCALARS,
    "scalar_read_and_data_dependent_branch": _SCALARS,
    "hook_reads_scalar": _SCALARS,
    "data_dependent_shape": _SHAPES,
    "size_drift": _DYNAMIC,
    "last_partial_batch": _DYNAMIC,
    "equal_sizes_assumed": _DYNAMIC,
    "mark_dynamic_differs": _DYNAMIC,
    "thread_mixed_modes": _DYNAMIC,
    "rank_divergent_shapes": _DYNAMIC_INSTEAD,
    "kv_cache_growth": _DYNAMIC_INSTEAD,
    "bucket_ladder_poor_fit": _DYNAMIC_INSTEAD,
    "intended_size_variants": _DYNAMIC_INSTEAD,
    "int_argument_variants": _DYNAMIC,
    "object_int_attribute": _DYNAMIC_INSTEAD,
    "number_in_container": _DYNAMIC_INSTEAD,
    "module_int_attribute": _UNSPEC_INT,
    "per_layer_attribute": _UNSPEC_INT,
    "float_hyperparameter_python": _SYMBOLIC_FLOATS,
    "module_float_attribute": _SYMBOLIC_FLOATS,
    "optimizer_lr_float": _SYMBOLIC_FLOATS,
    "backend_error": _SUPPRESS,
    "cudagraph_rerecorded": _NO_DYNAMIC_GRAPHS,
    "string_argument_variants": _HIGHER_LIMIT,
    "closure_capture_changes": _HIGHER_LIMIT,
    "function_identity_changes": _HIGHER_LIMIT,
    "object_identity_changes": _HIGHER_LIMIT,
    "global_python_state": _HIGHER_LIMIT,
    "container_growth": _HIGHER_LIMIT,
    "recompile_limit_hit": _HIGHER_LIMIT,
    "recompile_limit_raises": _HIGHER_LIMIT,
}


@dataclass(frozen=True, slots=True)
class Change:
    """What the program's process is told by ``COMPILESCOPE_APPLY``. ``rules`` are those it answers."""

    settings: Mapping[str, object] = field(default_factory=dict)
    ignore_calls: bool = False
    mode: str | None = None
    stance: str | None = None
    time_calls: bool = True
    buckets: tuple[Buckets, ...] = ()
    check_ops: bool = False
    rules: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()  # those of ``rules`` whose own fix it does

    def to_json(self) -> str:
        return json.dumps(
            {
                "settings": dict(self.settings),
                "ignore_calls": self.ignore_calls,
                "mode": self.mode,
                "stance": self.stance,
                "time_calls": self.time_calls,
                "check_ops": self.check_ops,
                "buckets": [asdict(each) for each in self.buckets],
            }
        )

    @property
    def words(self) -> list[str]:
        """One phrase a change: ``torch._dynamo.config.recompile_limit=64``."""
        phrases = [f"{name}={value}" for name, value in self.settings.items()]
        phrases += ["print, warnings and logging left out of compiled code"] if self.ignore_calls else []
        phrases += [each.words() for each in self.buckets]
        phrases += [f"mode={self.mode}"] if self.mode else []
        return phrases + ([f"stance={self.stance}"] if self.stance else [])


def change_for(
    report: Report, findings: Sequence[Finding], rules: Iterable[str], *, bucketed: bool = False
) -> Change:
    """One change for all findings of ``rules``. Rules without a recipe or a finding are left out of it.

    ``bucketed``: sizes of arguments get the bucketed backend, too, with a ladder planned from the recording.
    """
    change = Change()
    for rule in dict.fromkeys(rules):
        own = [finding for finding in findings if finding.rule == rule]
        change = _with_rule(change, report, rule, own, bucketed) or change
    return change


def _with_rule(
    change: Change, report: Report, rule: str, own: Sequence[Finding], bucketed: bool
) -> Change | None:
    recipe = RECIPES.get(rule)
    if recipe is None or not any(_recompiles(finding) >= recipe.from_recompiles for finding in own):
        return None
    settings = dict(change.settings) | dict(recipe.settings)
    buckets = change.buckets
    if recipe.dynamic:
        named = [source for finding in own for source in dynamic_sources(report, finding)]
        if not named:
            return None
        known = [s for s in str(settings.get(DYNAMIC_SOURCES, "")).split(",") if s]
        settings[DYNAMIC_SOURCES] = ",".join(dict.fromkeys([*known, *named]))
        buckets += planned_buckets(report, named) if bucketed else ()
    return replace(
        change,
        settings=settings,
        ignore_calls=change.ignore_calls or recipe.ignore_calls,
        buckets=tuple(dict.fromkeys(buckets)),
        rules=(*change.rules, rule),
        fixes=(*change.fixes, rule) if recipe.is_fix else change.fixes,
    )


def _recompiles(finding: Finding) -> float:
    amount = finding.cost.get("recompiles")
    return amount.value if amount else 0.0


def dynamic_sources(report: Report, finding: Finding) -> list[str]:
    """``x dim 0`` as torch names it: ``L['x']:0``. Only sizes and numbers can be dynamic."""
    found = []
    for ref in finding.refs:
        number = _RECOMPILE_REF.fullmatch(ref)
        row = report.recompiles[int(number[1])] if number else None
        if row is not None and (row.kind == "size" or row.value_type == "int"):
            found.append(_torch_source(row.source))
    return list(dict.fromkeys(source for source in found if source))


def _torch_source(shown: str) -> str | None:
    parts = _SIZE.fullmatch(shown)
    if parts is None or not _EXPRESSION.fullmatch(parts["source"]):
        return None
    root = re.match(r"\w+", parts["source"])
    assert root is not None
    source = f"L['{root[0]}']{parts['source'][root.end() :]}"
    return source if parts["dim"] is None else f"{source}:{parts['dim']}"
