"""What the fields of planned bucket ladders mean. One line a field."""

from __future__ import annotations

TABLE = """
LadderBar.low  Smallest size of the bar
LadderBar.high  Largest size of the bar
LadderBar.calls  Calls with sizes in it
LadderBar.rungs  Sizes of static rungs in it
LadderHistogram.symbol  The dimension: x.size(0)
LadderHistogram.bars  Calls by size, bars of equal width
LadderCost.size  Size of the call
LadderCost.cost  Cost of one call, in the unit of the ladder
LadderCost.low  Low end of its interval
LadderCost.high  High end of its interval
LadderCost.artifact  static (compiled for just this size) or dynamic
LadderCost.measured  Whether it is a measurement itself; else a point of the curve
LadderCount.rungs  Number of rungs
LadderCount.cost  Cost of a call with the best ladder of that many
LadderCount.total  The same with the price of making the rungs, spread over the calls
LadderCount.chosen  Whether this is the number recommended
LadderRange.low  Smallest size
LadderRange.high  Largest size
LadderRange.hint  Size the artifact is tuned at
LadderRival.name  How the other ladder is made
LadderRival.rungs  Its number of rungs
LadderRival.cost  Cost of a call with it, on the later half
LadderRival.padding  Elements padded per element asked for
LadderRival.compile_s  Seconds to make its rungs
LadderRival.saving  Share of its cost that the planned ladder saves
LadderRival.saving_low  Low end of the 95 % interval
LadderRival.saving_high  High end of the 95 % interval
LadderDrift.symbol  The dimension whose sizes changed
LadderDrift.early_median  Median of the earlier half
LadderDrift.late_median  Median of the later half
Ladder.function  Function that was called
Ladder.file  {file}
Ladder.line  {line}
Ladder.symbols  Dimensions planned for: x.size(0)
Ladder.calls  Calls whose sizes are known
Ladder.ordered  Whether their order in time is known; else halves are random
Ladder.unseen_share  Share of calls whose sizes nobody saw
Ladder.code  Python that makes the ladder
Ladder.pins  Exact sizes with an artifact each
Ladder.pads  Sizes that smaller inputs are padded up to
Ladder.ranges  Sizes that share one dynamic artifact
Ladder.products  Of two dimensions: pads of each
Ladder.combinations  Of two dimensions: pairs of sizes padded up to, in the order they are asked
Ladder.unit  Unit of every cost: us, or elements where nothing was measured
Ladder.basis  measured, fitted or assumed (cost is the number of elements)
Ladder.method  exact, lagrangian or local search
Ladder.rungs  Number of rungs, dynamic ones included
Ladder.cost  Cost of a call on the later half of the calls, which the plan has not seen
Ladder.excess  That cost above one artifact a size: 0.1 is 10 %
Ladder.padding  Elements padded per element asked for
Ladder.compile_s  Seconds to make all rungs
Ladder.pays  Whether a static rung pays at all
Ladder.pays_from_calls  Calls after which the rungs have earned what making them costs
Ladder.drift  Dimensions whose sizes changed between the halves
Ladder.histograms  Calls by size with the rungs among them, one per dimension
Ladder.curve  Cost of a call by size, measured points marked
Ladder.by_count  Cost of a call by number of rungs
Ladder.rivals  Ladders people use without planning, with as many rungs
Ladder.notes  What was not known
CallTime.values  Sizes of the calls, by dimension
CallTime.artifact  static (compiled for just these sizes) or dynamic
CallTime.padded_to  Sizes that a padded call was computed at, by dimension: what it took is their time
CallTime.timed  Calls that were timed
CallTime.median_us  Median of the latest of them, microseconds on the device that ran them
FrameSizes.times  Times of real calls by size; empty unless they were asked for
Report.ladders  Recommended bucket ladders
"""
