"""What each field of the summary means, and the fixed vocabularies: the schema's documentation.

One line a field; a test names the fields that have none.
"""

from __future__ import annotations

from compilescope.views.json import _words_compiler, _words_ladder

_KINDS = (
    *("size", "size_one", "stride", "rank", "dtype", "device", "requires_grad", "dispatch_keys", "value"),
    *("type", "identity", "code", "container_length", "dict_keys", "grad_mode", "autocast", "training_mode"),
    *("backend", "symbolic_guard", "duck_shape", "constraint", "alignment", "other"),
    *("none_failed", "unknown"),
)

VOCABULARY = {
    "Recompile.kind": _KINDS,
    "Recompile.holder": (
        *("argument", "module_attribute", "object_attribute", "closure", "global", "container_item"),
        "resume_value",
    ),
    "Recompile.value_type": ("int", "float", "str", "bool", "enum", "none"),
    "GuardChange.kind": _KINDS,
    "GraphBreak.resume": ("resumable", "tail_skipped", "frame_skipped"),
    "Placeholder.kind": ("tensor", "symint", "symfloat", "other"),
}

_FILE = "Relative to the working directory of the run where below it, else absolute"
_LINE = "Line of user code, never torch's own; starts at 1"
_PROCESS = "`id` of the process in `processes`"
_IDS = "Compile ids as torch prints them, without brackets: 0/1"
_CODE = "The source line; null when the source was not recorded"
_MORE = "Of each list here that is not complete: how many entries more there are"
_CALLED = "The user's call that led here: file.py:22 main"

_TABLE = f"""
Report.format_version  Goes up when a name or a meaning changes; fields may be added without
Report.recording  The recording this was made from, and the run it recorded
Report.processes  Every process that left a folder in the recording
Report.totals  Counts over all processes
Report.verdict  The first ten seconds: what a person should know
Report.worst  Ranked facts, worst first; presentation only
Report.graph_breaks  One entry per distinct site (file, line)
Report.recompiles  One entry per distinct cause (frame code, guarded source, kind)
Report.limit_hits  One entry per code object that the recompile limit refused
Report.failures  Compilations that raised, also those that Dynamo suppressed
Report.skips  Frames that Dynamo left to the interpreter
Report.frames  One entry per code object that Dynamo compiled or refused
Report.graphs  One entry per graph handed to the backend, and one per backward graph
Report.caches  Outcomes of compile caches over all processes
Report.diagnoses  Why nothing, or nothing new, was compiled
Report.missing  Facts that are null anywhere above because they could not be captured
Report.buckets  Rungs of bucket ladders, one entry per captured graph and rung
Report.findings  Ranked results of rules: rule, severity, file, line, summary, cost, saving, fix, refs
Report.unknown_records  Records of kinds this version does not know, by kind
Report.redacted  Whether words of the program were replaced by placeholders
Missing.fact  What could not be captured
Missing.reason  Why
Damage.kind  What is wrong, such as a torn line
Damage.where  File and byte offset in the recording: events.jsonl:1234
Damage.detail  What was found there
RecordingInfo.path  The recording, as it was named on the command line
RecordingInfo.command  The command that was recorded, a word an item
RecordingInfo.exit_status  As a shell sees it: 0 to 255, 128 + n for signal n; null when unknown
RecordingInfo.started  Start of the program, ISO 8601, UTC
RecordingInfo.wall_s  Seconds the whole program took
RecordingInfo.complete  Whether every process closed its recording
RecordingInfo.counts_as_of  Time of the last counter snapshot, ISO 8601, UTC; later calls are not counted
RecordingInfo.ended  In words: exited 0, killed by SIGKILL, still running
RecordingInfo.size_bytes  Size of the recording
RecordingInfo.name  The script, the module or -c, as a person would call the program
RecordingInfo.git_revision  Revision of the working tree; null outside a repository
RecordingInfo.git_dirty  Whether the working tree had uncommitted changes
RecordingInfo.versions  Versions by name: compilescope, python, torch, triton
RecordingInfo.missing  Why a field above is null
ProcessInfo.id  Name of the process' folder in the recording
ProcessInfo.pid  Process id
ProcessInfo.rank  Rank in a distributed job
ProcessInfo.world_size  Number of ranks in the job
ProcessInfo.torch  Version of torch
ProcessInfo.python  Version of Python
ProcessInfo.device  Device the program ran on
ProcessInfo.missing  Facts that this process could not capture
ProcessInfo.damage  Parts of its recording that could not be read
ProcessInfo.argv  Its command line, a word an item
ProcessInfo.ended  How it ended, in words
Totals.frames  Code objects that Dynamo compiled at least once, resume functions included
Totals.compiles  Distinct compile ids that started; restarts and refused attempts not counted
Totals.graphs  Graphs handed to the backend, forward only
Totals.graph_break_sites  Distinct file and line of graph breaks
Totals.graph_break_events  Graph break records; one site may log several
Totals.recompiles  Compiles of code that already had an entry and that produced code
Totals.limit_hits  Code objects that the recompile limit refused
Totals.failures  Compilations that raised
Totals.compile_wall_s  Seconds spent compiling, by wall clock
Totals.compiled_calls  Calls of compiled graphs
Totals.eager_calls  Calls that ran without torch.compile after a refusal
Totals.processes  Processes in the recording
Totals.blocked_by_limit  Compiles that the recompile limit refused
Totals.skipped_frames  Frames that Dynamo left to the interpreter
Totals.uncounted_functions  Functions that Dynamo left to Python as a whole: their calls are in no count
Totals.warm_up_recompiles  Those that a bucketed model's warm-up makes on purpose, which are not in recompiles
Totals.compiled  Compiles that ended with code, those without an operation included
GraphBreak.file  {_FILE}
GraphBreak.line  {_LINE}
GraphBreak.function  Function the line is in
GraphBreak.code  {_CODE}
GraphBreak.causes  Slugs of what the line does
GraphBreak.gb_types  Torch's names of the break
GraphBreak.gb_ids  Torch's ids of the break: GB0059
GraphBreak.reason  In plain words
GraphBreak.hint  Torch's own hint
GraphBreak.events  Graph break records of this site
GraphBreak.runtime_hits  How often execution left a graph here
GraphBreak.resume  How Dynamo went on
GraphBreak.call_path  Calls that led to the line, outermost first: file.py:15 forward
GraphBreak.compile_ids  {_IDS}
GraphBreak.process  {_PROCESS}
GraphBreak.library  Whether the line is an installed package's, not the user's
GraphBreak.warm_up  True where only a bucketed model's warm-up met it, and no call of the program ran it
GraphBreak.runtime_hits_basis  What was counted to get `runtime_hits`; `at least: ` begins a lower bound
GuardChange.source  The guarded expression
GuardChange.old  Value that the entry was compiled for: a scalar or short text
GuardChange.new  Value that was met: a scalar or short text
GuardChange.kind  What kind of thing changed
Recompile.function  Function that was compiled again
Recompile.file  {_FILE}
Recompile.line  {_LINE}
Recompile.kind  What kind of thing changed
Recompile.holder  Where the value lives
Recompile.value_type  Type of a changed value
Recompile.source  The guarded expression
Recompile.changes  [old, new] of each recompile, in order
Recompile.count  Recompiles that produced code in which this cause changed
Recompile.blocked_by_limit  Refused compiles in which this cause changed
Recompile.also_failed  Other guards that failed at the same time
Recompile.caused_by  Graph break that made this guard: file.py:14
Recompile.benign  Whether it happens once by design, such as the switch to a dynamic size
Recompile.wasted_compile_s  Seconds spent on these recompiles
Recompile.compile_ids  {_IDS}
Recompile.called_from  {_CALLED}
Recompile.process  {_PROCESS}
Recompile.code  {_CODE}
Recompile.named_by_torch  How often torch's own message named this cause first
Recompile.blocked_changes  [old, new] of each refused compile, in order
Recompile.thread  Thread it happened on, when there were several
Recompile.meaning  What the change amounts to: contiguous -> channels_last
Recompile.also_failed_count  How many there are; also_failed lists the first of them
Recompile.warm_up  True where a bucketed model's warm-up made these graphs, on purpose
Recompile.also_changed  Differed from the newest entry, with a value that an older one has: not the cause
LimitHit.function  Function that was refused
LimitHit.file  {_FILE}
LimitHit.line  {_LINE}
LimitHit.limit  The limit that was met
LimitHit.last_cause  What changed when the limit was met
LimitHit.eager_calls  Calls that ran without torch.compile since, the refused one included
LimitHit.total_calls  All calls of the function
LimitHit.process  {_PROCESS}
LimitHit.called_from  {_CALLED}
Failure.exception  Name of the exception's type
Failure.message  Its text
Failure.function  Function that was being compiled
Failure.file  {_FILE}
Failure.line  {_LINE}
Failure.suppressed  Whether Dynamo ran the function without compiling it instead of raising
Failure.phase  Where it happened: dynamo, aot_autograd, inductor, triton
Failure.compile_id  Compile id as torch prints it, without brackets
Failure.process  {_PROCESS}
Failure.code  {_CODE}
Skip.function  Function that was skipped
Skip.file  {_FILE}
Skip.line  {_LINE}
Skip.reason  Why Dynamo skipped it
Skip.process  {_PROCESS}
Placeholder.name  Name in the graph
Placeholder.kind  What it holds
Placeholder.source  Where its value comes from
Placeholder.dtype  Data type of a tensor
Placeholder.shape  Sizes; a symbol is text
Placeholder.stride  Strides; a symbol is text
Placeholder.device  Device of a tensor
Placeholder.expr  Symbolic expression of a number
Placeholder.hint  Value it had when the graph was compiled
Placeholder.range  Values the graph was compiled for
SizeCount.values  Size by symbol
SizeCount.count  Calls with these sizes
Specialization.source  What was fixed
Specialization.value  The value it was fixed to
Specialization.reason  Why
Specialization.file  {_FILE}
Specialization.partner  The other operand of the line whose fixed size it took
Specialization.line  {_LINE}
Graph.epoch  Starts at 0 and goes up with each torch._dynamo.reset()
Graph.compile_id  Compile id as torch prints it, without brackets
Graph.function  Function it comes from
Graph.file  {_FILE}
Graph.line  {_LINE}
Graph.ops  Calls of operators in it
Graph.calls  How often it ran
Graph.backward  Whether it is a backward graph: such a row has no inputs of its own
Graph.compile_s  Seconds it took to compile
Graph.process  {_PROCESS}
Graph.phases  Exclusive seconds by phase, without those inside it: they add up to compile_s
Graph.phases_nested  Torch's own figures by phase: each includes those inside it
Graph.cache  Outcome by cache
Graph.placeholders  Its inputs
Graph.sizes_seen  Sizes it was called with
Graph.specializations  Sizes that became constants
Graph.kernels  Launches per call by family: triton, extern, cpp, template, collective, copy, custom
Graph.backend  Backend that compiled it
Graph.missing  Facts of this graph that could not be captured
Frame.function  Name of the code object
Frame.file  {_FILE}
Frame.line  {_LINE}
Frame.compile_ids  {_IDS}
Frame.graphs  Graphs made from it
Frame.ops  Calls of operators in them
Frame.compiled_calls  Calls of its graphs
Frame.eager_calls  Calls that ran without torch.compile after a refusal
Frame.compile_s  Seconds spent compiling it
Frame.graph_breaks  Graph break sites in it
Frame.recompiles  Recompiles of it
Frame.status  compiled, graph break, recompiled, recompile limit, failed, skipped or empty
Frame.process  {_PROCESS}
Report.guard_costs  Functions by the share of a call that checking their guards takes
Frame.missing  Why a field above is null
Frame.resumed_at  Line at which a resume function goes on
Frame.called_from  {_CALLED}
Diagnosis.slug  Stable name of the diagnosis
Diagnosis.text  One plain sentence
Diagnosis.process  {_PROCESS}; null when it holds for all
Worst.kind  What it is about: limit_hit, graph_break, recompile, failure, skip
Worst.title  One line
Worst.file  {_FILE}
Worst.line  {_LINE}
Worst.function  Function it is about
Worst.code  {_CODE}
Worst.detail  The evidence: len(history) 0 -> 1 -> ... -> 8
Worst.cost  What it cost; each figure says measured, counted or estimated
Worst.note  What could mislead
Worst.called_from  {_CALLED}
Worst.fix  What to change, in one sentence; null where no rule knows
Verdict.sentences  One to three plain sentences
Verdict.compile_share  Share of the program's time spent compiling, 0 to 1
Verdict.settled  Whether compiling had stopped before the program ended
Verdict.last_compile_s  Seconds from the start of the program to the end of the last compile
CacheTotals.fx_graph  Lookups of the FX graph cache by outcome; empty when it was not asked
CacheTotals.pgo  Look-ups of a profile of an earlier run by outcome
CacheTotals.triton_bundle  Triton kernels stored with a graph, by outcome: hit, miss, bypass
CacheTotals.remote  Outcomes of caches shared between machines, by cache
CacheTotals.saved_s  Seconds that hits saved, by cache, by torch's own account
CacheTotals.profiles  Each look-up of a profile
CacheTotals.missing  Why a field is empty
Profile.process  {_PROCESS}
Profile.outcome  hit, miss or bypass
Profile.reason  Why there was no hit
Profile.key  Name the profile is stored under
Profile.frames  Functions the profile found knows
Profile.took_s  Seconds the look-up took
Profile.missing  Why a field above is null
CacheTotals.aot_autograd  Lookups of the AOTAutograd cache by outcome; empty when it was not asked
RecordingInfo  The recording this was made from, and the run it recorded
ProcessInfo  A process that left a folder in the recording
Totals  Counts over all processes
LimitHit  A code object that the recompile limit refused
Failure  A compilation that raised
Placeholder  An input of a graph
SizeCount  How often a graph was called with these sizes
Specialization  A size that became a constant
Graph  A graph handed to the backend
Report  The whole report
"""

_BELOW = (_words_compiler.TABLE + _words_ladder.TABLE).format(
    file=_FILE, line=_LINE, process=_PROCESS, ids=_IDS, more=_MORE
)

DESCRIPTIONS: dict[str, str] = {
    row.split("  ", 1)[0]: row.split("  ", 1)[1] for row in (_TABLE + _BELOW).split("\n") if row
}
