"""Processes that fork, or that end during a reply."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import os, signal, sys, threading
from causerie import ModelRunner, SdkError, Tokenizer, load
from causerie.testing import load_scripted_model
conversation = load_scripted_model({"replies": [["a", {"stall": True}], ["b"]]}).create_conversation()
# A process that was started in the background ignores Ctrl-C otherwise.
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program, which ends by itself or at the time limit."""
    return subprocess.run([sys.executable, "-c", BEGIN + program], capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_models_of_the_parent_are_unavailable_in_a_fork() -> None:
    program = """
iterator = iter(conversation.generate_response("Hi"))
next(iterator)
other = conversation.fork()
function = {"name": "f", "description": "d"}
cancelled = load_scripted_model({"replies": [["a"] * 1000]}).create_conversation()
response = cancelled.generate_response("Hi")
left = iter(response)
next(left)
response.cancel()
child = os.fork()
if child == 0:
    status = 0
    for attempt, error in (
        (lambda: next(iterator), SdkError.ModelUnloaded),
        (lambda: list(conversation.generate_response("Hi")), SdkError.ModelUnloaded),
        (conversation.model_runner.unload, SdkError.ModelUnloaded),
        (lambda: other.save_session("session"), SdkError.ModelUnloaded),
        (lambda: other.save_session("session", include_cache=False), SdkError.ModelUnloaded),
        (lambda: conversation.model_runner.restore_session("session"), SdkError.ModelUnloaded),
        # The reply that was cancelled never ends here.
        (lambda: cancelled.append_to_history("Hi"), SdkError.ModelUnloaded),
        (cancelled.remove_last_message, SdkError.ModelUnloaded),
        (lambda: cancelled.truncate(0), SdkError.ModelUnloaded),
        (lambda: cancelled.register_function(function), SdkError.ModelUnloaded),
        (lambda: cancelled.register_functions([function]), SdkError.ModelUnloaded),
        (lambda: cancelled.unregister_function("f"), SdkError.ModelUnloaded),
        (lambda: load("causerie/demo"), SdkError.ModelLoad),
    ):
        try:
            attempt()
            status = 1
        except error:
            pass
    tokenizer = Tokenizer(conversation.model_runner)
    if not tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], [function], tokenize=False):
        status = 1
    os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

import asyncio, atexit
async def fork_while_a_task_waits():
    conversation = load_scripted_model({"replies": [["a", {"stall": True}]]}).create_conversation()
    events = conversation.generate_response("Hi").__aiter__()
    await events.__anext__()
    waiting = asyncio.ensure_future(events.__anext__())
    await asyncio.sleep(0)
    if (child := os.fork()) == 0:
        atexit._run_exitfuncs()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    waiting.cancel()
asyncio.run(fork_while_a_task_waits())
del iterator
print([message.text for message in conversation.history])
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr
    assert "Hi" in ended.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_fork_of_a_process_without_models_loads_its_own() -> None:
    program = """
import causerie
if (child := os.fork()) == 0:
    runner = causerie.testing.load_scripted_model({"replies": [["a"]]})
    list(runner.create_conversation().generate_response("Hi"))
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    begin = "import os, sys, causerie.testing\n"
    ended = subprocess.run([sys.executable, "-c", begin + program], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    "program",
    [
        # An iterator that is not read any further.
        "iterator = iter(conversation.generate_response('Hi')); next(iterator)",
        # A thread that waits for an event forever.
        """
started = threading.Event()
def read():
    for _ in conversation.generate_response("Hi"):
        started.set()
threading.Thread(target=read, daemon=True).start()
started.wait()
""",
        # A task that waits for an event when the loop is closed: the engine is about to report the end to it.
        """
import asyncio
async def read(started):
    async for _ in conversation.generate_response("Hi"):
        started.set()
async def main():
    started = asyncio.Event()
    task = asyncio.create_task(read(started))
    await started.wait()
asyncio.run(main())
""",
        # A loop that stops during a call, and is never closed.
        """
import asyncio
loop = asyncio.new_event_loop()
iterator = conversation.generate_response("Hi").__aiter__()
loop.run_until_complete(iterator.__anext__())
waiting = loop.create_task(iterator.__anext__())
loop.call_later(0, loop.stop)
loop.run_forever()
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # asyncio reports the task and the loop
""",
        # A model that is being loaded.
        """
started = threading.Event()
def read():
    try:
        load("causerie/demo", progress=lambda fraction: started.set())
    except SdkError:
        pass
threading.Thread(target=read, daemon=True).start()
started.wait()
""",
    ],
    ids=["iterator", "thread", "task", "loop", "load"],
)
def test_a_process_ends_during_a_reply(program: str) -> None:
    # Failures would depend on the order of threads.
    for _ in range(6):
        ended = run(program)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c_ends_a_program_as_usual() -> None:
    program = """
def interrupt():
    while not conversation.is_generating:
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
for _ in conversation.generate_response("Hi"):
    pass
"""
    ended = run(program)
    assert ended.returncode in (-2, 130)
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_ends_loading() -> None:
    program = """
reported = []
def watch(fraction):
    if not reported:
        os.kill(os.getpid(), signal.SIGINT)
    reported.append(fraction)
try:
    load("causerie/demo", progress=watch)
except KeyboardInterrupt:
    print("interrupted")
model, _ = load("causerie/demo")
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "interrupted\n"
