"""Passes the engine's log on to the logger `causerie`.

The records come on a thread of the engine, which starts with the first one. It must not enter the interpreter while that shuts
down, so the log ends before.
"""

from __future__ import annotations

import atexit
import logging

from causerie import causerie_ffi as ffi
from causerie._border import fork_count

log = logging.getLogger("causerie")
_LEVELS = {
    ffi.LogLevel.ERROR: logging.ERROR,
    ffi.LogLevel.WARNING: logging.WARNING,
    ffi.LogLevel.INFO: logging.INFO,
    ffi.LogLevel.DEBUG: logging.DEBUG,
}


class _Sink(ffi.LogSink):
    def write(self, record: ffi.LogRecord) -> None:
        log.log(_LEVELS[record.level], "%s", record.message)


_forks = fork_count()
ffi.set_log_sink(_Sink())


@atexit.register
def _end() -> None:
    if fork_count() == _forks:  # a forked process does not have the thread
        ffi.set_log_sink(None)
