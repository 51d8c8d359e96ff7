"""The border to the engine.

`causerie_ffi` is generated, and looks up the classes of what it reads by name. Here it is made to build those of this
package in their place, so that nothing is copied from one to the other; and its calls are made to wait in ways that
suit Python.
"""

from __future__ import annotations

import ctypes
import os
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from causerie import causerie_ffi as ffi
from causerie.error import SdkError

if TYPE_CHECKING:
    from causerie.response import MessageResponse

T = TypeVar("T")
Class = TypeVar("Class", bound=type[Any])

READY = 0


# What was replaced, and by what: the tests compare them.
replaced: list[tuple[Any, Any]] = []


def adopted(cls: Class) -> Class:
    """Takes the place of the generated class of the same name."""
    replaced.append((getattr(ffi, cls.__name__), cls))
    setattr(ffi, cls.__name__, cls)
    return cls


def variant(of: type[Any], name: str) -> Callable[[Class], Class]:
    """Takes the place of a variant of a generated enum."""

    def take_place(cls: Class) -> Class:
        replaced.append((getattr(of, name), cls))
        setattr(of, name, cls)
        return cls

    return take_place


adopted(SdkError)
ffi.InternalError = SdkError.Internal


def _check_text(value: object) -> None:
    """Refuses text that has no UTF-8 before anything is handed over."""
    if not isinstance(value, str):
        raise TypeError(f"argument must be str, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as err:
        raise SdkError.Serialization(f"text with a lone surrogate at {err.start}") from err


ffi._UniffiFfiConverterString.check_lower = _check_text


# Waiting.
#
# A blocking call into the library would keep Ctrl-C waiting until the next event, since Python handles signals between
# steps of its own. So the thread waits in a queue, which signals do interrupt, and the engine puts the wake into it. The
# callback is a slot of C: a handler of signals cannot run, and raise, in the midst of it, where it would be lost.

_Callback = ctypes.CFUNCTYPE(None, ctypes.py_object, ctypes.c_int8)
_put_wake = _Callback(type(queue.SimpleQueue[int]().put).__call__)
_wake = ctypes.cast(_put_wake, ffi._UNIFFI_RUST_FUTURE_CONTINUATION_CALLBACK)

# Queues that the engine may be about to put a wake into. An interrupted wait leaves its own here for good.
_awaited: dict[int, Any] = {}
_thread = threading.local()
_call_async = ffi._uniffi_rust_call_async


def _call_blocking(future: int, poll: Any, complete: Any, free: Any, lift: Any, errors: Any) -> Any:
    wakes: queue.SimpleQueue[int] = queue.SimpleQueue()
    put = wakes.put
    key = id(put)
    try:
        while True:
            _awaited[key] = put
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
            # A signal that comes just before the thread falls asleep does not wake it: so it looks again.
            return wakes.get(timeout=0.1)
        except queue.Empty:
            pass


async def _call(*arguments: Any) -> Any:
    if getattr(_thread, "is_blocking", False):
        return _call_blocking(*arguments)
    return await _call_async(*arguments)


ffi._uniffi_rust_call_async = _call


def wait(call: Coroutine[Any, Any, T]) -> T:
    """Runs an asynchronous call of the library to its end on this thread, which signals can interrupt."""
    _thread.is_blocking = True
    try:
        call.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        _thread.is_blocking = False
        call.close()
    raise SdkError.Internal("a blocking call did not block")


def pull(stream: ffi.ResponseStream) -> MessageResponse | None:
    """The next event of a stream, or `None`; blocks this thread, and no other."""
    if threading.get_ident() == threading.main_thread().ident:
        return wait(stream.next())
    return stream.next_blocking()


# Forks.
#
# A child has none of the engine's threads: it would wait for them for ever. So it is told.

_fork_count = 0
_is_loaded = False


def _forked() -> None:
    global _fork_count
    _fork_count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def fork_count() -> int:
    """How many forks away the first process is."""
    return _fork_count


def check_can_load() -> None:
    """Refuses to load a model in the fork of a process that had loaded one."""
    global _is_loaded
    if _is_loaded and 0 < _fork_count:
        raise SdkError.ModelLoad("this process was forked from one that had loaded a model; start it with spawn")
    if _fork_count == 0:
        _is_loaded = True


def check_not_forked(fork_count: int) -> None:
    """Refuses what needs an engine that stayed behind in the parent process."""
    if fork_count != _fork_count:
        raise SdkError.ModelUnloaded("the model was loaded before this process was forked, and stayed in the other")

