"""A changed copy of a program's folder."""

from __future__ import annotations

import pytest

from compilescope.errors import UsageError
from compilescope.launch import Target
from compilescope.trial.overlay import overlay


@pytest.fixture
def program(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "pkg" / "deep").mkdir(parents=True)
    (home / "train.py").write_text("import pkg.deep.mod\n")
    (home / "pkg" / "__init__.py").write_text("")
    (home / "pkg" / "deep" / "mod.py").write_text("VALUE = 1\n")
    (home / "data.txt").write_text("data")
    monkeypatch.chdir(home)
    return home


def test_only_what_changed_is_a_copy(program, tmp_path):
    changed = {program / "pkg" / "deep" / "mod.py": "VALUE = 2\n"}
    made = overlay(Target("script", "train.py", ("--x",)), changed, tmp_path / "copy")
    assert (made.root / "pkg" / "deep" / "mod.py").read_text() == "VALUE = 2\n"
    assert (program / "pkg" / "deep" / "mod.py").read_text() == "VALUE = 1\n"
    assert (made.root / "data.txt").is_symlink()
    assert not (made.root / "train.py").is_symlink()
    assert (made.root / "pkg" / "__init__.py").is_symlink()
    target = made.target(Target("script", "train.py", ("--x",)))
    assert (target.name, target.args) == (str(made.root / "train.py"), ("--x",))


def test_its_files_are_named_like_the_originals(program, tmp_path, monkeypatch):
    made = overlay(Target("script", "train.py"), {}, tmp_path / "copy")
    assert made.shown(f"rule|{made.root}/pkg/a.py|f|x") == "rule|pkg/a.py|f|x"
    assert made.shown("rule|other.py|f|x") == "rule|other.py|f|x"
    monkeypatch.chdir(tmp_path)
    assert made.shown(f"{made.root}/a.py") == "home/a.py"
    monkeypatch.chdir("/")
    assert made.shown(f"{made.root}/a.py").endswith("home/a.py")


@pytest.mark.parametrize("target", [Target("module", "pkg"), Target("script", "-"), Target("code", "pass")])
def test_only_script_files_have_a_folder(program, tmp_path, target):
    with pytest.raises(UsageError, match="script file"):
        overlay(target, {}, tmp_path / "copy")


def test_files_elsewhere_stay(program, tmp_path):
    with pytest.raises(UsageError, match="not below"):
        overlay(Target("script", "train.py"), {tmp_path / "lib.py": ""}, tmp_path / "copy")
