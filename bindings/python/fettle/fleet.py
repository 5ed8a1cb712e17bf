"""What many devices have tuned, in one folder on any storage that fsspec reaches; there is no server.

    python -m fettle.fleet contribute s3://bucket/tuning     # on each device, after it has tuned
    python -m fettle.fleet collect s3://bucket/tuning        # where packages are made, or on a new device

The folder holds a tuning database for each device, NAME.db, which that device alone writes. Rows name the device that they
were measured on, so a database can hold those of all: a new device of a known kind has nothing left to measure. Needs
fsspec (the extra `fleet` of the wheel) and, for object stores, the package that it names.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from typing import Any, NamedTuple

from . import errors
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
    given = parser.parse_args(arguments)
    try:
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
