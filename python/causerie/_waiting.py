"""Waiting for the engine: on a thread, where Ctrl-C interrupts it, in asyncio, and when the process ends."""

from __future__ import annotations

import atexit
import ctypes
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from causerie import causerie_ffi as ffi
from causerie.error import SdkError

T = TypeVar("T")

READY = 0

_thread = threading.local()


async def _call(future: int, poll: Any, complete: Any, free: Any, lift: Any, errors: Any) -> Any:
    """Replaces the function of the generated code that awaits calls."""
    if _is_ending:
        free(future)
        raise SdkError.Internal("the interpreter is shutting down")
    cancel = getattr(ffi._UniffiLib, poll.__name__.replace("_poll_", "_cancel_"))
    with _calls_lock:
        _calls[future] = cancel

    def forget(future: int) -> None:
        with _calls_lock:
            _calls.pop(future, None)
            free(future)

    if getattr(_thread, "is_blocking", False):
        return _call_blocking(future, poll, complete, forget, lift, errors)
    return await _call_async(future, poll, complete, forget, lift, errors)


_call_async = ffi._uniffi_rust_call_async
ffi._uniffi_rust_call_async = _call


# On a thread.
#
# A blocking call into the library would delay Ctrl-C until the next event, because Python only handles signals between
# its own instructions. So the thread waits on a queue, which signals interrupt, and the engine puts a wake into it. The
# callback is a C function: a signal handler cannot run in it, where its exception would be lost.

_Callback = ctypes.CFUNCTYPE(None, ctypes.py_object, ctypes.c_int8)
_put_wake = _Callback(type(queue.SimpleQueue[int]().put).__call__)
_wake = ctypes.cast(_put_wake, ffi._UNIFFI_RUST_FUTURE_CONTINUATION_CALLBACK)

# Queues into which the engine will still put a wake, with the callback. An interrupted wait leaves its queue here.
_awaited: dict[int, tuple[queue.SimpleQueue[int], Any]] = {}


def _call_blocking(future: int, poll: Any, complete: Any, free: Any, lift: Any, errors: Any) -> Any:
    wakes: queue.SimpleQueue[int] = queue.SimpleQueue()
    put = wakes.put
    key = id(put)
    try:
        while True:
            _awaited[key] = wakes, put
            poll(future, _wake, key)
            code = _get(wakes)
            del _awaited[key]
            if code == READY:
                break
        return lift(ffi._uniffi_rust_call_with_error(errors, complete, future))
    finally:
        free(future)


def _get(wakes: queue.SimpleQueue[int]) -> int:
    while True:
        try:
            # A signal just before the thread sleeps does not wake it, so it checks again.
            return wakes.get(timeout=0.1)
        except queue.Empty:
            pass


def wait(call: Coroutine[Any, Any, T]) -> T:
    """Runs an asynchronous call of the library on this thread, which signals can interrupt."""
    _thread.is_blocking = True
    try:
        call.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        _thread.is_blocking = False
        call.close()
    raise SdkError.Internal("a blocking call returned before its end")


def pull(stream: Any) -> Any:
    """Returns the next event of a stream of the library, or `None`. Blocks this thread only."""
    if threading.get_ident() == threading.main_thread().ident:
        return wait(stream.next())
    return stream.next_blocking()


# In asyncio. A wake may come just after its task was cancelled and the loop was closed; then it is dropped.


def _continue(key: int, code: int) -> None:
    loop, future = ffi._UniffiContinuationHandleMap.remove(key)
    try:
        loop.call_soon_threadsafe(ffi._uniffi_set_future_result, future, code)
    except RuntimeError:
        if not loop.is_closed():
            raise


ffi._uniffi_continuation_callback = ffi._UNIFFI_RUST_FUTURE_CONTINUATION_CALLBACK(_continue)


# The end of the process.
#
# While the interpreter shuts down, it ends native threads that try to enter it. The engine cannot survive that: the
# process would abort. So every call is cancelled before, and pending wakes are awaited. Each wake comes exactly once. A
# load ends at its next report of progress. If an interrupt came just before a wake was requested, or just after it
# arrived, no wake will come, so the wait is limited.

_SECONDS_FOR_WAKES = 0.5
_SECONDS_FOR_CALLBACKS = 5.0

_is_ending = False
_calls: dict[int, Callable[[int], None]] = {}
_calls_lock = threading.Lock()


@atexit.register
def _end() -> None:
    global _is_ending
    _is_ending = True
    with _calls_lock:
        for future, cancel in _calls.items():
            cancel(future)
    start = time.monotonic()
    while (waited := time.monotonic() - start) < _SECONDS_FOR_CALLBACKS:
        is_waking = any(wakes.empty() for wakes, _ in list(_awaited.values())) and waited < _SECONDS_FOR_WAKES
        if not is_waking and not _is_in_callback():
            break
        time.sleep(0.0005)


def _forked() -> None:
    """Drops all calls in a forked process, where no wake arrives: the engine is in the parent."""
    global _calls_lock
    _calls_lock = threading.Lock()
    _calls.clear()
    _awaited.clear()
    ffi._UniffiContinuationHandleMap = type(ffi._UniffiContinuationHandleMap)()
    progress = ffi._UniffiFfiConverterTypeLoadProgress
    progress._handle_map = type(progress._handle_map)()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def is_ending() -> bool:
    """Whether the interpreter is about to shut down."""
    return _is_ending


def _is_in_callback() -> bool:
    """Whether a thread of the engine is in Python, or about to enter it."""
    return (
        len(ffi._UniffiContinuationHandleMap) != 0
        or len(ffi._UniffiFfiConverterTypeLoadProgress._handle_map) != 0
        or any(_is_callback(frame) for frame in sys._current_frames().values())
    )


def _is_callback(frame: Any) -> bool:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code is _continue.__code__ or frame.f_code.co_filename == ffi.__file__
