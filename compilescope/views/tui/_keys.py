"""Every key, as data: bindings, the bar at the bottom and the help are made from these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Key:
    """``keys`` as Textual spells them, comma separated; ``shown`` as a person reads them.

    ``bar`` is the word for the bar at the bottom, empty for keys that only the help lists.
    """

    keys: str
    shown: str
    action: str
    help: str
    bar: str = ""


EXPLORER = (
    Key("1,2,3,4,5,6,7,8,9", "1-9", "go", "go to that screen"),
    Key("K", "K", "show('kernels')", "kernels"),
    Key("B", "B", "show('buckets')", "buckets"),
    Key("L", "L", "show('ladder')", "the planner's bucket ladder"),
    Key("D", "D", "show('compare')", "what differs from another recording"),
    Key("c", "c", "compare", "name a recording to compare with"),
    Key("O", "O", "show('output')", "what the program printed, where that was kept"),
    Key("C", "C", "show('guards')", "guards: what is checked before each call"),
    Key("T", "T", "show('timeline')", "where compile time went"),
    Key("P", "P", "show('ranks')", "processes side by side"),
    Key("left_square_bracket", "[", "step(-1)", "the screen before"),
    Key("right_square_bracket", "]", "step(1)", "the next screen"),
    Key("backspace,u", "backspace u", "go_back", "where you came from"),
    Key("e", "e", "export", "write the report as a web page"),
    Key("r", "r", "reload", "read the recording again"),
    Key("question_mark,f1", "?", "help", "this help", "help"),
    Key("ctrl+c", "ctrl+c", "interrupt", "of run --live: interrupt the program"),
    Key("ctrl+p", "ctrl+p", "command_palette", "all commands by name, and themes"),
    Key("q,ctrl+q", "q", "quit", "quit", "quit"),
)
PAGE = (
    Key("slash", "/", "search", "search; the cursor jumps to the match", "search"),
    Key("n", "n", "next_match(1)", "the next match"),
    Key("N", "N", "next_match(-1)", "the match before"),
    Key("escape", "esc", "escape", "leave the search; again: show all rows"),
    Key("y", "y", "copy", "copy as Markdown (clipboard of your terminal)", "copy"),
    Key("Y", "Y", "show_copy", "show what y copies"),
    Key("o", "o", "edit", "open the line in $EDITOR", "editor"),
    Key("tab", "tab", "app.focus_next", "the next pane"),
    Key("shift+tab", "shift+tab", "app.focus_previous", "the pane before"),
)
TABLE = (
    Key("f", "f", "filter", "show only rows with a text", "filter"),
    Key("s", "s", "sort", "sort by the next column", "sort"),
    Key("S", "S", "reverse", "turn the order round"),
)
GRID = (
    Key("enter", "enter", "open", "open: the row's code, a frame's compiles", "open"),
    Key("up,k", "up k", "move(-1)", "one row up"),
    Key("down,j", "down j", "move(1)", "one row down"),
    Key("pageup,ctrl+u", "pgup", "page(-1)", "one page up"),
    Key("pagedown,ctrl+d", "pgdn", "page(1)", "one page down"),
    Key("home,g", "home g", "first", "the first row"),
    Key("end,G", "end G", "last", "the last row"),
    Key("right,l", "right l", "expand", "show what is under the row"),
    Key("left,h", "left h", "collapse", "hide it, or go to the row above it"),
)
LADDER = (
    Key("plus,equals_sign", "+ -", "rungs(1)", "one more rung, one less", "rungs"),
    Key("minus", "-", "rungs(-1)", "one rung less"),
    Key("a", "a", "align(1)", "rungs are multiples of twice as much", "align"),
    Key("A", "A", "align(-1)", "rungs are multiples of half as much"),
    Key("m", "m", "kinds", "pads and pins, pads alone, pins alone", "kinds"),
    Key("f", "f", "function(1)", "the next function", "function"),
    Key("F", "F", "function(-1)", "the function before"),
)
TEXT = (
    Key("up,k", "up k", "scroll_up", "one line up"),
    Key("down,j", "down j", "scroll_down", "one line down"),
    Key("left,h", "left h", "scroll_left", "to the left"),
    Key("right,l", "right l", "scroll_right", "to the right"),
    Key("pageup,ctrl+u", "pgup", "page_up", "one page up"),
    Key("pagedown,ctrl+d,space", "pgdn", "page_down", "one page down"),
    Key("home,g", "home g", "scroll_home", "the start"),
    Key("end,G", "end G", "scroll_end", "the end"),
)


CODE = (
    Key("up,k", "up k", "cursor(-1)", "one line up"),
    Key("down,j", "down j", "cursor(1)", "one line down"),
    *TEXT[2:4],
    Key("pageup,ctrl+u", "pgup", "page(-1)", "one page up"),
    Key("pagedown,ctrl+d,space", "pgdn", "page(1)", "one page down"),
    Key("home,g", "home g", "ends(-1)", "the first line"),
    Key("end,G", "end G", "ends(1)", "the last line"),
)
LINKS = (Key("x", "x", "link", "from a line to its kernels; from a kernel to its lines", "line/kernel"),)


def bindings(keys: Iterable[Key]) -> list[Binding | tuple[str, str] | tuple[str, str, str]]:
    """For ``BINDINGS`` of a widget, screen or app; the keys 1-9 become one binding each."""
    found: list[Binding | tuple[str, str] | tuple[str, str, str]] = []
    for key in keys:
        if key.action == "go":
            found += [Binding(digit, f"go({digit})", key.help, show=False) for digit in key.keys.split(",")]
        else:
            # Textual's own ctrl+c would come first.
            first = key.action == "interrupt"
            found.append(Binding(key.keys, key.action, key.help, show=False, priority=first))
    return found
