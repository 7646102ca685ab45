"""What the compiler made of a graph, buckets, phases, caches and CUDA graphs: facts for `builders`."""

from __future__ import annotations

from dataclasses import replace

from builder_facts import PROCESS, dynamic_graph

from compilescope.analysis import report as r
from compilescope.analysis import report_graph as g
from compilescope.analysis import report_run as run

FILE = "10_batch_size_drift.py"
LINE = g.SourceLine(FILE, 14, "forward", "return self.out(torch.relu(self.net(x)))")
UNDATED = g.SourceLine(FILE, 13)


def forward_graph() -> r.Graph:
    """A graph with symbols, guards, kernels, fusion, a memory plan, autotuning and a saved tensor."""
    return replace(
        dynamic_graph(),
        direction="forward",
        kernels={"triton": 3, "extern": 2},
        guards=g.Guards(
            19, {"TENSOR_MATCH": 6, "TYPE_MATCH": 4, "DICT_CONTAINS": 9}, 3.1, 41.7,
            [
                g.GuardRow("L['x']", ["TENSOR_MATCH"], "LOCAL", LINE),
                g.GuardRow("L['self'].net", ["TYPE_MATCH", "DICT_CONTAINS"], "LOCAL", None),
            ],
            True,
        ),
        symbols=[
            g.Symbol("s77", ["L['x'].size()[0]", "L['mask'].size()[0]"], "[2, inf]", 12, UNDATED),
            g.Symbol("u0", ["u0"], "[0, inf]", None, LINE, backed=False),
        ],
        symbol_guards=[g.SymbolGuard("s77 > 5", LINE), g.SymbolGuard("Eq(Mod(s77, 4), 0)", None)],
        kernel_rows=[
            g.KernelRow(
                "triton_poi_fused_relu_0", "triton pointwise", None, 1, ["relu", "add"], [LINE, UNDATED],
                "cuda:0", ["fp32"], ["[12, 64]", "[12, 64]"], "grid(xnumel)",
                {"XBLOCK": "128", "num_warps": "4"}, None, [], 6144, "512*s77",
            ),
            g.KernelRow(
                "triton_tem_fused_addmm_relu_1", "triton template", None, 1, ["addmm", "relu"], [LINE],
                "cuda:0", ["bf16"], ["[12, 64]", "[64, 256]"], None, {"BLOCK_M": "16"}, "mm", ["relu"], 12800,
            ),
            g.KernelRow(
                "extern_kernels.mm", "extern gemm", "cuBLAS", 2, ["mm"], [], "cuda:0", ["bf16"], [], None, {},
                None, [], None,
            ),
        ],
        kernel_count=5,
        fusion=g.Fusion(
            9, 5, 5, 285_220_864, 92_000_000, 83_894_272, "scheduler",
            [g.FusedGroup(["relu", "add"], True, False, 18_432, 6_144)], 1,
            [g.MissedEpilogue("extern_kernels.mm", "triton_poi_fused_relu_0", 24_576, [LINE])],
        ),
        memory=g.Memory(
            6, 3, 5, 40_000, 12_288, 33_562_624, 16_384, "extern_kernels.mm",
            [g.Buffer("buf3", "[12, 256] bf16", 24_576, "triton_poi_fused_relu_0", [LINE])], 4,
            unsized=["buf9"],
        ),
        aot=g.Aot(
            88, 41, 49, None, 61_440, "5120*s77", 2,
            [
                g.SavedTensor("relu", "activation", "[12, 256] f32", 12_288, LINE),
                g.SavedTensor("primals_3", "input", "[64, 256] f32", 65_536, None),
            ],
            1, ["le"], 3_072, [g.Mutation("running_mean", True, LINE)], ["output 1 is input 0"], 1,
            {"aten.addmm": 2, "aten.relu": 2},
        ),
        autotune=[
            g.Autotuning(
                "mm", ["s77x64", "64x256"], ["bf16", "bf16"], [], ["16x64", "64x256"], "triton_mm_7",
                "triton", 1.18,
                [
                    g.Choice("triton_mm_7", "triton", 0.0071, False, "BLOCK_M=16, BLOCK_N=64"),
                    g.Choice("mm", "extern", 0.0084, False),
                    g.Choice("triton_mm_12", "triton", None, True),
                ],
                19, 1, 2.4, ["out of resource: shared memory"],
            )
        ],
        cache_outcomes=[
            g.CacheOutcome("fx_graph", "miss", "fabc123", None, None, 0.21),
            g.CacheOutcome("aot_autograd", "bypass", None, "a custom op has no cache key"),
        ],
        crossings=[g.Crossing("device copy", "cpu to cuda:0", 4_096, True, [LINE])],
        code="cabcdefg",
    )  # fmt: skip


def backward_graph() -> r.Graph:
    return r.Graph(
        0, "5/1", "Model.forward", FILE, 12, 49, 36, True, 0.2, PROCESS, backend="inductor",
        direction="backward", backward_compiled="lazily", kernels={"triton": 4},
    )  # fmt: skip


def phases() -> run.Phases:
    forward = {"dynamo": 0.3, "aot_autograd": 0.2, "inductor": 0.6}
    return run.Phases(
        forward, {"inductor": 0.2}, {"cpp compiler": 0.9}, 1.3, 1.31,
        [
            run.FramePhases("Model.forward", FILE, 12, PROCESS, forward, {"inductor": 0.2}, 1.3),
            run.FramePhases("attend", "24_history_grows.py", 5, PROCESS, {"dynamo": 0.25}, {}, 0.25),
        ],
        [run.OpenPhase(PROCESS, "MainThread", ["dynamo", "inductor", "cpp compiler"], 31.2, "5/1")],
    )  # fmt: skip


def sizes() -> list[run.FrameSizes]:
    return [
        run.FrameSizes(
            "Model.forward", FILE, 12, PROCESS, ["x.size(0)"],
            [run.SizeRow({"x.size(0)": 32}, 60, "static"), run.SizeRow({"x.size(0)": 12}, 30, "counted"),
             run.SizeRow({"x.size(0)": 8}, 7, "counted")],
            5, 97, 3, 0.03,
            [run.SizeStep("2026-11-29T10:00:00Z", {"32": 60}), run.SizeStep(None, {"12": 30, "8": 7})],
        )
    ]  # fmt: skip


def buckets() -> list[run.Bucket]:
    place = {"graph": "6/0", "backend": "bucketed", "file": "serve.py", "line": 9, "function": "step",
             "process": PROCESS}  # fmt: skip
    return [
        run.Bucket(
            dims={"tokens": 16}, kind="pin", compile_s=0.8, hits=120, padded_rows=0, cache="miss", kernels=4,
            rung="tokens=16", sizes=[run.BucketSize({"tokens": 16}, 120)], **place,
        ),
        run.Bucket(
            dims={"tokens": 64}, kind="pad", compile_s=0.9, hits=80, padded_rows=1_320, cache="hit",
            kernels=5, rung="tokens=64",
            sizes=[run.BucketSize({"tokens": 40}, 55), run.BucketSize({"tokens": 61}, 20),
                   run.BucketSize(None, 5)], **place,
        ),
        run.Bucket(
            dims={"tokens": 256}, kind="pin", compile_s=1.1, hits=0, padded_rows=0, cache="miss", kernels=5,
            rung="tokens=256", **place,
        ),
        run.Bucket(
            dims={"tokens": 1024}, kind="pin", refused="no entry admits it", guard="tokens < 512",
            user_line="serve.py:12", rung="tokens=1024", **place,
        ),
        run.Bucket(
            dims={"tokens": [1, 8192]}, kind="range", compile_s=1.4, hits=9, rung="tokens in 1..8192",
            failed="CompilationError: out of registers", **place,
        ),
        run.Bucket(dims={}, kind="eager", hits=2, rung="eager", **place),
    ]  # fmt: skip


def cudagraphs() -> list[run.Cudagraphs]:
    return [
        run.Cudagraphs(
            PROCESS, True, None, 5, 0.4,
            [run.CudagraphSkip("mutated inputs (1 instances)", 3, FILE, 14)],
            [run.CudagraphFunction("5/1", "Model.forward", FILE, 12, "forward", 4, ["[12, 64]", "[8, 64]"])],
        )
    ]  # fmt: skip


def compiled_autograd() -> list[run.CompiledAutograd]:
    return [run.CompiledAutograd(PROCESS, 2, ["!0/0", "!1/0"], ["a size of grad 3 changed: 32 to 12"])]


def cache_misses() -> list[run.CacheMiss]:
    change = run.KeyChange("inductor_config.max_autotune", "changed", "False", "True")
    return [
        run.CacheMiss("fx_graph", "5/1", "Model.forward", FILE, 12, PROCESS, "fabc123", "fdef456", [change]),
        run.CacheMiss("fx_graph", "0/0", "attend", "24_history_grows.py", 5, PROCESS, "f0", None),
    ]
