"""Words of a rule made fit for one case: what to change hangs on what the value is and where it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compilescope.advice.facts import Facts
from compilescope.advice.pins import is_loop, pin_of
from compilescope.advice.recompile_words import WORDS, RecompileWords
from compilescope.analysis.report import Recompile


def words_for(facts: Facts, rule: str, row: Recompile) -> RecompileWords:
    words, fit = WORDS[rule], _FITTED.get(rule)
    return fit(facts, row, words) if fit else words


def _size_used_as_number(facts: Facts, row: Recompile, words: RecompileWords) -> RecompileWords:
    pin = pin_of(facts, row)
    if pin is None or not is_loop(facts.sources, pin):
        return words
    return replace(
        words,
        summary="the loop runs over {source}, so each length is unrolled and compiled by itself",
        fix="compile the body of the loop and loop outside, or use an operation of torch that loops by "
        "itself (cumsum, torch.vmap); few lengths: pad to them, call each once first",
    )


_FITTED: dict[str, Callable[[Facts, Recompile, RecompileWords], RecompileWords]] = {
    "size_used_as_number": _size_used_as_number,
}
