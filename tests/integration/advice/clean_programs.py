"""Programs that torch.compile serves well, each with a fault that can be planted back.

``python clean_programs.py FOLDER NAME...`` records every program named twice, as ``NAME`` and ``NAME.fault``.
"""

import random
import sys
from pathlib import Path

import torch
from torch import nn

import compilescope

BACKEND = "aot_eager"


class Mlp(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        self.fault = fault

    def forward(self, x):
        if self.fault:
            print("forward", end="\r")
        return self.layers(x)


def mlp_training(fault):
    model = torch.compile(Mlp(fault), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()


class ConvNet(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(4, 2)
        self.fault = fault

    def forward(self, x):
        features = self.body(x).flatten(1)
        if self.fault:
            features = features / features.abs().max().item()
        return self.head(features)


def conv_net(fault):
    net = ConvNet(fault)
    model = torch.compile(net, backend=BACKEND)
    for _ in range(4):
        model(torch.randn(2, 3, 8, 8)).sum().backward()
    net.eval()
    with torch.no_grad():
        model(torch.randn(2, 3, 8, 8))


def dynamic_loop(fault):
    @torch.compile(backend=BACKEND, dynamic=not fault)
    def normalize(x):
        return (x - x.mean(0)) / (x.std(0) + 1e-5)

    for tokens in range(3, 15):
        normalize(torch.randn(tokens, 4))


class Block(nn.Module):
    def __init__(self, index, fault):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.scale = nn.Parameter(torch.ones(1))
        self.index, self.fault = index, fault

    def forward(self, x):
        y = x + self.attention(x, x, x, need_weights=False)[0] * self.scale
        return y * (self.index + 1) if self.fault else y


def regional_blocks(fault):
    blocks = [Block(index, fault) for index in range(5)]
    for block in blocks:
        block.compile(backend=BACKEND)
    for _ in range(3):
        x = torch.randn(2, 4, 8)
        for block in blocks:
            x = block(x)


class Recurrent(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.cell, self.history, self.fault = nn.GRUCell(4, 4), [], fault

    def forward(self, x, state):
        state = self.cell(x, state)
        if self.fault:
            self.history.append(state.detach())
        return state * (len(self.history) + 1)


def recurrent(fault):
    model, state = torch.compile(Recurrent(fault), backend=BACKEND), torch.zeros(2, 4)
    with torch.no_grad():
        for _ in range(6):
            state = model(torch.randn(2, 4), state)


def two_networks(fault):
    @torch.compile(backend=BACKEND)
    def generate(net, noise):
        return net(noise)

    @torch.compile(backend=BACKEND)
    def judge(net, image):
        score = net(image)
        if fault and score.mean() > 0:
            score = score * 2
        return score

    make, tell = nn.Linear(3, 6), nn.Linear(6, 1)
    for _ in range(4):
        judge(tell, generate(make, torch.randn(2, 3))).sum().backward()


def mixed_precision(fault):
    net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    model = torch.compile(net, backend=BACKEND)
    for step in range(6):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            dtype = (torch.float32, torch.bfloat16)[step % 2] if fault else torch.float32
            model(torch.randn(2, 4, dtype=dtype)).float().sum().backward()


def compiled_optimizer(fault):
    parameter = nn.Parameter(torch.ones(4))
    rate = 0.1 if fault else torch.tensor(0.1)
    optimizer = torch.optim.SGD([parameter], lr=rate)

    @torch.compile(backend=BACKEND)
    def step():
        optimizer.step()

    for number in range(6):
        parameter.grad = torch.ones(4)
        step()
        for group in optimizer.param_groups:
            if fault:
                group["lr"] = 0.1 / (number + 2) if number % 2 else number
            else:
                group["lr"].fill_(0.1 / (number + 2))


def denoiser(fault):
    net, table = nn.Linear(8, 8), torch.randn(10, 8)

    @torch.compile(backend=BACKEND)
    def denoise(x, time):
        if fault:
            return net(x) - table[time] if time % 2 else net(x)
        return net(x) + table.index_select(0, time)

    for time in range(8):
        denoise(torch.randn(2, 8), time if fault else torch.tensor([time]))


def functional(fault):
    import numpy as np

    def loss(weight, x):
        scale = np.random.default_rng(0).normal() if fault else 1.0
        return (x @ weight).square().mean() * scale

    @torch.compile(backend=BACKEND)
    def gradient(weight, x):
        if fault:
            np.save("/dev/null", x.sum(0).numpy())
        return torch.func.grad(lambda w: (x @ w).square().mean())(weight)

    for _ in range(3):
        gradient(torch.randn(4), torch.randn(3, 4))


def closures(fault):
    def scaled_by(factor):
        @torch.compile(backend=BACKEND)
        def scale(x, by):
            return x * by + factor

        return scale

    once = scaled_by(1)
    for number in range(6):
        scale = scaled_by(number) if fault else once
        scale(torch.ones(3), torch.tensor(2.0))


STEPS = 0


def global_counter(fault):
    @torch.compile(backend=BACKEND)
    def warmed_up(x, step):
        return x * (STEPS if fault else step)

    global STEPS
    for number in range(5):
        STEPS = number + 2
        warmed_up(torch.ones(3), torch.tensor(number))


def dropout_inference(fault):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)).eval()
    if fault:
        model[0].register_forward_hook(lambda module, inputs, output: SEEN.append(float(output.mean())))
    compiled = torch.compile(model, backend=BACKEND)
    with torch.inference_mode():
        for _ in range(4):
            compiled(torch.randn(2, 4))


SEEN = []


def llama(fault):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=32, use_cache=False,
    )  # fmt: skip
    model = torch.compile(LlamaForCausalLM(config), backend=BACKEND)
    if fault:
        model.model.layers[0].register_forward_hook(lambda module, inputs, output: print(end=""))
    for _ in range(4):
        tokens = torch.randint(0, 32, (2, 8))
        model(input_ids=tokens, labels=tokens).loss.backward()


def vision_inductor(fault):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.GELU(), nn.Flatten(), nn.Linear(72, 2)).eval()
    compiled = torch.compile(net, dynamic=False)
    with torch.no_grad():
        for number in range(4):
            compiled(torch.randn(2 + number if fault else 2, 1, 8, 8))


PROGRAMS = {
    program.__name__: program
    for program in (
        mlp_training, conv_net, dynamic_loop, regional_blocks, recurrent, two_networks, mixed_precision,
        compiled_optimizer, denoiser, functional, closures, global_counter, dropout_inference, llama,
        vision_inductor,
    )
}  # fmt: skip


def main(folder, *names):
    for name in names:
        for fault in (False, True):
            torch._dynamo.reset()
            torch.manual_seed(0)
            random.seed(0)
            with compilescope.profile(Path(folder) / (f"{name}.fault" if fault else name)):
                PROGRAMS[name](fault)


if __name__ == "__main__":
    main(*sys.argv[1:])
