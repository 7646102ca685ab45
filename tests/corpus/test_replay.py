"""Stored recordings of the whole corpus: the reports must say what the corpus says, without torch."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_live import CORPUS, disagreements, programs

RECORDINGS = CORPUS / "recordings"


@pytest.mark.parametrize("program", programs())
def test_the_report_of_a_stored_recording_agrees_with_the_corpus(program: str) -> None:
    assert disagreements(program, RECORDINGS / f"{program}.zip") == []


def test_every_stored_recording_belongs_to_a_program() -> None:
    stored = {path.stem for path in RECORDINGS.glob("*.zip")}
    assert stored == set(programs())


def test_stored_recordings_stay_small() -> None:
    assert sum(path.stat().st_size for path in Path(RECORDINGS).glob("*.zip")) < 4_000_000
