"""What a Hugging Face Trainer logs are results; and the recorded command is run when none is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilescope.launch import Target, run_program

TRAINER = """
import sys
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
    num_key_value_heads=2, max_position_embeddings=32,
)
model = LlamaForCausalLM(config)
rows = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(12)]
settings = TrainingArguments(
    output_dir=sys.argv[1], max_steps=6, per_device_train_batch_size=2, logging_steps=2, save_strategy="no",
    report_to=[], disable_tqdm=True, use_cpu=True, torch_compile=True, torch_compile_backend="eager",
    learning_rate=LEARNING_RATE,
)
Trainer(model=model, args=settings, train_dataset=rows).train()
"""


@pytest.mark.slow
def test_what_the_trainer_logs_is_compared(verify, tmp_path, monkeypatch):
    pytest.importorskip("accelerate")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(TRAINER.replace("LEARNING_RATE", "1e-3"))
    run_program(Target("script", "train.py", ("out",)), output=Path("before"), say=lambda _: None)
    _, same = verify("before", "--set", "torch._dynamo.config.recompile_limit=9", "-n", "1")
    assert same["results"]["compared"] >= 9  # loss, grad_norm and learning_rate, three times
    assert same["results"]["differing"] == []
    script.write_text(TRAINER.replace("LEARNING_RATE", "1e-1"))
    _, other = verify("before", "-n", "1", "--", "train.py", "out")
    assert other["results"]["text"].startswith("results differ: Trainer ")


def test_a_recorded_module_or_code_is_run_again_as_it_was(verify, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = (
        "import torch\nf = torch.compile(torch.sin, backend='eager')\nfor _ in range(7): f(torch.ones(2))\n"
    )
    (tmp_path / "looped.py").write_text(f"import sys\nassert sys.argv[1:] == ['--fast']\n{code}")
    run_program(Target("module", "looped", ("--fast",)), output=Path("module"), say=lambda _: None)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    status, told = verify("../module", "--against", "eager", "-n", "1")
    assert Path.cwd() == elsewhere
    assert (told["compiled"][0]["exit_status"], told["eager"][0]["exit_status"]) == (0, 0)
    assert (told["compiled"][0]["graphs"], told["eager"][0]["graphs"], told["steps"]) == (1, 0, 7)
    assert status in (0, 1)
    _, given = verify("../module", "--against", "eager", "-n", "1", "--", "-c", code)
    assert (given["compiled"][0]["graphs"], given["steps"]) == (1, 7)
