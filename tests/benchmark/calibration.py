"""Measures how well a model decides: accuracy, Brier score and expected calibration error on the questions of decisions.jsonl, read in
several ways. docs/decisions.md has the table.

    cargo build --release
    python3 tests/benchmark/calibration.py --causerie target/release/causerie --model MODEL.gguf --answers answers.json

Each answer is stored in the file of answers, so that a run can be stopped (--seconds) and continued. Only the standard library of
Python is needed. Brier scores are summed over the labels, so that ignorance scores 0.50 of two labels and 0.75 of four. The calibration error
is the mean difference between the probability of the most probable label and how often it is right, in ten bins of that probability.
Fitted temperatures come from the other half of the questions.
"""

import argparse
import json
import math
import pathlib
import socket
import subprocess
import time
import urllib.request

QUESTIONS = pathlib.Path(__file__).with_name("decisions.jsonl")
NOTHING = "N/A"
KINDS = {"noul": "yes/no", "choice": "choice", "score": "score"}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", required=True, help="the built command")
    parser.add_argument("--model", required=True)
    parser.add_argument("--answers", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop asking after so long")
    return parser.parse_args()


class Server:
    def __init__(self, causerie, model):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [causerie, "serve", "--model", model, "--port", str(port), "--offline"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"{causerie} did not start")
            time.sleep(0.2)

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"{self.url}/v1/models").status == 200
        except OSError:
            return False

    def ask(self, state, questions):
        """Returns the probabilities of each question, in the order of its labels, and the probability of all labels."""
        body = {"state": state, "questions": questions, "rotations": 1, "min_label_probability": 0}
        request = urllib.request.Request(f"{self.url}/v1/systemone", json.dumps(body).encode(), {"content-type": "application/json"})
        answers = json.load(urllib.request.urlopen(request))["answers"]
        return {name: (probabilities(answers[name], question), answers[name]["label_probability"]) for name, question in questions.items()}


def probabilities(answer, question):
    match question["type"]:
        case "noul":
            return [answer["noul"], 1 - answer["noul"]]
        case "choice":
            return [answer["probabilities"][label] for label in question["criteria"]]
        case "score":
            return list(answer["probabilities"].values())


def right(example):
    match example["question"]["type"]:
        case "noul":
            return 0 if example["answer"] else 1
        case "choice":
            return list(example["question"]["criteria"]).index(example["answer"])
        case "score":
            return example["answer"]


def rotated(question, shift):
    labels = list(question["criteria"].items())
    return {**question, "criteria": dict(labels[shift:] + labels[:shift])}


def forms(question):
    """The ways in which a question is asked."""
    asked = {"plain": question, "empty": question}
    if question["type"] == "choice":
        asked |= {f"rotated {shift}": rotated(question, shift) for shift in range(1, len(question["criteria"]))}
    else:
        labels = ["yes", "no"] if question["type"] == "noul" else question["criteria"]
        letters = {"type": "choice", "instructions": question["instructions"], "criteria": dict.fromkeys(labels)}
        asked |= {"letters": letters, "letters rotated": rotated(letters, len(labels) // 2)}
    return asked


def ask_all(examples, answers, file, server, end):
    """Asks the questions of one state together."""
    by_state = {}
    for at, form, question in missing(examples, answers):
        state = NOTHING if form == "empty" else examples[at]["state"]
        by_state.setdefault((state, at if form == "empty" else None), {})[f"{at} {form}"] = question
    for (state, _), asked in by_state.items():
        if end < time.monotonic():
            break
        for name, value in server.ask(state, asked).items():
            at, form = name.split(" ", 1)
            answers.setdefault(at, {})[form] = value
    file.write_text(json.dumps(answers))


def missing(examples, answers):
    """What has not been asked yet: the number of an example, the form, and the question."""
    for at, example in enumerate(examples):
        for form, question in forms(example["question"]).items():
            if form not in answers.get(str(at), {}):
                yield at, form, question


def normalised(logs, temperature=1):
    most = max(logs)
    powers = [math.exp((log - most) / temperature) for log in logs]
    return [power / sum(powers) for power in powers]


def log(probability):
    return math.log(max(probability, 1e-12))


def averaged(answers, shifts):
    """The mean of log-probabilities over rotations of a choice."""
    n_labels = len(answers["plain"][0])
    sums = [0.0] * n_labels
    for shift in shifts:
        rotated = answers["plain" if shift == 0 else f"rotated {shift}"][0]
        for at in range(n_labels):
            sums[at] += log(rotated[(at - shift) % n_labels])
    return normalised([total / len(shifts) for total in sums])


def without_prior(answers):
    return normalised([log(p) - log(prior) for p, prior in zip(answers["plain"][0], answers["empty"][0])])


def of_letters(answers):
    plain, turned = answers["letters"][0], answers["letters rotated"][0]
    n_labels = len(plain)
    return normalised([(log(plain[at]) + log(turned[(at - n_labels // 2) % n_labels])) / 2 for at in range(n_labels)])


WAYS = {
    "noul": {
        "words yes and no": lambda answers: answers["plain"][0],
        "without the prior of no content": without_prior,
        "letters A and B": lambda answers: answers["letters"][0],
        "letters, two rotations": of_letters,
    },
    "choice": {
        "one order": lambda answers: averaged(answers, [0]),
        "without the prior of no content": without_prior,
        "two rotations": lambda answers: averaged(answers, [0, 2]),
        "four rotations": lambda answers: averaged(answers, [0, 1, 2, 3]),
    },
    "score": {
        "digits": lambda answers: answers["plain"][0],
        "without the prior of no content": without_prior,
        "letters": lambda answers: answers["letters"][0],
        "letters, two rotations": of_letters,
    },
}


def fitted(read):
    """The temperature of the least loss, by golden-section search over its logarithm."""
    def loss(log_temperature):
        return -sum(log(normalised(list(map(log, p)), math.exp(log_temperature))[answer]) for p, answer in read)

    low, high, ratio = math.log(0.05), math.log(20), (math.sqrt(5) - 1) / 2
    for _ in range(40):
        left, right_ = high - ratio * (high - low), low + ratio * (high - low)
        if loss(left) <= loss(right_):
            high = right_
        else:
            low = left
    return math.exp((low + high) / 2)


def at_fitted_temperatures(read):
    """Each half of the examples at the temperature that fits the other half."""
    temperatures = [fitted(read[1::2]), fitted(read[::2])]
    scaled = [(normalised(list(map(log, p)), temperatures[at % 2]), answer) for at, (p, answer) in enumerate(read)]
    return scaled, fitted(read)


def measured(read):
    brier = sum(sum((p - (at == answer)) ** 2 for at, p in enumerate(ps)) for ps, answer in read) / len(read)
    bins = {}
    for ps, answer in read:
        most = max(ps)
        bins.setdefault(min(int(most * 10), 9), []).append(most - (ps.index(most) == answer))
    error = sum(abs(sum(differences)) for differences in bins.values()) / len(read)
    accuracy = sum(ps.index(max(ps)) == answer for ps, answer in read) / len(read)
    return accuracy, brier, error


def report(examples, answers):
    print("| kind | read as | right | Brier | calibration error | temperature | Brier, fitted | calibration error, fitted |\n|---|---|---:|---:|---:|---:|---:|---:|")
    for kind, ways in WAYS.items():
        unasked = {at for at, _, _ in missing(examples, answers)}
        places = [at for at, example in enumerate(examples) if example["question"]["type"] == kind and at not in unasked]
        if not places:
            continue
        for name, way in ways.items():
            read = [(way(answers[str(at)]), right(examples[at])) for at in places]
            (accuracy, brier, error), (scaled, temperature) = measured(read), at_fitted_temperatures(read)
            _, fitted_brier, fitted_error = measured(scaled)
            print(f"| {KINDS[kind]} ({len(places)}) | {name} | {accuracy:.3f} | {brier:.3f} | {error:.3f} | {temperature:.2f} | {fitted_brier:.3f} | {fitted_error:.3f} |")
        masses = sorted(answers[str(at)]["plain"][1] for at in places)
        print(f"  {KINDS[kind]}: all labels together have {masses[0]:.3f} to {masses[-1]:.3f}, the median is {masses[len(masses) // 2]:.3f}")
        if kind == "score":
            distance = [abs(sum(at * p for at, p in enumerate(answers[str(at)]["plain"][0])) - right(examples[at])) for at in places]
            print(f"  the mean distance of the score from the right level is {sum(distance) / len(distance):.2f}")


def main():
    options = arguments()
    examples = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
    answers = json.loads(options.answers.read_text()) if options.answers.exists() else {}
    if any(missing(examples, answers)):
        server = Server(options.causerie, options.model)
        try:
            ask_all(examples, answers, options.answers, server, time.monotonic() + options.seconds)
        finally:
            server.process.terminate()
            server.process.wait()
    report(examples, answers)


main()
