"""Torch's graph break texts: place, outcome, type, id, and the user's stack."""

from __future__ import annotations

import pytest
import torch_texts as texts
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.break_causes import causes, plain_reason
from compilescope.analysis.break_text import parse_break, user_stack


@pytest.mark.parametrize(
    ("text", "place", "outcome", "gb_type", "gb_id"),
    [
        (texts.PRINT, ("/home/user/train.py", 14), "resumable", "Failed to trace builtin operator", "GB0059"),
        (texts.BRANCH, ("/home/user/train.py", 16), "resumable", "Data-dependent branching", "GB0170"),
        (
            texts.TAIL_SKIPPED,
            ("/home/user/train.py", 24),
            "tail_skipped",
            "Unsupported context manager",
            "GB0142",
        ),
        (
            texts.LOOP_SKIPPED,
            ("/home/user/lib/util.py", 8),
            "frame_skipped",
            "Unsupported method call",
            "GB0156",
        ),
        (texts.BACKWARD, ("/home/user/train.py", 16), "resumable", "Data-dependent branching", "GB0170"),
    ],
)
def test_texts_of_torch(text: str, place: tuple[str, int], outcome: str, gb_type: str, gb_id: str) -> None:
    found = parse_break(text)
    assert (found.file, found.line) == place
    assert (found.outcome, found.gb_type, found.gb_id) == (outcome, gb_type, gb_id)


def test_the_stack_is_the_users_not_torchs_own() -> None:
    found = parse_break(texts.LOOP_SKIPPED)
    assert [function for _, _, function in found.stack] == ["main", "forward", "debug_shape"]
    assert found.explanation == "Dynamo does not know how to trace method `write` of class `TextIOWrapper`"
    assert found.hint == "Avoid calling `TextIOWrapper.write` in your code."


RNN = """Graph break in user code at /site-packages/torch/nn/modules/container.py:253
Graph Break Reason: Encountered graph break when attempting to trace CALL_FUNCTION_EX: f(*args):

Attempted to wrap RNN, GRU, or LSTM
  Explanation: Dynamo does not support RNN, GRU, or LSTM.
  Hint: It may be possible to write Dynamo tracing rules for this code.
  Hint: Set torch._dynamo.config.allow_rnn=True to enable experimental support

  Developer debug context: LSTM(4, 4)
"""


def test_of_several_hints_the_one_that_names_a_setting_is_kept() -> None:
    assert (parse_break(RNN).hint or "").startswith("Set torch._dynamo.config.allow_rnn=True")
    first = RNN.replace("torch._dynamo.config.", "")
    assert (parse_break(first).hint or "").startswith("It may be possible")


def test_a_recurrent_layer_is_a_cause_of_its_own() -> None:
    assert causes(parse_break(RNN)) == ["recurrent_layer"]
    assert plain_reason(parse_break(RNN)) == "Dynamo leaves nn.RNN, nn.GRU and nn.LSTM to Python"


def test_an_error_report_ends_with_the_users_lines_and_torchs() -> None:
    assert user_stack(texts.FULLGRAPH_ERROR)[0] == ("/home/user/train.py", 13, "block")
    assert user_stack(texts.CONSTRAINT_ERROR) == (("/home/user/train.py", 13, "forward"),)


def test_without_the_first_line_the_traceback_gives_the_place() -> None:
    found = parse_break(texts.PRINT.split("\n", 1)[1])
    assert (found.file, found.line) == ("/home/user/train.py", 14)


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        (texts.PRINT, ["print_in_compiled_region"]),
        (texts.BRANCH, ["data_dependent_branch"]),
        (texts.TAIL_SKIPPED, ["context_manager_unsupported"]),
        (texts.LOOP_SKIPPED, ["side_effect_io"]),
        (texts.BACKWARD, ["data_dependent_branch", "backward_data_dependent_branch"]),
        (texts.SKIPPED_CALL, ["skipped_function"]),
    ],
)
def test_causes(text: str, slugs: list[str]) -> None:
    assert causes(parse_break(text)) == slugs


def test_an_example_inside_an_explanation_is_not_the_cause() -> None:
    found = parse_break(texts.SKIPPED_CALL)
    assert "warn" not in causes(found)[0]
    assert plain_reason(found) == "Dynamo does not trace into posix.getpid()"


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    found = parse_break(text)
    assert causes(found)
    assert found.outcome in ("resumable", "tail_skipped", "frame_skipped")


@given(st.sampled_from([texts.PRINT, texts.LOOP_SKIPPED, texts.TAIL_SKIPPED]), st.data())
def test_a_text_cut_anywhere_is_read(text: str, data: st.DataObject) -> None:
    parse_break(text[: data.draw(st.integers(0, len(text)))])
