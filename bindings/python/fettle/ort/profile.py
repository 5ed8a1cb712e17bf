"""Profiles of sessions in the form that ONNX Runtime writes: the trace events of Chrome's format."""

from __future__ import annotations

import datetime
import json
import os
import threading
import time

from .devices import HOST


class Profile:
    """The steps of each run since the session was made."""

    def __init__(self, prefix: str) -> None:
        now = datetime.datetime.now()
        self._path = f"{prefix}_{now:%Y-%m-%d_%H-%M-%S}_{now.microsecond // 1000:03}.json"
        self.start_ns = time.time_ns()
        self._events: list[dict] = []
        self._lock = threading.Lock()

    def add(self, began_ns: int, ended_ns: int, steps) -> None:
        """One run and its steps, one after another."""
        at = self._event("Session", "model_run", (began_ns - self.start_ns) / 1e3, (ended_ns - began_ns) / 1e3, {})
        for step in steps:
            facts = {"op_name": step.op, "provider": HOST, "kernel": step.kernel}
            self._event("Node", f"{step.node or step.op}_kernel_time", at, step.ms * 1e3, facts)
            at += step.ms * 1e3

    def end(self) -> str:
        """Writes the file, and says where it is."""
        with self._lock, open(self._path, "w", encoding="utf-8") as file:
            json.dump(self._events, file)
        return self._path

    def _event(self, category: str, name: str, at: float, duration: float, facts: dict) -> float:
        with self._lock:
            self._events.append({"cat": category, "pid": os.getpid(), "tid": threading.get_native_id(), "ph": "X",
                                 "name": name, "ts": round(at), "dur": round(duration), "args": facts})
        return at
