"""All that a program can see of its own process is what it sees under plain ``python``."""

from __future__ import annotations

import json
import os
import zipfile

import pytest

# Prints one JSON object. No import of its own before the list of loaded modules is taken.
MIRROR = """
import sys
loaded = sorted(sys.modules)
main = {name: type(value).__name__ for name, value in vars(sys.modules["__main__"]).items()}
finders = [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path]
path_cache = sorted(sys.path_importer_cache)
import atexit, gc, json, os, resource, signal, threading
facts = {
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "modules": loaded, "main": main,
    "flags": list(sys.flags), "warnoptions": sys.warnoptions, "xoptions": sys._xoptions,
    "executable": sys.executable, "prefix": sys.prefix, "finders": finders, "path_cache": path_cache,
    "path_hooks": len(sys.path_hooks), "name": __name__, "doc": __doc__, "package": __package__,
    "file": globals().get("__file__"), "spec": getattr(__spec__, "name", None),
    "excepthook": sys.excepthook is sys.__excepthook__, "trace": sys.gettrace() is None,
    "profile": sys.getprofile() is None, "atexit": atexit._ncallbacks(), "gc": gc.get_threshold(),
    "recursion": sys.getrecursionlimit(), "switch": sys.getswitchinterval(),
    "threads": threading.active_count(),
    "signals": {str(n): str(signal.getsignal(n)) for n in signal.valid_signals()},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "ignored": [l for l in open("/proc/self/status") if l.startswith(("SigIgn", "SigBlk", "SigCgt"))],
    "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd")),
    "cwd": os.getcwd(), "umask": os.umask(0o22), "nice": os.nice(0),
    "leader": [os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()],
    "limits": [resource.getrlimit(n) for n in range(16)],
    "environ": dict(os.environ), "stdio": [[f.isatty(), f.encoding, f.errors, f.name] for f in
        (sys.stdin, sys.stdout, sys.stderr)], "read": None if sys.argv[0] == "-" else sys.stdin.read(),
}
print(json.dumps(facts))
"""
OURS = {"COMPILESCOPE_RECORDING", "COMPILESCOPE_ROOT_PID", "PYTHONPATH"}


def same(programs, *words, env=None, stdin="typed\n") -> dict:
    """Both ways, compared; returns what the program saw."""
    plain = programs.plain(*words, env=env, input=stdin)
    recorded = programs.recorded(*words, env=env, input=stdin)
    assert (recorded.returncode, recorded.stderr) == (plain.returncode, plain.stderr)
    want, got = json.loads(plain.stdout), json.loads(recorded.stdout)
    assert got["finders"].pop(0) == "TorchImport"
    for name in OURS:
        want["environ"].pop(name, None)
        got["environ"].pop(name, None)
    assert got == want
    return got


def test_script_with_arguments(programs):
    programs.write("sub/train.py", MIRROR)
    seen = same(programs, "sub/train.py", "--lr", "3", "-m", "x", "-o", "--help", "--", "ü\n")
    assert seen["argv"] == ["sub/train.py", "--lr", "3", "-m", "x", "-o", "--help", "--", "ü\n"]
    assert seen["path"][0] == str(programs.folder / "sub")
    assert seen["read"] == "typed\n"


def test_module(programs):
    programs.write("pkg/__init__.py", "")
    programs.write("pkg/helper.py", "")
    programs.write("pkg/train.py", "from . import helper" + MIRROR)
    seen = same(programs, "-m", "pkg.train", "--epochs=3", "-m")
    assert seen["spec"] == "pkg.train"
    assert seen["package"] == "pkg"


def test_package_with_main(programs):
    programs.write("pkg/__init__.py", "")
    programs.write("pkg/__main__.py", MIRROR)
    assert same(programs, "-m", "pkg")["spec"] == "pkg.__main__"


def test_code(programs):
    assert same(programs, "-c", MIRROR, "a", "-c")["argv"] == ["-c", "a", "-c"]


def test_program_on_standard_input(programs):
    assert same(programs, "-", "a", stdin=MIRROR)["argv"] == ["-", "a"]


def test_folder_and_zip_file_as_programs(programs):
    programs.write("app/__main__.py", MIRROR)
    assert same(programs, "app")["argv"] == ["app"]
    with zipfile.ZipFile(programs.folder / "app.zip", "w") as archive:
        archive.writestr("__main__.py", MIRROR)
    assert same(programs, "app.zip")["argv"] == ["app.zip"]


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONPATH": "lib"},
        {"PYTHONPATH": f"lib{os.pathsep}"},
        {"PYTHONPATH": ""},
        {"PYTHONSAFEPATH": "1", "PYTHONOPTIMIZE": "2", "PYTHONNOUSERSITE": "1"},
        {"PYTHONFAULTHANDLER": "1", "PYTHONDEVMODE": "1", "PYTHONWARNINGS": "default", "PYTHONUTF8": "1"},
    ],
)
def test_interpreter_settings_by_environment(programs, env):
    programs.write("train.py", MIRROR)
    same(programs, "train.py", env=env)


def test_inherited_descriptors_stay_open(programs):
    programs.write("train.py", "import os\nos.write(int(os.environ['EXTRA']), b'through')\n")
    reader, writer = os.pipe()
    programs.recorded("train.py", env={"EXTRA": str(writer)}, pass_fds=[writer])
    os.close(writer)
    assert os.read(reader, 100) == b"through"
    os.close(reader)
