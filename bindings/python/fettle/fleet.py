"""What many devices have tuned, in one folder on any storage that fsspec reaches; there is no server.

    python -m fettle.fleet contribute s3://bucket/tuning     # on each device, after it has tuned
    python -m fettle.fleet collect s3://bucket/tuning        # where packages are made, or on a new device
    python -m fettle.fleet tune HOSTS.txt MODEL...           # tunes on all machines of a list (fleet_tuning.py)

The folder holds a tuning database for each device, NAME.db, which that device alone writes. Rows name the device that they
were measured on, so a database can hold those of all: a new device of a known kind has nothing left to measure. Needs
fsspec (the extra `fleet` of the wheel) and, for object stores, the package that it names.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from typing import Any, NamedTuple

from . import errors, fleet_tuning
from .program import run_program

_SUFFIX = ".db"


class Merged(NamedTuple):
    """What a device's database gave: rows and decisions `taken`, those `damaged`, or why nothing was (`error`)."""

    name: str
    taken: int
    damaged: int
    error: str = ""


def contribute(store: str | os.PathLike, *, name: str | None = None, cache: str | os.PathLike | None = None,
               **storage: Any) -> str:
    """Puts this device's database into the folder `store`, whole, in place of its earlier one, and returns its address.

    `store`: a path or an address of fsspec; `name`: of the device, the host's unless given; `cache`: the folder of the
    database, None: the user's; `storage`: options of fsspec for that storage. Other processes may be tuning. Unsupported
    without fsspec, InvalidModel where nothing has been tuned, InvalidArgument, InputOutput.
    """
    name = _valid(platform.node() if name is None else name)
    files, folder = _open(store, storage)
    own = run_program("db", "info", cache=cache)["path"]
    with tempfile.TemporaryDirectory() as copy:
        run_program("db", "merge", own, cache=copy)  # a copy that nobody is writing to
        target = f"{folder}/{name}{_SUFFIX}"
        with _InputOutput(store):
            files.makedirs(folder, exist_ok=True)
            # A reader sees the old file or the new one: object stores put whole objects, folders rename.
            files.put_file(os.path.join(copy, "tuning.db"), target + ".part")
            files.mv(target + ".part", target)
    return files.unstrip_protocol(target)


def collect(store: str | os.PathLike, *, cache: str | os.PathLike | None = None, **storage: Any) -> list[Merged]:
    """Adds the databases of all devices in `store` to this one's; the younger of two equal rows stays.

    A database that cannot be read is told in its row, and the others are taken. Unsupported without fsspec, NotFound (no
    such folder), InputOutput.
    """
    files, folder = _open(store, storage)
    with _InputOutput(store):
        if not files.isdir(folder):
            raise errors.NotFound(f"{store}: no such folder")
        found = sorted(path for path in files.ls(folder, detail=False, refresh=True) if path.endswith(_SUFFIX))
    merged = []
    for path in found:
        name = path.rsplit("/", 1)[-1][:-len(_SUFFIX)]
        with tempfile.TemporaryDirectory() as copy, _InputOutput(store):
            local = os.path.join(copy, "tuning.db")
            files.get_file(path, local)
            merged.append(_merge(name, local, cache))
    return merged


def _merge(name: str, database: str, cache: str | os.PathLike | None) -> Merged:
    try:
        document = run_program("db", "merge", database, cache=cache)
    except errors.NotFound:
        raise  # no program
    except errors.Error as error:
        return Merged(name, 0, 0, str(error))
    return Merged(name, document["taken"], document["damaged"])


def _open(store: str | os.PathLike, storage: dict[str, Any]) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise errors.Unsupported("a fleet's storage needs fsspec: pip install fsspec") from None
    try:
        files, folder = fsspec.core.url_to_fs(os.fspath(store), **storage)
    except (ValueError, ImportError) as error:  # no such protocol, or its package is absent
        raise errors.Unsupported(f"{store}: {error}") from None
    return files, folder.rstrip("/")


def _valid(name: str) -> str:
    if not name or name.startswith(".") or any(c in "/\\:?*" or not c.isprintable() for c in name):
        raise errors.InvalidArgument(f"{name!r} is not the name of a device")
    return name


class _InputOutput:
    """Failures of a storage as InputOutput."""

    def __init__(self, store: str | os.PathLike) -> None:
        self._store = store

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError) and not isinstance(error, errors.Error):
            raise errors.InputOutput(f"{self._store}: {error}") from error


def _add_tune(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("hosts", metavar="HOSTS", help="a file with a line for each machine: HOST, HOST:PORT, ssh:HOST or adb:SERIAL")
    sub.add_argument("models", metavar="MODEL", nargs="+", help="an .onnx file")
    sub.add_argument("--folder", default="fleet", help="what was done, to go on from (default: fleet)")
    sub.add_argument("--cache", help="folder of tuning.db (default: the user's)")
    sub.add_argument("--at-once", type=int, default=8, help="machines at a time (default: 8)")
    sub.add_argument("--hold", type=int, default=60, help="seconds in which a broken link may come back (default: 60)")
    sub.add_argument("--ray", action="store_true", help="jobs are tasks of Ray")
    sub.add_argument("--keep-outliers", action="store_true", help="merge also machines that are far from others of their device")
    sub.add_argument("--json", action="store_true", help="print the report as JSON")
    for name in ("shape", "level", "budget", "threads", "device", "precision", "runner"):
        sub.add_argument(f"--{name}", action="append" if name == "shape" else "store", help=f"as of fettle tune --{name}")


def _tune(given: argparse.Namespace) -> int:
    own = ("command", "hosts", "models", "json")
    options = {name: value for name, value in vars(given).items() if name not in own and value is not None}
    report = fleet_tuning.tune(given.hosts, given.models, options.pop("folder"), said=lambda line: print(line, file=sys.stderr), **options)
    if given.json:
        print(json.dumps(report, indent=1))
    else:
        for row in report["hosts"]:
            print(f"{row['host']}: {row['tuned']} tuned, {row['reused']} known, {row['failed']} failed, {row['left']} left"
                  + (f"; skipped: {row['error']}" if row["error"] else ""))  # fmt: skip
        for row in report["outliers"]["hosts"]:
            print(f"{row['host']}: its times are {row['ratio']:.2f} of other machines' of its device ({row['rows']} rows)")
        for row in report["outliers"]["rows"][:10]:
            print(f"{row['host']}: {row['kernel']} {row['params']}: {row['us']:.1f} us, {row['others_us']:.1f} on others: {row['problem'][:60]!r}")
        print(f"merged: {sum(row['taken'] for row in report['merged'])} rows of {len(report['merged'])} machines")
    return int(any(row["failed"] or row["left"] for row in report["hosts"]))


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m fettle.fleet`; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m fettle.fleet", description="Shares tuning databases among devices.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for function in (contribute, collect):
        sub = commands.add_parser(function.__name__, help=(function.__doc__ or "").split("\n")[0])
        sub.add_argument("store", metavar="STORE", help="a folder, or an address of fsspec (s3://, gcs://, sftp:// ...)")
        sub.add_argument("--cache", help="folder of tuning.db (default: the user's)")
        if function is contribute:
            sub.add_argument("--name", help="of this device (default: the host's)")
    _add_tune(commands.add_parser("tune", help="Tunes models on all machines of a list, and merges what came back."))
    given = parser.parse_args(arguments)
    try:
        if given.command == "tune":
            return _tune(given)
        if given.command == "contribute":
            print(contribute(given.store, name=given.name, cache=given.cache))
            return 0
        merged = collect(given.store, cache=given.cache)
    except errors.Error as error:
        print(f"fettle.fleet: {error}", file=sys.stderr)
        return 1
    for one in merged:
        print(f"{one.name}: {one.error or f'{one.taken} taken, {one.damaged} damaged'}")
    return int(any(one.error for one in merged))


if __name__ == "__main__":
    sys.exit(main())
