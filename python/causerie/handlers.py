"""Functions that run during a reply."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, TypeAlias, TypeVar, Union, cast

from causerie import causerie_ffi as ffi
from causerie._logging import log
from causerie._numbers import Duration, seconds
from causerie._option_checks import suggests_options
from causerie._waiting import pull
from causerie.error import SdkError
from causerie.function import FunctionLike, SdkFunction, SdkFunctionCall, as_function, check_names, json_text
from causerie.message import ChatMessage, ChatMessageContent, Part, Text, as_parts
from causerie.options import RoundOptions
from causerie.response import FunctionResult, MessageResponse
from causerie.typed import decode_call, function_from, to_json

Function = TypeVar("Function", bound=Callable[..., Any])


@suggests_options
class FunctionHandlers:
    """Handlers of the functions that a model calls.

        def check_weather(city: Annotated[str, "City."]) -> dict[str, Any]:
            \"\"\"Check the weather in a city.\"\"\"
            return {"sky": "sunny", "temperature": 21}

        handlers = FunctionHandlers(check_weather)
        for event in conversation.respond_with_functions("What is the weather in Oslo?", handlers):
            ...

    The model reads a returned string as it is, and any other value as JSON. A part of a message, or a list of parts and strings with
    one, is the content of the tool message: `Text`, and `Image` or `Audio` for models that read them in results. An exception
    becomes an error that the model reads; it is the `error` of the `FunctionResult`, and is logged with the logger `causerie`. A
    call that takes longer than `time_limit` becomes an error as well; its thread keeps running, and its result is dropped.
    `SystemExit` and other exceptions that do not derive from `Exception` are raised to the reader, and so is an
    `SdkError.Serialization` for a result that JSON cannot represent.

    Functions may be asynchronous. With `for` they run on the reading thread; with `async for`, a time limit or in parallel on
    separate threads. A cancel does not wait for them, except for those on the reading thread. After `max_rounds` replies with
    calls, the calls of the next reply are left to the app. A wrong option raises `SdkError.InvalidOption`.
    """

    def __init__(
        self,
        *functions: Callable[..., Any],
        max_rounds: int = 8,
        time_limit: Duration | None = None,
        in_parallel: bool = False,
    ) -> None:
        self.max_rounds = max_rounds
        """Maximum number of replies whose calls are run."""
        self.time_limit = time_limit
        """How long a function may take: seconds, or a `timedelta`."""
        self.in_parallel = in_parallel
        """Whether all calls of a reply run at once. Their results come in order."""
        self._options()
        self._functions: dict[str, SdkFunction] = {}
        self._handlers: dict[str, Callable[[SdkFunctionCall], Any]] = {}
        check_names([(self._add(function), function) for function in functions])

    def __repr__(self) -> str:
        return f"<FunctionHandlers of {', '.join(self._handlers) or 'no functions'}>"

    @property
    def functions(self) -> list[SdkFunction]:
        """The functions that were added with their types. Replies with these handlers offer them to the model."""
        return list(self._functions.values())

    def function(self, function: Function) -> Function:
        """Runs the calls of a function, whose type hints define its parameters. Works as a decorator."""
        self._add(function)
        return function

    def _add(self, function: Callable[..., Any]) -> str:
        """Runs the calls of a function, and returns its name."""
        declared = function_from(function)
        self._functions[declared.name] = declared
        self._handlers[declared.name] = lambda call: decode_call(call, function)
        return declared.name

    def on(self, name: str, handler: Callable[[SdkFunctionCall], Any]) -> None:
        """Runs the calls of a function that is declared elsewhere. Their arguments fit its parameters."""
        self._handlers[name] = handler

    def _options(self) -> RoundOptions:
        return RoundOptions(max_rounds=self.max_rounds, time_limit=self.time_limit, in_parallel=self.in_parallel)

    def _seconds(self) -> float | None:
        return None if self.time_limit is None else seconds(self.time_limit)

    def _without_functions(self) -> FunctionHandlers:
        """No handlers, with the same options."""
        return FunctionHandlers(max_rounds=self.max_rounds, time_limit=self.time_limit, in_parallel=self.in_parallel)

    def _joined(self, others: FunctionHandlers) -> FunctionHandlers:
        """All handlers of both, with the options of the others, whose functions replace ones of the same name."""
        joined = others._without_functions()
        joined._functions = {**self._functions, **others._functions}
        joined._handlers = {**self._handlers, **others._handlers}
        return joined

    def _forget(self, name: str) -> None:
        """Leaves the calls of a function to the app."""
        self._functions.pop(name, None)
        self._handlers.pop(name, None)

    # With `for`.

    def _run(self, calls: list[SdkFunctionCall], is_cancelled: Callable[[], bool]) -> list[Outcome]:
        if self.time_limit is None and not self.in_parallel:
            return [self._outcome(call, is_cancelled) for call in calls]
        finished: queue.SimpleQueue[tuple[int, Outcome | BaseException]] = queue.SimpleQueue()

        def run(index: int, call: SdkFunctionCall) -> None:
            try:
                finished.put((index, self._outcome(call, is_cancelled)))
            except BaseException as err:
                finished.put((index, err))

        for index, call in enumerate(calls):
            _start(functools.partial(run, index, call))
        outcomes = [_TIMED_OUT] * len(calls)
        limit = self._seconds()
        deadline = None if limit is None else time.monotonic() + limit
        for _ in calls:
            try:
                index, outcome = _get(finished, deadline, is_cancelled)
            except queue.Empty:
                break
            if isinstance(outcome, BaseException):
                try:
                    raise outcome
                finally:
                    del outcome  # its traceback references this frame
            outcomes[index] = outcome
        return outcomes

    def _outcome(self, call: SdkFunctionCall, is_cancelled: Callable[[], bool]) -> Outcome:
        try:
            returned = self._handlers[call.name](call)
            if inspect.isawaitable(returned):
                returned = _awaited(returned, is_cancelled)
        except (Exception, asyncio.CancelledError) as err:
            return _failed(call, err)
        return _returned(call, returned)

    # With `async for`.

    async def _run_async(self, calls: list[SdkFunctionCall]) -> list[Outcome]:
        tasks = [asyncio.ensure_future(self._limited(call)) for call in calls]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()  # if one has raised an exception, the others still run

    async def _limited(self, call: SdkFunctionCall) -> Outcome:
        try:
            return await asyncio.wait_for(self._outcome_async(call), self._seconds())
        except asyncio.TimeoutError:
            return _TIMED_OUT

    async def _outcome_async(self, call: SdkFunctionCall) -> Outcome:
        returned, raised = await self._settled(call)
        if isinstance(raised, (Exception, asyncio.CancelledError)):
            return _failed(call, raised)
        if raised:
            raise raised
        return _returned(call, returned)

    async def _settled(self, call: SdkFunctionCall) -> tuple[Any, BaseException | None]:
        """The result of a function, awaited if it is asynchronous, or the exception that it raised."""
        loop = asyncio.get_running_loop()
        finished: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def finish(returned: Any, err: BaseException | None) -> None:
            if finished.done():
                _drop(returned)
            else:
                finished.set_result((returned, err))

        def run() -> None:
            returned, raised = None, None
            try:
                returned = self._handlers[call.name](call)
            except BaseException as err:
                raised = err
            try:
                loop.call_soon_threadsafe(finish, returned, raised)
            except RuntimeError:
                _drop(returned)  # the loop was closed, so nothing awaits the result

        _start(run)
        try:
            await asyncio.wait([finished])
        except asyncio.CancelledError:
            if finished.done():
                _drop(finished.result()[0])
            finished.cancel()
            raise
        returned, raised = finished.result()
        if not inspect.isawaitable(returned):
            return returned, raised
        # A separate task, so that a cancellation inside it can be distinguished from one of this reply.
        task = asyncio.ensure_future(returned)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        raised = asyncio.CancelledError() if task.cancelled() else task.exception()
        return None if raised else task.result(), raised


Functions: TypeAlias = Union[FunctionHandlers, Iterable[FunctionLike]]
"""Functions for the model. Python functions, and the functions of a `FunctionHandlers`, are run during the reply; calls of definitions
(an `SdkFunction`, a dict, a class) are left to the app.
"""


def separated(functions: Functions, others: FunctionHandlers) -> tuple[list[SdkFunction], FunctionHandlers]:
    """Returns functions that are only offered, and those that are also run. A list of them is run with the options of the others."""
    if isinstance(functions, FunctionHandlers):
        return [], functions
    if isinstance(functions, (str, Mapping, type)) or not isinstance(functions, Iterable):
        raise TypeError(f"functions must be a FunctionHandlers or a list of functions, not {type(functions).__name__}")
    given = list(functions)
    offered, handlers, names = [], others._without_functions(), []
    for function in given:
        if isinstance(function, (SdkFunction, Mapping, type)) or not callable(function):
            offered.append(as_function(function))
            names.append(offered[-1].name)
        else:
            names.append(handlers._add(function))
    check_names(zip(names, given))
    return offered, handlers


def as_handlers(handlers: object, others: FunctionHandlers) -> FunctionHandlers:
    """Takes functions for their handlers, with the options of the others."""
    if isinstance(handlers, FunctionHandlers):
        return handlers
    if isinstance(handlers, Iterable):
        functions = list(handlers)
        if all(callable(function) for function in functions):
            made = others._without_functions()
            check_names([(made._add(function), function) for function in functions])
            return made
    raise TypeError(f"handlers must be a FunctionHandlers or a list of functions, not {type(handlers).__name__}")


class ReplyStream:
    """The stream of a reply; handlers run its functions, if there are any."""

    def __init__(self, stream: ffi.ResponseStream, handlers: FunctionHandlers | None) -> None:
        self.claim = stream.claim
        self._stream = stream
        self._handlers = handlers or FunctionHandlers()
        self._is_cancelled = False
        self._errors: dict[str, BaseException] = {}
        """Exceptions of functions whose results have not arrived, by the ids of their calls."""
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]] | None = None

    def cancel(self) -> None:
        """Stops the model, and the functions that run."""
        self._is_cancelled = True
        self._stream.cancel()
        if running := self._running:
            loop, task = running
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:
                pass  # the loop was closed, and its tasks with it

    def pull(self) -> MessageResponse | None:
        """The next event, on this thread; `None` after the last one."""
        while isinstance(event := pull(self._stream), ffi.MessageResponse.RUN_FUNCTIONS):
            calls = event.function_calls
            try:
                self._answer(calls, self._handlers._run(calls, lambda: self._is_cancelled))
            except _Cancelled:
                pass  # the stream can return its end
            except BaseException:
                self._give_up()
                raise
        return self._with_error(event)

    async def next(self) -> MessageResponse | None:
        """The next event, in asyncio; `None` after the last one."""
        while isinstance(event := await self._stream.next(), ffi.MessageResponse.RUN_FUNCTIONS):
            calls = event.function_calls
            try:
                self._answer(calls, await self._outcomes(calls))
            except BaseException:
                self._give_up()
                raise
        return self._with_error(event)

    def _answer(self, calls: list[SdkFunctionCall], outcomes: list[Outcome]) -> None:
        for call, outcome in zip(calls, outcomes):
            if outcome.error:
                self._errors[call.call_id] = outcome.error
        self._stream.answer([outcome.for_model for outcome in outcomes])

    def _with_error(self, event: Any) -> MessageResponse | None:
        if isinstance(event, FunctionResult) and (error := self._errors.pop(event.call_id or "", None)):
            return replace(event, error=error)
        return cast("MessageResponse | None", event)

    def _give_up(self) -> None:
        """Ends a reply that is not read any further. While functions run, a cancelled stream returns its end at once."""
        self.cancel()
        self._stream.next_blocking()

    async def _outcomes(self, calls: list[SdkFunctionCall]) -> list[Outcome]:
        task = asyncio.ensure_future(self._handlers._run_async(calls))
        self._running = asyncio.get_running_loop(), task
        try:
            if self._is_cancelled:
                task.cancel()
            await asyncio.wait([task])
            return [] if task.cancelled() else task.result()
        finally:
            task.cancel()  # if this task was cancelled, the other one still runs
            self._running = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of running a function: what the model reads, and the exception if there was one."""

    for_model: ffi.FunctionOutcome
    error: BaseException | None = None


_TIMED_OUT = Outcome(ffi.FunctionOutcome.TIMED_OUT())


def _returned(call: SdkFunctionCall, value: Any) -> Outcome:
    """Raises `SdkError.Serialization` for a value that JSON cannot represent: an error of the app, not of this call."""
    try:
        if any(isinstance(part, ChatMessageContent) for part in (value if isinstance(value, (list, tuple)) else [value])):
            parts = [Text(_unicode(part.text)) if isinstance(part, Text) else part for part in as_parts(value)]
            return Outcome(ffi.FunctionOutcome.CONTENT(parts))
        return Outcome(ffi.FunctionOutcome.TEXT(_unicode(_text_of_result(value))))
    except Exception as err:
        raise SdkError.Serialization(f"the result of {call.name}: {err}") from err


def _text_of_result(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, ChatMessage):
        raise TypeError("it must be text, parts of a message or data, found a ChatMessage; return its text or its content")
    written = to_json(value)
    # JSON text is passed as text: the engine would read it, and write a Decimal with fewer digits.
    return written if isinstance(written, str) else json_text(written, ensure_ascii=False)


def _failed(call: SdkFunctionCall, err: BaseException) -> Outcome:
    err = err.with_traceback(_from_the_app(err.__traceback__))
    # Arguments that do not fit are an error of the model, which can repair them.
    level = logging.INFO if isinstance(err, SdkError.InvalidArgument) else logging.ERROR
    log.log(level, "function %s failed", call.name, exc_info=err)
    return Outcome(ffi.FunctionOutcome.FAILED(_unicode(_text_of(err))), err)


def _text_of(err: BaseException) -> str:
    """The text that the model reads: the name of the class if there is none, or if the app's own class fails to write it. That
    of a `KeyError` is only the key."""
    try:
        text = str(err)
    except Exception:
        text = ""
    return f"{type(err).__name__}: {text}" if isinstance(err, KeyError) else text or type(err).__name__


def _from_the_app(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this module, which refer to the stream."""
    at = traceback
    while at and at.tb_frame.f_code.co_filename == __file__:
        at = at.tb_next
    return at or traceback


def _unicode(text: str) -> str:
    """Replaces lone surrogates, which occur in file names that are not UTF-8, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _start(run: Callable[[], None]) -> None:
    """Runs on a daemon thread, which does not delay the end of the process."""
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="causerie-function", daemon=True).start()


def _drop(returned: Any) -> None:
    """Closes a coroutine that nobody will await, so that Python does not warn about it."""
    if inspect.iscoroutine(returned):
        returned.close()


def _awaited(returned: Any, is_cancelled: Callable[[], bool]) -> Any:
    """Awaits the result of an asynchronous function on a thread that has no event loop yet."""
    finished: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    async def wait() -> Any:
        return await returned

    def run() -> None:
        try:
            finished.put((asyncio.run(wait()), None))
        except BaseException as err:
            finished.put((None, err))

    _start(run)
    result, raised = _get(finished, None, is_cancelled)
    if raised:
        raise raised
    return result


class _Cancelled(BaseException):
    """The reply was cancelled while its functions ran."""


Item = TypeVar("Item")


def _get(items: queue.SimpleQueue[Item], deadline: float | None, is_cancelled: Callable[[], bool]) -> Item:
    """Waits in steps, so that signals can interrupt it. Raises `queue.Empty` after the deadline, and `_Cancelled`."""
    while True:
        rest = 0.1 if deadline is None else min(0.1, max(0.0, deadline - time.monotonic()))
        try:
            return items.get(timeout=rest)
        except queue.Empty:
            if is_cancelled():
                raise _Cancelled from None
            if rest < 0.1 and deadline is not None and deadline <= time.monotonic():
                raise
