"""Found through PYTHONPATH by every Python interpreter the program starts, before the program's first line.

Any Python may run this file, so it keeps to syntax and modules that all of them have. It takes its own
traces out of ``sys`` first and then gives way to the ``sitecustomize`` it hides, if there is one: with none,
the ImportError below is the one ``site`` expects.
"""

import os
import sys

# String methods, because pathlib is not loaded yet and must not be because of us.
_folder = __file__.rpartition(os.sep)[0]
sys.path[:] = [entry for entry in sys.path if entry != _folder]
sys.path_importer_cache.pop(_folder, None)
_this = sys.modules.pop("sitecustomize", None)  # held: Python 2 empties a module that nobody holds

if sys.version_info >= (3, 11) and os.environ.get("COMPILESCOPE_RECORDING"):
    from _frozen_importlib_external import SourceFileLoader

    _launch = _folder.rpartition(os.sep)[0]
    _loader = SourceFileLoader("compilescope.launch._child", _launch + "/_child.py")
    _child = type(sys)(_loader.name)
    _child.__file__ = _loader.path
    try:
        _loader.exec_module(_child)
        _child.start()
    except Exception as problem:
        sys.stderr.write("compilescope: this process is not recorded: " + repr(problem) + "\n")

__import__("sitecustomize")
