"""``python -m compilescope`` is the command."""

from compilescope.cli import main

main()
