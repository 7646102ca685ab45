"""Programs that are well served have nothing above a note; with a fault planted back, its finding appears."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compilescope.advice import examine
from compilescope.model import load
from compilescope.recording import open_recording

PROGRAM = Path(__file__).parent / "clean_programs.py"
FAULTS = {
    "mlp_training": "print_in_compiled_region",
    "conv_net": "scalar_read",
    "dynamic_loop": "size_drift",
    "regional_blocks": "per_layer_attribute",
    "recurrent": "container_growth",
    "two_networks": "data_dependent_branch",
    "mixed_precision": "dtype_change",
    "compiled_optimizer": "optimizer_lr_float",
    "denoiser": "int_argument_variants",
    "functional": "numpy_unsupported",
    "closures": "closure_capture_changes",
    "global_counter": "global_python_state",
    "dropout_inference": "scalar_read",
    "llama": "print_in_compiled_region",
    "vision_inductor": "size_drift",
}
QUICK = ("mlp_training", "dynamic_loop", "recurrent", "closures")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    made = set()

    def record(name: str) -> Path:
        wanted = QUICK if name in QUICK else [n for n in FAULTS if n not in QUICK]
        if name not in made:
            made.update(wanted)
            words = [sys.executable, "-W", "ignore", str(PROGRAM), str(folder), *wanted]
            subprocess.run(words, check=True, cwd=folder, capture_output=True)
        return folder / name

    return record


def severities(recording: Path) -> dict[str, str]:
    _, found = examine(load(open_recording(recording)))
    return {f.rule: f.severity for f in reversed(found)}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in FAULTS]
)
def test_a_clean_program_is_left_alone_until_a_fault_is_planted(recorded, name):
    clean = recorded(name)
    assert {rule: s for rule, s in severities(clean).items() if s != "note"} == {}
    faulty = severities(clean.with_name(f"{name}.fault"))
    assert faulty.get(FAULTS[name], "missing") not in ("missing", "note"), faulty
