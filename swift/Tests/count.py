"""Counts the tests in event streams of swift-testing. A parameterised test counts once for each argument.

count.py PASSED FAILED FILE… adds to these counts, and prints the sums.
"""

import json
import sys

passed, failed = map(int, sys.argv[1:3])
for file in sys.argv[3:]:
    plain, begun, ended, wrong = set(), set(), set(), set()
    for line in open(file):
        record = json.loads(line)
        event = record["payload"]
        kind, test = event.get("kind"), event.get("testID")
        if record["kind"] == "test" and kind == "function" and not event["isParameterized"]:
            plain.add(event["id"])
        case = (test, None if test in plain else event.get("_testCase", {}).get("id"))
        if kind == "testCaseStarted" or (kind == "testStarted" and test in plain):
            begun.add(case)
        elif kind == "testCaseEnded" or (kind == "testEnded" and test in plain):
            ended.add(case)
        elif kind == "issueRecorded":
            wrong.add(case)
    # A test that began but never ended crashed the process.
    failed += len((begun - ended) | wrong)
    passed += len((begun & ended) - wrong)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
