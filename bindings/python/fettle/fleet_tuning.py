"""Tunes models on many machines at once: `python -m fettle.fleet tune HOSTS.txt MODEL...`.

Each machine is reached as `fettle tune --remote` reaches one (docs/remote.md): nothing is installed there, nothing has to run
there. The work of a machine is in a folder, so that what was done is not done again.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import math
import os
import re
import statistics
import tempfile
import threading
from typing import Any, Callable, Iterable, NamedTuple, Sequence

from . import errors
from .program import run_program

_STATE = "fleet.json"
# A failure of these kinds is the model's or the caller's, on whatever machine.
_OF_MODEL = (errors.InvalidModel, errors.InvalidArgument, errors.Corrupt, errors.VersionMismatch)
# A row is far off beyond this factor from all others; a machine, where its median row is off from the others' median.
_FAR_ROW, _FAR_HOST = 1.5, 1.25
_LEAST_HOSTS, _LEAST_ROWS = 3, 8


class Host(NamedTuple):
    """`target`: as --remote takes it; `name`: of its files."""

    target: str
    name: str


def read_hosts(path: str | os.PathLike) -> list[Host]:
    """The machines of a list file: a line each, `ssh:HOST`, `ssh://USER@HOST:PORT`, `adb:SERIAL`, `HOST` or `HOST:PORT`;
    # begins a comment. NotFound, InvalidArgument."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.split("#")[0].strip() for line in file]
    except OSError as error:
        raise errors.NotFound(f"{os.fspath(path)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.InvalidArgument(f"{os.fspath(path)}: not a text") from None
    hosts: dict[str, Host] = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        target = _target(line)
        if target is None:
            raise errors.InvalidArgument(f"{os.fspath(path)}: line {number}: expected HOST, HOST:PORT, ssh:HOST or adb:SERIAL, got '{line}'")
        if target in hosts:
            raise errors.InvalidArgument(f"{os.fspath(path)}: line {number}: '{line}' is listed twice")
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", target.split(":", 1)[1].lstrip("/")) or "host"
        taken = name in (host.name for host in hosts.values())
        hosts[target] = Host(target, f"{name}-{hashlib.sha256(target.encode()).hexdigest()[:8]}" if taken else name)
    if not hosts:
        raise errors.InvalidArgument(f"{os.fspath(path)}: names no machine")
    return list(hosts.values())


def _target(line: str) -> str | None:
    if re.fullmatch(r"(ssh|adb):\S+", line):
        return line
    if re.fullmatch(r"[^\s:/]+", line):
        return "ssh:" + line
    port = re.fullmatch(r"[^\s:/]+:(\d+)", line)
    return f"ssh://{line}" if port and 0 < int(port[1]) < 65536 else None


class _State:
    """What was done: a file that is replaced whole after each model of each machine."""

    def __init__(self, folder: str) -> None:
        self._path, self._lock = os.path.join(folder, _STATE), threading.Lock()
        try:
            with open(self._path, encoding="utf-8") as file:
                self.jobs = {(job["target"], job["key"]): job for job in json.load(file)["jobs"]}
        except FileNotFoundError:
            self.jobs = {}
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise errors.InvalidArgument(f"{self._path}: not what an earlier call left ({error}); remove it to start again") from None

    def put(self, job: dict[str, Any]) -> None:
        with self._lock:
            self.jobs[job["target"], job["key"]] = job
            with open(self._path + ".part", "w", encoding="utf-8") as file:
                json.dump({"jobs": list(self.jobs.values())}, file, indent=1)
            os.replace(self._path + ".part", self._path)


def _tune_there(target: str, model: str, options: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What one machine said of one model, and the database that came back; Ray runs it anywhere."""
    with tempfile.TemporaryDirectory() as cache:
        document = run_program("tune", model, remote=target, no_package=True, cache=cache, **options)
        database = os.path.join(cache, "tuning.db")
        run_program("db", "info", cache=cache)  # settles its log
        with open(database, "rb") as file:
            return document["remotes"][0]["document"], file.read()


def _on_ray() -> Callable[..., tuple[dict[str, Any], bytes]]:
    try:
        import ray
    except ImportError:
        raise errors.Unsupported("ray=True needs Ray: pip install ray") from None
    ray.init(ignore_reinit_error=True, logging_level="error", log_to_driver=False)
    remote = ray.remote(num_cpus=0, max_retries=0)(_ray_task)

    def run(*arguments: Any) -> tuple[dict[str, Any], bytes]:
        failure, result = ray.get(remote.remote(*arguments))
        if failure is not None:
            raise errors.BY_CODE.get(failure[0], errors.Error)(failure[1])
        return result

    return run


def _ray_task(*arguments: Any) -> tuple[Any, Any]:
    try:
        return None, _tune_there(*arguments)
    except errors.Error as error:  # as it is: Ray wraps what tasks raise
        return (error.code, str(error)), None


class _Fleet:
    def __init__(self, folder: str, models: Sequence[str], options: dict[str, Any], run: Callable, said: Callable[[str], None]) -> None:
        self.folder, self.options, self.run, self.said = folder, options, run, said
        self.state = _State(folder)
        self.models = {model: self._key(model) for model in models}

    def _key(self, model: str) -> str:
        digest = hashlib.sha256(json.dumps(self.options, sort_keys=True, default=str).encode())
        try:
            with open(model, "rb") as file:
                for piece in iter(lambda: file.read(1 << 20), b""):
                    digest.update(piece)
        except OSError as error:
            raise errors.NotFound(f"{model}: {error.strerror}") from None
        return digest.hexdigest()[:32]

    def cache(self, host: Host) -> str:
        return os.path.join(self.folder, host.name)

    def tune(self, host: Host) -> dict[str, Any]:
        """All models on one machine, until that is gone."""
        row = {"host": host.target, "name": host.name, "tuned": 0, "reused": 0, "failed": 0, "left": 0, "error": ""}
        for model, key in self.models.items():
            if row["error"]:
                row["left"] += 1
                continue
            before = self.state.jobs.get((host.target, key))
            if before and not before["error"] and os.path.exists(os.path.join(self.cache(host), "tuning.db")):
                row["reused"] += 1
                continue
            self._tune_one(host, model, key, row)
        return row

    def _tune_one(self, host: Host, model: str, key: str, row: dict[str, Any]) -> None:
        job = {"host": host.name, "target": host.target, "model": model, "key": key, "error": ""}
        try:
            document, database = self.run(host.target, model, self.options)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "tuning.db")
                with open(path, "wb") as file:
                    file.write(database)
                run_program("db", "merge", path, cache=self.cache(host))
            job.update({name: document[name] for name in ("default_ms", "tuned_ms", "measured", "seconds")})
            row["tuned"] += 1
        except errors.Error as error:
            job["error"] = str(error)
            row["failed"] += 1
            if not isinstance(error, _OF_MODEL):
                row["error"] = str(error)
        self.said(f"{host.target}: {model}: {job['error'] or 'tuned'}")
        self.state.put(job)


def _times(cache: str) -> dict[tuple, float]:
    """The times of a database, by all that their keys hold but drivers."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.jsonl")
        run_program("db", "export", path, cache=cache)
        with open(path, encoding="utf-8") as file:
            next(file)
            for row in map(json.loads, file):
                if row.get("status") == "ok" and (row.get("median_us") or 0) > 0:
                    device = row["device"].split("; driver ")[0]
                    times[row["problem"], row["kernel"], row["version"], row["params"], device, row["protocol"], row["build"]] = row["median_us"]
    return times


def find_outliers(times: dict[str, dict[tuple, float]]) -> dict[str, Any]:
    """Of {machine: {key of a row: microseconds}}: `hosts[]` whose rows are mostly slower or faster than those of other machines of
    the same device, and `rows[]` that are far from all others, the farthest first. It takes three machines of a device to tell."""
    by_key: dict[tuple, dict[str, float]] = {}
    for host, rows in times.items():
        for key, us in rows.items():
            by_key.setdefault(key, {})[host] = us
    ratios: dict[str, list[float]] = {host: [] for host in times}
    rows = []
    for key, known in by_key.items():
        if len(known) < _LEAST_HOSTS:
            continue
        for host, us in known.items():
            others = [other for name, other in known.items() if name != host]
            middle = statistics.median(others)
            ratios[host].append(us / middle)
            if us > _FAR_ROW * max(others) or us * _FAR_ROW < min(others):
                rows.append({"host": host, "device": key[4], "kernel": key[1], "params": key[3], "problem": key[0],
                             "us": us, "others_us": middle, "ratio": us / middle})  # fmt: skip
    hosts = [{"host": host, "ratio": statistics.median(all_), "rows": len(all_)} for host, all_ in ratios.items()
             if len(all_) >= _LEAST_ROWS and not 1 / _FAR_HOST <= statistics.median(all_) <= _FAR_HOST]  # fmt: skip
    return {"hosts": hosts, "rows": sorted(rows, key=lambda row: -abs(math.log(row["ratio"])))}


def tune(hosts: str | os.PathLike | Iterable[str], models: Sequence[str | os.PathLike], folder: str | os.PathLike, *,
         at_once: int = 8, ray: bool = False, hold: int = 60, cache: str | os.PathLike | None = None, keep_outliers: bool = False,
         said: Callable[[str], None] = lambda line: None, **options: Any) -> dict[str, Any]:
    """Tunes `models` on all `hosts` (a list file, or what its lines hold), and merges what came back into the database in `cache`.

    `folder`: what was done, by machine; the same call goes on from there. `at_once`: machines at a time; `ray`: jobs are tasks of
    Ray, which need the models and the program where they run. `hold`: seconds in which a broken link may come back. A machine that
    is gone is left with an `error` and the others go on. Machines whose rows are mostly far from others of their device are not
    merged unless `keep_outliers`. Options are `fettle tune`'s (level="fast", budget=60, shape=...).

    Returns {hosts[] {host, name, tuned, reused, failed, left, error}, failed[] {host, model, error}, outliers {hosts[], rows[]},
    merged[] {host, taken, damaged}}.
    """  # fmt: skip
    if at_once < 1:
        raise errors.InvalidArgument(f"at_once: expected 1 or more, got {at_once}")
    if isinstance(hosts, (str, os.PathLike)):
        known = read_hosts(hosts)
    else:
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "hosts")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(hosts))
            known = read_hosts(path)
    os.makedirs(folder, exist_ok=True)
    fleet = _Fleet(os.fspath(folder), [os.fspath(model) for model in models], {"remote_hold": hold, **options},
                   _on_ray() if ray else _tune_there, said)  # fmt: skip
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        rows = list(pool.map(fleet.tune, known))
    there = [host for host in known if os.path.exists(os.path.join(fleet.cache(host), "tuning.db"))]
    outliers = find_outliers({host.target: _times(fleet.cache(host)) for host in there})
    off = {} if keep_outliers else {row["host"] for row in outliers["hosts"]}
    merged = []
    for host in there:
        if host.target not in off:
            document = run_program("db", "merge", os.path.join(fleet.cache(host), "tuning.db"), cache=cache)
            merged.append({"host": host.target, "taken": document["taken"], "damaged": document["damaged"]})
    keys = set(fleet.models.values())
    failed = [{"host": job["target"], "model": job["model"], "error": job["error"]} for job in fleet.state.jobs.values()
              if job["error"] and job["key"] in keys and job["target"] in {host.target for host in known}]  # fmt: skip
    return {"hosts": rows, "failed": failed, "outliers": outliers, "merged": merged}
