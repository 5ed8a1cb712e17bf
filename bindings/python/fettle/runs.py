"""Asynchronous runs of a session: in their order, so many at a time, delivered to the event loop that awaits them."""

from __future__ import annotations

import asyncio
import atexit
import collections
import os
import threading
from typing import Any, Callable, Deque, Optional

from . import _native

#: deliver(values, error), on a thread of the session's
Deliver = Callable[[Optional[list], Optional[BaseException]], None]

_lock = threading.Lock()  # of all that follows and of what Runs hold; held for a few steps
_working: dict[object, Any] = {}  # what the process would have to wait for: token -> native run, None while it is made
_told: Deque[Any] = collections.deque(maxlen=256)  # runs whose callback was called last, and may not have returned


def _finish() -> None:
    """Before the interpreter ends, which no callback may outlive."""
    with _lock:
        runs = [run for run in _working.values() if run is not None]
    for run in runs:
        _native.cancel_run(run)
    for run in runs:
        _native.wait_for_run(run)
    with _lock:
        runs = list(_told)
    for run in runs:
        _native.wait_for_run(run)


def _forget() -> None:
    """In the child of a fork: the runs are the parent's."""
    global _lock
    _lock = threading.Lock()
    _working.clear()
    _told.clear()


atexit.register(_finish)
os.register_at_fork(after_in_child=_forget)


class Runs:
    """At most `most` runs at a time; who comes then waits for room, in the order of coming, on any event loop."""

    def __init__(self, most: int, waits: bool):
        self._room = most
        self._waits = waits
        self._waiting: Deque[tuple[asyncio.AbstractEventLoop, asyncio.Future]] = collections.deque()

    async def run(self, start: Callable[[Deliver], Any]) -> list:
        """What the run gives that `start(deliver)` begins. Cancelling the task cancels the run."""
        if self._waits:
            await self._enter()
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        token = object()

        def deliver(values: list | None, error: BaseException | None) -> None:
            with _lock:
                run = _working.pop(token, None)
                if run is not None:
                    _told.append(run)
            self._leave()
            _on(loop, _settle, future, values, error)

        with _lock:
            _working[token] = None
        try:
            run = start(deliver)
        except BaseException:
            with _lock:
                _working.pop(token, None)
            self._leave()
            raise
        with _lock:
            if token in _working:
                _working[token] = run
            else:
                _told.append(run)
        try:
            return await future
        except (asyncio.CancelledError, GeneratorExit):
            _native.cancel_run(run)
            raise

    async def _enter(self) -> None:
        with _lock:
            if self._room > 0 and not self._waiting:
                self._room -= 1
                return
            loop = asyncio.get_running_loop()
            turn = loop.create_future()
            entry = (loop, turn)
            self._waiting.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            with _lock:
                if entry in self._waiting:
                    self._waiting.remove(entry)
            if turn.done() and not turn.cancelled():
                self._leave()  # it had come already
            raise

    def _leave(self) -> None:
        if not self._waits:
            return
        while True:
            with _lock:
                if not self._waiting:
                    self._room += 1
                    return
                loop, turn = self._waiting.popleft()
            if _on(loop, self._grant, turn):
                return

    def _grant(self, turn: asyncio.Future) -> None:
        if turn.done():
            self._leave()
        else:
            turn.set_result(None)


def _on(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *args: Any) -> bool:
    """Has the loop call it; False where the loop is closed."""
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:
        return False
    return True


def _settle(future: asyncio.Future, values: list | None, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(values)
