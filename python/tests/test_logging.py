"""The log of the engine, which is that of the logger `causerie`."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from support import call, offering

from causerie import ModelRunner, causerie_ffi


def records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    causerie_ffi.flush_log()
    return [record for record in caplog.records if record.name == "causerie"]


def test_loading_and_rejected_calls_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="causerie")
    ModelRunner.load("causerie/demo")
    list(offering(call("[f(n=1,)"), ["Done."]).generate_response("a secret"))
    logged = [f"{record.levelname} {record.getMessage()}" for record in records(caplog)]
    assert any(line.startswith("INFO loaded causerie-demo (lfm2) in ") for line in logged), logged
    assert any(line.startswith("DEBUG a reply of ") for line in logged), logged
    assert "INFO a call of f is rejected: malformed_syntax" in logged
    assert not any("secret" in record.getMessage() for record in caplog.records), "texts of messages are not logged"


def test_a_log_handler_that_raises_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("the log is broken")

    log, broken = logging.getLogger("causerie"), Broken()
    log.addFilter(broken)
    log.setLevel(logging.DEBUG)
    try:
        assert offering(["Hello!"]).respond("Hi").text == "Hello!"
        causerie_ffi.flush_log()
    finally:
        log.removeFilter(broken)
        log.setLevel(logging.NOTSET)
    caplog.set_level(logging.DEBUG, logger="causerie")
    assert offering(["Hello!"]).respond("Hi").text == "Hello!"
    assert records(caplog), "later records still arrive"


PROGRAM = """
import causerie, logging, os, sys, threading
n_threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1
assert n_threads == 1, "an import starts no thread"
if sys.argv[1] == "debug":
    logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
runner = causerie.ModelRunner.load("causerie/demo")
conversation = runner.create_conversation()
print(bool(conversation.respond("Hello!", max_tokens=4)))
iterator = iter(conversation.generate_response("Tell me more."))
next(iterator) # under way at the end of the process
"""


@pytest.mark.parametrize("level", ["default", "debug"])
def test_nothing_is_printed_by_default_and_the_process_ends(level: str) -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM, level], capture_output=True, text=True, timeout=120, check=True)
    assert ended.stderr == ""
    assert (ended.stdout == "True\n") == (level == "default")
