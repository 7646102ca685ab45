"""Sample reports, made again from fixtures and compared byte by byte. Remake them with ``tools/samples``."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from compilescope.views.html._code import unpack

ROOT = Path(__file__).parents[3]
PACKED = re.compile(r'(<script type="application/octet-stream" id="[\w-]+">)([^<]*)(?=</script>)')


def _tool() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("samples_tool", str(ROOT / "tools" / "samples"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


TOOL = _tool()
PAGES = TOOL.pages()


def unpacked(page: str) -> str:
    """With the texts in place of their compressed form, which depends on the zlib that Python has."""
    return PACKED.sub(lambda found: found[1] + "\0".join(unpack(found[2])), page)


@pytest.mark.parametrize("name", PAGES)
def test_a_sample_is_what_this_version_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    kept = (TOOL.SAMPLES / f"{name}.html").read_bytes().decode("utf-8")
    made = PAGES[name]().encode("utf-8", "backslashreplace").decode("utf-8")
    for old, new in zip(unpacked(kept).split("\n"), unpacked(made).split("\n"), strict=False):
        assert new == old
    assert unpacked(made) == unpacked(kept)


def test_samples_and_pictures_are_all_there_and_small() -> None:
    assert {path.stem for path in TOOL.SAMPLES.glob("*.html")} == set(PAGES)
    sizes = [path.stat().st_size for path in TOOL.SAMPLES.iterdir()]
    assert max(sizes) <= 1_600_000
    assert sum(sizes) <= 12_000_000
    pictures = list(TOOL.PICTURES.glob("*.png"))
    assert {path.stem for path in pictures} == {shot[0] for shot in TOOL.SHOTS}
    assert all(path.stat().st_size <= TOOL.MOST_PICTURE_BYTES for path in pictures)


def test_the_damaged_log_says_what_is_damaged() -> None:
    page = (TOOL.SAMPLES / "damaged-log.html").read_text(encoding="utf-8")
    assert "<strong>Damaged.</strong> 2 places" in page
