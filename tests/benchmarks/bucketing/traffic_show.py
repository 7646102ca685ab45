"""Results of the traffic benchmarks as lines, and whether the aims were met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from traffic_files import in_words

NEAR = 0.10


def show_prediction(result: dict[str, Any]) -> None:
    """A line for each ladder, then whether the aims were met."""
    ladders = {name: each for name, each in result.get("ladders", {}).items() if each.get("device_us")}
    for name, each in ladders.items():
        times, predicted = each["device_us"], each.get("predicted_us")
        beside = f"predicted {predicted[1]:7.1f}, " if predicted else ""
        print(
            f"{name:14} {beside}measured {statistics.median(times):7.1f} us [{min(times):.1f}, "
            f"{max(times):.1f}] (host {statistics.median(each['host_us']):.1f}), {each['graphs']} graphs"
            + (_beside_the_prediction(each) if predicted else ""),
            flush=True,
        )
    if "planned" in ladders:
        _show_aims(ladders)
    if "whole_s" in result:
        print(f"{result['whole_s']:.0f} s, of them {result['curve_s']:.0f} for the costs", flush=True)
    if "error" in result:
        print(result["error"], flush=True)


def _beside_the_prediction(each: dict[str, Any]) -> str:
    parts = [f", predicted/measured {_ratio(each):.3f}, padding {each['padding']:.0%}"]
    parts.append(f", unserved {each['unserved_share']:.2%} of the later half")
    if each["beyond_share"]:
        parts.append(f", {each['beyond_share']:.1%} beyond the measured costs")
    return "".join([*parts, f"\n{'':14} rungs {in_words(each['rungs'])}"])


def _show_aims(ladders: dict[str, Any]) -> None:
    ratios = {name: _ratio(each) for name, each in ladders.items() if "predicted_us" in each}
    near = [name for name, ratio in ratios.items() if abs(ratio - 1) <= NEAR]
    worst = max(ratios, key=lambda name: abs(ratios[name] - 1))
    print(f"aim: within {NEAR:.0%}: {len(near)} of {len(ratios)}, worst {worst} {ratios[worst]:.3f}")
    rivals = {name: ladders[name]["device_us"] for name in ratios if name != "planned"}
    best = min(rivals, key=lambda name: statistics.median(rivals[name]))
    quartile = statistics.quantiles(rivals[best], n=4)[2]
    planned = statistics.median(ladders["planned"]["device_us"])
    print(
        f"aim: planned {planned:.1f} us not above the upper quartile of the best rival, {best} "
        f"({quartile:.1f} us): {'met' if planned <= quartile else 'missed'}"
    )
    if "unpadded" in ladders:
        least = statistics.median(ladders["unpadded"]["device_us"])
        of_powers = statistics.median(rivals["powers of two"]) - least
        share = f", {(planned - least) / of_powers:.2f} of powers of two's" if of_powers > 0 else ""
        print(f"excess over unpadded: {planned - least:.1f} us{share}", flush=True)


def _ratio(each: dict[str, Any]) -> float:
    return float(each["predicted_us"][1] / statistics.median(each["device_us"]))


def show_row(row: dict[str, Any]) -> None:
    name = row["contestant"]
    if "unseen" not in row:
        print(f"{name:20} {_partial(row)}", flush=True)
        return
    low, median, high = row["steady_us"]
    parts = [
        f"first pass {row['first_pass_s']:6.1f} s (warm-up {row['warm_up_s']:5.1f})",
        f"steady {median:6.0f} us [{low:.0f}, {high:.0f}]",
        f"{row['graphs']:3} graphs",
        f"device {row['device_mib']:.0f} MiB",
        f"allocated at most {row['peak_allocated_mib']:.0f} MiB "
        f"(steady {row['steady_peak_mib']:.0f}, unseen {row['unseen_peak_mib']:.0f})",
        f"error {row['largest_error']:.4f}",
    ]
    if name.startswith("dynamic=False"):
        parts.append(f"recompile limit {row['recompile_limit']}")
    if row.get("unserved"):
        parts.append(f"{row['unserved']:.1%} beside the ladder")
    print(f"{name:20} {', '.join(parts)}")
    print(f"{'':20} {_of_unseen(row)}", flush=True)


def _partial(row: dict[str, Any]) -> str:
    """What a contestant had done when it was cut off."""
    parts = []
    if "warm_up_s" in row:
        parts.append(f"warm-up {row['warm_up_s']:.1f} s")
    if "first_pass_s" in row:
        parts.append(f"first pass {row['first_pass_s']:.1f} s")
    elif "first_done" in row:
        parts.append(
            f"{row['first_done']} of {row['requests']} requests of the first pass, {row['so_far_s']:.1f} s"
        )
    if "steady_us" in row:
        low, median, high = row["steady_us"]
        parts.append(f"{len(row['passes_us'])} passes, steady {median:.0f} us [{low:.0f}, {high:.0f}]")
    parts.append(row.get("error", "did not end"))
    return ", ".join(parts)


def _of_unseen(row: dict[str, Any]) -> str:
    """First calls at sizes never seen before, against their own later ones and against other requests."""
    unseen = row["unseen"]
    if not unseen:
        return "no size is new"
    worst_us = max(each["first_us"] for each in unseen)
    again_us = statistics.median(each["again_us"] for each in unseen)
    more_us = statistics.median(each["first_us"] - each["again_us"] for each in unseen)
    on_host_us = statistics.median(each["first_host_us"] - each["again_host_us"] for each in unseen)
    parts = [
        f"first call at a size not seen before: {worst_us:.0f} us at worst",
        f"{worst_us / row['median_request_us']:.1f} x the median request",
        f"{worst_us / again_us:.1f} x the median of these sizes' next calls ({again_us:.0f} us)",
        f"at worst {row['unseen_worst_x']:.1f} x its own next calls",
        f"median {more_us:.0f} us more than they take, {on_host_us:.0f} of it on the host",
        f"memory asked of the driver {sum(each['allocations'] for each in unseen)} times",
        f"{row['graphs_after_unseen'] - row['graphs']} graphs recorded",
    ]
    return ", ".join(parts)


def show_traffic_aims(rows: Sequence[dict[str, Any]]) -> None:
    """Of one file: each ladder against one graph for each distinct size, or against all others without it."""
    done = {row["contestant"]: row for row in rows if "unseen" in row}
    ladders = [name for name in ("ladder, shared code", "ladder") if name in done]
    rivals = ["reduce-overhead"] if "reduce-overhead" in done else [n for n in done if n not in ladders]
    for name in ladders:
        row, parts = done[name], [f"{done[name]['graphs']} graphs"]
        for other in rivals:
            rival = done[other]
            parts.append(
                f"against {other}: steady {row['steady_us'][1] / rival['steady_us'][1]:.2f} x, "
                f"first pass {row['first_pass_s'] / rival['first_pass_s']:.2f} x, "
                f"device {row['device_mib']:.0f} to {rival['device_mib']:.0f} MiB, "
                f"allocated {row['peak_allocated_mib']:.0f} to {rival['peak_allocated_mib']:.0f} MiB "
                f"(steady {row['steady_peak_mib']:.0f} to {rival['steady_peak_mib']:.0f})"
            )
        if row["unseen"]:
            worst = max(each["first_us"] for each in row["unseen"]) / row["median_request_us"]
            own = row["unseen_worst_x"]
            parts.append(f"unseen at worst {worst:.1f} x the median request (own next calls {own:.1f} x)")
            if "reduce-overhead" in done:
                parts.append(_against_own_graphs(row, done["reduce-overhead"]))
        print(f"aims, {name}: {'; '.join(parts)}", flush=True)


def _against_own_graphs(row: dict[str, Any], rival: dict[str, Any]) -> str:
    """First calls beside what a graph of just that size takes, which no ladder can be faster than."""
    own_us = {tuple(each["size"]): each["again_us"] for each in rival["unseen"]}
    ratios = [each["first_us"] / own_us[tuple(each["size"])] for each in row["unseen"]]
    limit_us = 2 * row["median_request_us"]
    beyond = sorted(size for size, us in own_us.items() if us > limit_us)
    slow = sorted(tuple(each["size"]) for each in row["unseen"] if each["first_us"] > limit_us)
    own_first_ms = statistics.median(each["first_us"] for each in rival["unseen"]) / 1e3
    return (
        f"first calls {statistics.median(ratios):.2f} x the next ones of a graph of that size, at worst "
        f"{max(ratios):.2f} (that one's first: {own_first_ms:.1f} ms); beyond twice the median request: "
        f"{_listed(slow)}, with graphs of their own {_listed(beyond)}"
    )


def _listed(sizes: Sequence[tuple[int, ...]]) -> str:
    return in_words(sizes) or "none"
