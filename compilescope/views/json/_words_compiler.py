"""What the fields below Dynamo mean: kernels, fusion, memory, caches, phases, sizes, buckets.

One line a field. Names in braces are texts that fields of :mod:`compilescope.views.json._words` share.
"""

from __future__ import annotations

TABLE = """
SourceLine.file  {file}
SourceLine.line  {line}
SourceLine.function  Function the line is in
SourceLine.code  The source line, where it is known
GuardRow.source  The guarded expression
GuardRow.kinds  What is checked, in torch's words
GuardRow.origin  Where the value lives, in torch's word
GuardRow.at  The line that made torch rely on it
GuardRow.called_from  Where that line was called from, innermost first: file:line function
Guards.count  Guards checked before a call
Guards.by_kind  Their number by what is checked
Guards.hot_check_us  Microseconds of one check with warm caches
Guards.cold_check_us  Microseconds as torch measures it: the processor's caches are flushed first
Guards.rows  The guards one by one; empty unless they were asked for
Guards.listed  Whether the recording has the list
Guards.rows_count  How many there are; rows lists the first of them. Null where the list was not read
GuardCost.function  Name of the function
GuardCost.file  {file}
GuardCost.line  {line}
GuardCost.process  {process}
GuardCost.entries  Cache entries whose check was timed
GuardCost.guards  Guards of the entry called most
GuardCost.check_us  Microseconds of one check with warm caches, weighted by the calls of each entry
GuardCost.cold_check_us  As torch measures it: the processor's caches are flushed first
GuardCost.calls  Calls of its compiled code
GuardCost.checks_s  Seconds all their checks took: check_us times calls
GuardCost.call_us  Microseconds from one call to the next once compiling is over
GuardCost.call_basis  Begins with measured or estimated, and says how
GuardCost.share  check_us / call_us; entries tried in vain are not in it
GuardCost.missing  Why a field above is null
Symbol.symbol  Name in the graph: s77
Symbol.sources  What it stands for; several were equal when traced and are tied together
Symbol.range  Values the graph holds for
Symbol.hint  Value when traced
Symbol.created_at  The line that made it
Symbol.backed  False for a value that is data, such as the result of .item()
SymbolGuard.expr  The condition: s77 > 5
SymbolGuard.at  The line that made it
KernelRow.name  Name in the generated code
KernelRow.kind  Triton pointwise, extern gemm, c++ loop, ...
KernelRow.library  Library behind an extern kernel
KernelRow.launches  Launches per call of the graph
KernelRow.ops  Operators in it
KernelRow.lines  Lines of user code in it
KernelRow.device  Where it runs
KernelRow.dtypes  Data types of its operands
KernelRow.shapes  Operands of the first launch
KernelRow.grid  Launch grid, as an expression
KernelRow.config  What is fixed in the code: block sizes, warps
KernelRow.template  Template it was made from
KernelRow.epilogue  Operators fused into a template
KernelRow.bytes_moved  Bytes read and written per call
KernelRow.bytes_moved_expr  The same, where it has symbols
FusedGroup.ops  Operators in it
FusedGroup.vertical  Whether one part reads what another writes
FusedGroup.horizontal  Whether a part reads nothing of the others
FusedGroup.bytes_before  Bytes its parts would move alone
FusedGroup.bytes_after  Bytes it moves
MissedEpilogue.producer  The GEMM or convolution
MissedEpilogue.pointwise  The kernel that reads its result
MissedEpilogue.saved_bytes  Bytes one kernel for both would not move
MissedEpilogue.lines  Lines of user code behind it
Fusion.nodes_before  Nodes of the scheduler before fusion
Fusion.nodes_after  Nodes after it
Fusion.kernels  Kernels in the generated code
Fusion.bytes_eager  Bytes per call if every operator ran alone
Fusion.bytes_before  Bytes per call before fusion
Fusion.bytes_after  Bytes per call of the fused kernels
Fusion.basis  scheduler, or code: derived from the operands of launches
Fusion.groups  The largest groups that became one kernel
Fusion.groups_count  Number of such groups
Fusion.missed_epilogues  GEMMs and convolutions whose pointwise reader is a kernel of its own
Fusion.bytes_after_expr  `bytes_after`, where it has symbols
Buffer.name  Name in the generated code
Buffer.shape  Type, sizes and strides
Buffer.size_bytes  Its size
Buffer.written_by  The kernel that fills it
Buffer.lines  Lines of user code behind that
Memory.allocations  Buffers allocated per call
Memory.reuses  Buffers that took over the storage of another
Memory.frees  Buffers freed
Memory.allocated_bytes  Bytes allocated per call
Memory.reused_bytes  Bytes that were taken over
Memory.peak_bytes  Largest sum of live buffers; inputs are not in it
Memory.end_bytes  Bytes alive when the call returns
Memory.peak_after  The launch at which the peak is reached
Memory.live_at_peak  The largest buffers alive there
Memory.live_count  Number of buffers alive there
Memory.peak_bytes_expr  The peak, where it has symbols
Memory.unsized  Buffers the code gives no size for
SavedTensor.name  Name in the graph
SavedTensor.kind  activation, input, size or alias
SavedTensor.shape  Type, sizes and strides
SavedTensor.size_bytes  Its size
SavedTensor.line  Line of user code behind it
Mutation.input  The input that is written
Mutation.in_graph  Whether the graph itself writes it back
Mutation.line  Line of user code behind it
Aot.joint_ops  Calls of operators in the joint graph
Aot.forward_ops  Calls of operators in the forward graph
Aot.backward_ops  Calls of operators in the backward graph
Aot.inference_ops  Calls of operators in the inference graph
Aot.saved_bytes  Bytes of activations kept for the backward
Aot.saved_bytes_expr  The same, where it has symbols
Aot.saved_count  Number of those activations
Aot.saved  All that is kept, largest first
Aot.recomputed_count  Operators of the forward that run in the backward again
Aot.recomputed  Their names
Aot.recompute_saves_bytes  Bytes that keeping their results would take
Aot.mutations  Inputs written in place
Aot.aliases  Outputs that share memory
Aot.donated  Saved buffers that the backward may write into
Aot.op_counts  Operators by number of calls
Choice.name  Candidate
Choice.backend  triton, extern, cpp, cutlass or other
Choice.time_ms  Milliseconds by torch's benchmark
Choice.failed  Whether it did not run
Choice.config  Its configuration
Choice.why  Torch's reason for a failure
Autotuning.op  Operation: mm, addmm, convolution
Autotuning.shapes  Shapes of the operands
Autotuning.dtypes  Their data types
Autotuning.strides  Their strides
Autotuning.hinted  Shapes it was timed at, where shapes have symbols
Autotuning.winner  The fastest candidate
Autotuning.winner_backend  What it is made by
Autotuning.margin  How many times longer the next one takes
Autotuning.choices  Candidates, fastest first
Autotuning.choices_count  Number of candidates
Autotuning.count  Places in the graph that use this choice
Autotuning.tuning_s  Seconds spent on timing them
Autotuning.compiled  Candidates that the process compiled itself while it timed them
Autotuning.compiled_s  Seconds of that; next to nothing where compile workers had made them
Autotuning.failures  Torch's texts about candidates that failed
Autotuning.node  Node in the graph after the joint passes
Autotuning.line  The user's line it comes from
Autotuning.backward  Whether it is in the backward graph
Autotuning.default  The library call that runs without autotuning
Autotuning.default_ms  Its milliseconds
Autotuning.margin_over_default  How many times longer the default takes than the winner
Autotuning.emitted  Backend of the kernel in the code; it can differ from the winner's
Autotuning.failed_count  Candidates that failed
CacheOutcome.cache  fx_graph or aot_autograd
CacheOutcome.outcome  hit, miss or bypass
CacheOutcome.key  The key that was looked up
CacheOutcome.reason  Why it was bypassed, or details
CacheOutcome.saved_s  Seconds of compiling that a hit saved, by torch
CacheOutcome.took_s  Seconds the compile took
Crossing.kind  device copy, device sync, collective or custom op
Crossing.detail  What is copied or called
Crossing.size_bytes  Bytes that cross
Crossing.blocking  Whether the host waits
Crossing.lines  Lines of user code behind it
FramePhases.function  Function that was compiled
FramePhases.file  {file}
FramePhases.line  {line}
FramePhases.process  {process}
FramePhases.forward  Exclusive seconds by phase
FramePhases.backward  The same for its backward
FramePhases.compile_s  Sum of both
OpenPhase.process  {process}
OpenPhase.thread  Name of the thread
OpenPhase.stack  Phases it was in, outermost first
OpenPhase.open_s  Seconds the innermost one had been open
OpenPhase.compile_id  Compile id as torch prints it, without brackets
Phases.forward  Exclusive seconds by phase, forward compiles
Phases.backward  The same for backward compiles
Phases.parallel  Seconds of work that other threads did meanwhile, by phase
Phases.outside  Seconds of compiling threads for no compile that torch names, by phase
Phases.sum_s  Sum of forward and backward
Phases.wall_s  The same compiles by torch's own start and end, and by those of bucketed backends
Phases.missing  What is not in them, and why
Phases.frames  By function, longest first
Phases.open  What was being compiled when a process ended without closing its recording
SizeRow.values  Size by name
SizeRow.count  Calls
SizeRow.basis  static: a constant of the graph; counted: a value of its symbols
SizeStep.time  Time of the snapshot, ISO 8601, UTC
SizeStep.counts  Calls since the snapshot before, by sizes
FrameSizes.function  Function that was called
FrameSizes.file  {file}
FrameSizes.line  {line}
FrameSizes.process  {process}
FrameSizes.names  Dimensions that changed: x.size(0)
FrameSizes.rows  Sizes, most calls first
FrameSizes.rows_count  Number of distinct sizes
FrameSizes.seen_calls  Calls whose sizes are known
FrameSizes.unseen_calls  Calls whose sizes are not: eager ones, and values beyond the cap
FrameSizes.unseen_share  Their share, 0 to 1
FrameSizes.steps  Calls by size in order of time
FrameSizes.compile_id  The first of the function's compiles
BucketSize.values  Size by name; null for sizes that were not counted one by one
BucketSize.count  Calls
Bucket.graph  Compile id of the captured graph
Bucket.dims  Size by name; a range is [low, high]
Bucket.kind  pin, pad, range, dynamic or eager
Bucket.concretized  Sizes of the inputs it was compiled for
Bucket.compile_s  Seconds it took to compile
Bucket.hits  Calls it served
Bucket.padded_rows  Rows added by padding over all calls
Bucket.padded_share  Their share of the rows it computed, which estimates their share of its device time
Bucket.copied_bytes  Bytes copied to pad inputs and to cut outputs, over all calls
Bucket.verified  Largest relative difference to the unpadded graph where they were compared
Bucket.random  Operations that draw other numbers than in the unpadded graph
Bucket.cuda_graphs  How often it was recorded as a CUDA graph; absent where none was asked for
Bucket.cuda_graph_skip  Why it runs without a CUDA graph
Bucket.replay_bytes  Bytes a replay copies into static buffers
Bucket.pool_bytes  Device memory held by all CUDA graphs of its backend when it was recorded
Bucket.graphs_each  CUDA graphs that one recording is: one for each piece of a split graph, two in training
Bucket.refused  Why the graph cannot have this rung
Bucket.elsewhere  True where another graph of the function, captured in the same state, has the refused rung
Bucket.failed  The error of its compile
Bucket.bypassed  Why the graph has no rungs: it is compiled as it came
Bucket.cache  hit, miss, bypass or none
Bucket.kernels  Kernels in it
Bucket.sizes  Calls by the sizes they came with
Bucket.rung  Its label
Bucket.backend  Name of the backend
Bucket.entry  Number of the captured graph in the backend
Bucket.guard  The guard that forbids it
Bucket.user_line  The line that made the guard
Bucket.predicate  What must hold besides the sizes
Bucket.same_code_as  Rung with identical code whose artifact it shares
Bucket.split_from  Range it is a part of
Bucket.live  False after a reset: it serves no more calls
Bucket.state  Grad mode, autocast and determinism in which the graph was captured
Bucket.file  {file}
Bucket.line  {line}
Bucket.function  Function the graph comes from
Bucket.process  {process}
CudagraphSkip.reason  Why
CudagraphSkip.count  How often
CudagraphSkip.file  {file}
CudagraphSkip.line  {line}
CudagraphSkip.function  Function the line is in
CudagraphFunction.compile_id  Compile id as torch prints it, without brackets
CudagraphFunction.function  Function it comes from
CudagraphFunction.file  {file}
CudagraphFunction.line  {line}
CudagraphFunction.mode  forward, backward or inference
CudagraphFunction.recordings  How often it was recorded
CudagraphFunction.sizes  Sizes it was recorded for
CudagraphFunction.warm_ups  Runs before a recording, without a graph
CudagraphFunction.replays  Calls of the compiled graph that were neither; null where that is not certain
CudagraphFunction.missing  Facts that are null for want of a source, and why
Cudagraphs.warned_sizes  Input sizes of which torch warned that each is a recording; null without a warning
Cudagraphs.missing  Facts that are null for want of a source, and why
CudagraphFunction.pool_growth_bytes  How much larger the memory pool was after its recordings
Cudagraphs.process  {process}
Cudagraphs.enabled  Whether a graph was compiled for CUDA graphs
Cudagraphs.disabled_reason  Why none was used
Cudagraphs.recordings  Recordings of CUDA graphs
Cudagraphs.recording_s  Seconds they took
Cudagraphs.skips  Graphs that were not recorded
Cudagraphs.functions  By compiled graph
Cudagraphs.pool_bytes  Memory held for graphs after the last recording
CompiledAutograd.process  {process}
CompiledAutograd.captures  Backward passes captured
CompiledAutograd.compile_ids  {ids}
CompiledAutograd.reasons  Why torch captured again
KeyChange.path  Part of the key
KeyChange.change  changed, added, removed, or digest: the values print alike
KeyChange.before  The nearest entry's value
KeyChange.after  The value that was looked up
CacheMiss.cache  fx_graph or aot_autograd
CacheMiss.compile_id  Compile id as torch prints it, without brackets
CacheMiss.function  Function that was compiled
CacheMiss.file  {file}
CacheMiss.line  {line}
CacheMiss.process  {process}
CacheMiss.key  The key that was looked up
CacheMiss.compared_with  Key of the nearest entry in this recording; null when there is none
CacheMiss.changes  Parts of the key that differ; empty with an entry compared: the entry was gone
Graph.direction  forward, backward or inference
Graph.backward_compiled  Of a backward: lazily, with the forward, or from the cache
Graph.guards  What is checked before a call
Graph.symbols  Sizes that stay free in it
Graph.symbol_guards  Conditions on symbols that the trace relied on
Graph.kernel_rows  Its kernels, most bytes first; cut at a fixed number
Graph.kernel_count  Number of kernels
Graph.fusion  What was fused
Graph.memory  The memory plan
Graph.aot  What AOTAutograd made of it
Graph.autotune  Choices among implementations
Graph.cache_outcomes  Look-ups of compile caches
Graph.crossings  Device copies, collectives, opaque operators
Graph.code  Name of the generated code
Report.phases  Where compile time went
Report.sizes  Sizes that functions were called with
Report.cudagraphs  CUDA graphs by process
Report.compiled_autograd  Backward passes captured by compiled autograd
Report.cache_misses  Look-ups of compile caches that missed, and what differs from the nearest entry
Report.device_twins  Graphs compiled again only because a device's number changed
DeviceTwin.function  Function that was compiled
DeviceTwin.file  {file}
DeviceTwin.line  {line}
DeviceTwin.process  {process}
DeviceTwin.compile_id  Compile id as torch prints it, without brackets
DeviceTwin.same_as  Compile id of the earlier graph
DeviceTwin.device_before  Device of the first input that differs, in the earlier graph
DeviceTwin.device_after  In this one
DeviceTwin.compile_s  Seconds of this compile
Crossing.pinned  Of a device copy: whether memory of the host is page-locked; null where it came from outside
Crossing.before  The kernel launched before it
Crossing.after  The kernel launched after it: the two cannot be one
Decomposition.op  Operator that a decomposition replaced
Decomposition.became  Nodes in its place, by operator
Decomposition.lines  The user's lines
Decomposition.exact  Whether each node says where it came from; else they share a kernel
Aot.recomputable  Saved activations that elementwise operations and reductions could compute again; cut
Aot.recomputable_count  Their number
Aot.recomputable_bytes  Their bytes
Graph.decompositions  Operators that decompositions replaced
Unfused.first  Operators of one group
Unfused.second  Operators of the other
Unfused.reason  Why Inductor kept them apart, in its words
Unfused.linked  Whether the second reads what the first writes
Unfused.buffers  Buffers both touch
Unfused.shared_bytes  Bytes of those buffers, which one kernel would move once less
Unfused.lines  The user's lines
Fusion.unfused  Pairs that stayed apart; cut at a fixed number
Fusion.unfused_count  Number of such pairs
Fusion.unfused_reasons  Every pair that was turned down, by reason
Fusion.unfused_missing  Why none is known
Report.tuned_sites  Autotuned operations, size by size
Report.compiled_twice  Functions whose candidates for autotuning were compiled twice, by another ptxas each
TunedUse.sizes  Sizes by symbol
TunedUse.calls  Calls with them
TunedUse.ratio  How many times larger or smaller than the timed size
TunedRow.label  The numbers in which the rows of a site differ
TunedRow.shapes  Shapes of the operands
TunedRow.timed_at  Shapes they were timed at
TunedRow.compile_id  Compile id as torch prints it, without brackets
TunedRow.winner  The fastest candidate
TunedRow.winner_backend  triton, extern, cpp, cutlass or other
TunedRow.winner_ms  Its milliseconds by torch's benchmark
TunedRow.second  The next candidate
TunedRow.second_ms  Its milliseconds
TunedRow.margin  How many times longer the next one takes
TunedRow.default  The library call that runs without autotuning
TunedRow.default_ms  Its milliseconds
TunedRow.margin_over_default  How many times longer the default takes than the winner
TunedRow.emitted  Backend of the kernel in the code; it can differ from the winner's
TunedRow.slower_than_default  Whether the emitted kernel is slower than the default, each timed alone
TunedRow.emitted_ms  Best milliseconds of that backend
TunedRow.winner_config  Configuration of the winner, of a Triton template
TunedSite.config_changes  Neighbouring sizes whose winners are configured differently
TunedRow.candidates  Number of candidates
TunedRow.failed  Candidates that failed
TunedRow.failures  Torch's reasons
TunedRow.calls  Calls of the graph or the rung; null when they were not counted
TunedRow.rung  Rung of a bucket ladder it belongs to
TunedRow.uses  Sizes it was called with, most calls first; cut at a fixed number
TunedRow.uses_count  Number of different sizes
TunedRow.calls_far  Calls at sizes at least four times larger or smaller than the timed one
TunedRow.far_share  Their share of the calls
TunedRow.slowdown  How many times longer the choice takes at such a size than the best one timed there
TunedRow.slowdown_at  The size of that other timing
Autotuning.rung  Rung of a bucket ladder it was tuned for
Bucket.made  What Inductor made of the rung, by direction
RungCode.direction  forward, backward or inference
RungCode.kernels  Launches per call by family of kernels
RungCode.kernel_count  Number of kernels
RungCode.nodes_before  Inductor's nodes before fusion
RungCode.nodes_after  After it
RungCode.bytes_moved  Bytes of memory read and written in one call
RungCode.peak_bytes  Largest sum of intermediates alive
RungCode.missed_epilogues  GEMMs and convolutions followed by a pointwise kernel that could have been one
RungCode.code  Name of the generated code
RungCode.cached  Whether the code came from a cache
KernelNode.name  Node of the graph after the joint passes
KernelNode.op  Its operator
KernelNode.original  The operator it was before decompositions; empty where that is not recorded
KernelNode.line  The user's line it comes from
KernelRow.nodes  Nodes that went into it; cut at a fixed number
KernelRow.nodes_count  Number of nodes
KernelRow.tuned  Configurations of a Triton kernel timed at its first launch, fastest first; cut
KernelRow.tuned_count  Number of configurations
TunedRow.missing  Facts that are null for want of a source, and why
CompiledTwice.function  Function whose operations were tuned; null where it is not known
CompiledTwice.file  {file}
CompiledTwice.line  {line}
CompiledTwice.process  {process}
CompiledTwice.operations  Autotuned operations
CompiledTwice.candidates  Candidates that the process compiled after the compile workers had
CompiledTwice.compile_s  Seconds of that
CompiledTwice.workers  CUDA release of the compile workers' ptxas
CompiledTwice.own  CUDA release of the process's ptxas
TunedSite.op  Operation: mm, addmm, convolution
TunedSite.function  Function that was compiled
TunedSite.file  {file}
TunedSite.line  {line}
TunedSite.process  {process}
TunedSite.nodes  Nodes in the graph; several where layers are alike
TunedSite.lines  The user's lines
TunedSite.dtypes  Data types of the operands
TunedSite.strides  Strides of the operands
TunedSite.rows  By size
TunedSite.rows_count  Number of sizes
TunedSite.winner_changes  Neighbouring sizes whose winners are of different backends
Guards.more  {more}
KernelRow.more  {more}
Fusion.more  {more}
Memory.more  {more}
Aot.more  {more}
Autotuning.more  {more}
Recompile.more  {more}
Graph.more  {more}
Report.more  {more}
FrameSizes.more  {more}
CompiledAutograd.more  {more}
CacheMiss.more  {more}
TunedRow.more  {more}
TunedSite.more  {more}
"""
