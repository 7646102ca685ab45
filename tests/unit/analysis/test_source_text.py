"""Guard sources in a person's words, and what kind of thing holds the value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compilescope.analysis.source_text import readable


@pytest.mark.parametrize(
    ("source", "text", "holder"),
    [
        ("L['task']", "task", "argument"),
        ("task", "task", "argument"),
        ("G['GLOBAL_STEP']", "GLOBAL_STEP", "global"),
        ("L['cfg'].lr", "cfg.lr", "object_attribute"),
        ("L['self'].calls", "self.calls", "module_attribute"),
        ("L['self']._modules['l']._parameters['bias']", "self.l.bias", "module_attribute"),
        ("L['fn']._modules['1'].training", "fn[1].training", "module_attribute"),
        ("self.param_groups[0]['lr']", "self.param_groups[0]['lr']", "container_item"),
        ("L['cache'][0]", "cache[0]", "container_item"),
        ("L['args'][0]", "args[0]", "argument"),
        ("L['kwargs']['scale']", "kwargs['scale']", "argument"),
        ("L['f'].keywords['k']", "f.keywords['k']", "argument"),
        ("L['r'].stop", "r.stop", "object_attribute"),
        ("G['G']['a']", "G['a']", "container_item"),
        ("L['___stack0']", "___stack0", "resume_value"),
        ("L['p'].__closure__[0].cell_contents", "p.__closure__[0].cell_contents", "closure"),
        ("G['__import_torch_dot_nn_dot_modules'].F", "torch.nn.modules.F", "object_attribute"),
    ],
)
def test_sources(source: str, text: str, holder: str) -> None:
    found = readable(source, modules={"self"})
    assert (found.text, found.holder) == (text, holder)


def test_a_free_variable_has_the_name_its_hint_gives() -> None:
    found = readable("probe.__closure__[0].cell_contents", free_name="label")
    assert (found.text, found.holder) == ("label", "closure")


def test_an_attribute_is_a_modules_only_where_that_is_known() -> None:
    assert readable("L['net'].step").holder == "object_attribute"
    assert readable("L['net'].step", modules={"net"}).holder == "module_attribute"


@given(st.text(max_size=80))
def test_any_text_is_shown(source: str) -> None:
    assert isinstance(readable(source).text, str)
