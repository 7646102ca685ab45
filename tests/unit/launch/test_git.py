from __future__ import annotations

import os
import subprocess

import pytest

from compilescope.launch.git import GitQuestion


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "train.py").write_text("one")
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    return folder


def test_clean_and_dirty(repository):
    clean = GitQuestion(repository).answer()
    assert clean["dirty"] is False
    assert len(clean["revision"]) == 40
    (repository / "train.py").write_text("two")
    assert GitQuestion(repository).answer() == {"revision": clean["revision"], "dirty": True}


def test_file_that_git_does_not_know_is_not_dirt(repository):
    (repository / "new.txt").write_text("x")
    assert GitQuestion(repository).answer()["dirty"] is False


def test_no_repository_no_commit_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "plain"
    folder.mkdir()
    assert GitQuestion(folder).answer() is None
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    assert GitQuestion(folder).answer() is None
    assert GitQuestion(tmp_path / "gone").answer() is None


def test_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert GitQuestion(tmp_path).answer() is None


def test_git_that_hangs(tmp_path, monkeypatch):
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nexec sleep 60\n")
    git.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("compilescope.launch.git._ANSWER_S", 0.1)
    assert GitQuestion(tmp_path).answer() is None
