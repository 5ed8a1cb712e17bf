"""What the tests of fettle-enhance share: checks that are counted, and how a test begins and ends."""

import os
import pathlib
import sys
import tempfile
import threading

import media

_counts = {True: 0, False: 0}
_counting = threading.Lock()


def check(name, condition, got=""):
    """Counts; a failure prints `got`. From any thread."""
    with _counting:
        _counts[bool(condition)] += 1
    if not condition:
        print(f"FAILED {name}: {got}")


def run_in_folder(body, missing=None):
    """Calls `body` with a folder that is removed afterwards, prints the count and ends the program. `missing`: why it cannot be called."""
    reason = missing or media.tools_missing()
    if reason:
        print(f"skipped: {reason}")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as folder:
        body(pathlib.Path(folder))
    print(f"{_counts[True]} passed, {_counts[False]} failed, 0 skipped")
    sys.exit(1 if _counts[False] else 0)


def run_parts(*parts, make=None):
    """run_in_folder with a cache of its own: `make(folder)` first, then each part with the program and the folder."""

    def body(folder):
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        if make:
            make(folder)
        for part in parts:
            part(sys.argv[1], folder)

    run_in_folder(body)
