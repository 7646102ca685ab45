"""The long texts of a recording, each with the compile it is of; read only when somebody looks at one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from compilescope.model._compiles import Compiles
from compilescope.model._fields import text as as_text
from compilescope.model._process import file_names
from compilescope.recording import ProcessRecording, Record, Recording, Ref

# Record kinds and names of artifacts, all torch's own -> what a person calls the text.
TITLES = {
    "dynamo_output_graph": "Dynamo graph",
    "aot_joint_graph": "joint graph",
    "aot_forward_graph": "forward graph",
    "aot_backward_graph": "backward graph",
    "aot_inference_graph": "inference graph",
    "inductor_post_grad_graph": "Inductor's graph after its passes",
    "inductor_output_code": "Inductor's code",
    "dynamo_cpp_guards_str": "guards",
}
_CODE = "inductor_output_code"
_POST_GRAD = "inductor_post_grad_graph"
_KINDS = frozenset({"artifact", "dynamo_start", *TITLES})


@dataclass(frozen=True, slots=True)
class Document:
    """One text. ``kind`` is a key of :data:`TITLES`, ``size_bytes`` of UTF-8; equal texts share a ``digest``.

    ``code`` is the name of the generated code it is or was made into, where that is known: a forward and a
    backward share a compile id. ``read`` gives None for a text that is damaged.
    """

    process: str
    epoch: int
    compile_id: str
    kind: str
    title: str
    code: str | None
    digest: str
    size_bytes: int
    read: Callable[[], str | None]


def documents_of(recording: Recording) -> list[Document]:
    """All texts of all compiles, in the order they were recorded. No text is read."""
    return [document for process in recording.processes for document in _documents(process)]


def _documents(owner: ProcessRecording) -> Iterator[Document]:
    compiles = Compiles(owner, file_names(owner))
    waiting: dict[tuple[int, str], list[Document]] = {}  # graphs whose code is still to come
    for record in owner.records(_KINDS):
        if record.k == "dynamo_start":
            compiles.begin(record)
            continue
        document = _document(owner, record, compiles)
        if document is None:
            continue
        key = (document.epoch, document.compile_id)
        if document.kind == _POST_GRAD:
            waiting.setdefault(key, []).append(document)
            continue
        if document.kind == _CODE:
            yield from (replace(graph, code=document.code) for graph in waiting.pop(key, ()))
        yield document
    for left in waiting.values():
        yield from left


def _document(owner: ProcessRecording, record: Record, compiles: Compiles) -> Document | None:
    kind = str(record.m.get("name")) if record.k == "artifact" else record.k
    compile_id, ref = compiles.id_of(record), record.p
    if kind not in TITLES or compile_id is None or not isinstance(ref, Ref):
        return None
    attempt = record.c[2] if record.c and len(record.c) > 2 else None
    again = f", attempt {attempt + 1}" if attempt else ""
    return Document(
        owner.id,
        compile_id.epoch,
        str(compile_id),
        kind,
        TITLES[kind] + again,
        _stem(as_text(record.m.get("filename"))) if kind == _CODE else None,
        f"{ref.md5} {ref.len}",
        ref.len,
        lambda: owner.text(ref),
    )


def _stem(path: str | None) -> str | None:
    if path is None:
        return None
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
