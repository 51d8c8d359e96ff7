"""One exchange of a conversation: a request, perhaps calls with their results, and the reply."""

import json
from dataclasses import dataclass, field

from . import values

NO_FUNCTION = "I have no function for that."


@dataclass
class Exchange:
    user: str
    reply: str
    calls: list = field(default_factory=list)  # (name, arguments)
    results: list = field(default_factory=list)  # one per call: a mapping, written as JSON, or a plain text
    core: str = ""  # the request without courtesies, to join two of them
    parts: list = field(default_factory=list)  # parts of a request for several things that ask for each call; "" if unknown

    def asking(self):
        """The part of the request for each call; empty if one phrase asks for several calls."""
        return self.parts or ([self.core] if len(self.calls) == 1 else [])

    def messages(self):
        yield {"role": "user", "content": self.user}
        if self.calls:
            calls = [{"type": "function", "function": {"name": name, "arguments": given}} for name, given in self.calls]
            yield {"role": "assistant", "content": "", "tool_calls": calls}
            for result in self.results:
                content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
                yield {"role": "tool", "content": content}
        yield {"role": "assistant", "content": self.reply}


def failure_reply(result):
    return f"Sorry, {result['error']}."


BEFORE = (
    "[please |please |can you |could you |would you |will you |can you please |could you please |hey, |ok, |okay |now |hi, |"
    "I need you to |I want you to |I'd like you to |I would like you to |go ahead and |causerie, |hey causerie, |quickly |{polite}|{polite}|{polite}]"
)
POLITE = (
    "[I was wondering if you could|I wonder whether you could|could you kindly|would you be so kind as to|I'd appreciate it if you would|I would be grateful if you would|do you think you could|I'd love for you to|make sure to|make sure you|be so good as to|"
    "if possible, |if you can, |whenever you can, |as soon as possible, |when you have a moment, |I'm going to need you to|please go and|try and|you should|you can|you may|your task is to|your task: |task: |to do: |request: |we'd like you to|can I ask you to|"
    "could you help me to|can you help me|help us |just |simply |kindly |pretty please |hi there, please|assistant, |dear assistant, |computer, |robot, |yo, |good afternoon, could you|for my trip, |for tomorrow, |right away, |first, |first of all, |as always, |this time, |I forgot to ask: |it's urgent: ]"
)
AFTER = "[ please| please|, please| for me| now| thanks|, thanks| then| right now| quickly|{kindly}|{kindly}]"
KINDLY = "[, if you don't mind|, if that's ok|, please and thank you| asap|, cheers| when you get a chance|, will you| - thanks in advance|, much appreciated| as soon as you can| before I forget| like last time|, thank you so much| :)|, pls| pls| plz| thx|, it would help me| if possible|, you know|, got it]"
ASIDE_BEFORE = (
    "[so, |well, |listen, |one more thing, |before I forget, |quick question, |I am in a hurry, |hi again, |sorry to bother you, |ok so |right, |alright, |"
    "um, |hm, |I have a question, |next, |another thing: |I'm busy, |it's important, |hello, |good morning, |hey there, |by the way, |I am in the {place}, |I am with {person}, ]"
)
ASIDE_AFTER = "[, I am in a hurry|, it's urgent|, I can't remember|, I'm not sure|, if you can|, thank you|, would you|, ok?|, I'm busy|, quick|, my hands are full|, I forgot]"
NOT_IMPERATIVE = set(
    "i i'm i'd can could please would will my the a an let let's what what's which who how is are do does did in it it's time timer current any "
    "somebody there half twice double another and also one give we whose where when why will should has have hey hi okay ok".split()
)


QUESTION_WORDS = set("what what's which how is are do does did have has when who any may might".split())


NEGATIONS = "[don't|do not|please don't|please do not|never|never ever|no need to|you needn't|you must not|you shouldn't|I don't want you to|you don't have to|under no circumstances|whatever you do, don't|better not|not yet, so don't|don't you dare]"
NO_PROBLEM = "No problem."


def negated(speaker, exchange):
    """A request not to do something, after which nothing is called; None if the request does not begin with a verb."""
    first, _, rest = exchange.core.partition(" ")
    if not rest or first.lower() not in VERBS:
        return None
    text = f"{speaker.expand(NEGATIONS)} {first.lower()} {rest}"
    if speaker.chance(0.2):
        text += speaker.expand("[ yet| now| today|, please| until I say so| any more| again]")
    return Exchange(text[0].upper() + text[1:] if speaker.chance(0.5) else text, NO_PROBLEM)


VERBS = set(
    "add apply arrange ask begin block book borrow bring buy call cancel change charge check clean clear close connect convert count create cut delete deliver dim disable dismiss download draw email enable end fetch file find fill follow forward get give hang heat "
    "hire invite launch leave lend list load lock log look make mark message move mute note notify open order pair pause pay phone pick plan play post print publish put raise read record remind remove rename rent reply report request reserve reset restart run save schedule "
    "search sell send set share show shut sign skip sort split start stop store submit switch take tell text track transfer translate turn unlock update upload use wake warm wash water withdraw write".split()
)


def is_imperative(request):
    first = request.split(" ", 1)[0].lower()
    return first.isalpha() and first not in NOT_IMPERATIVE


def courteous(speaker, request, question=False):
    """The same request with courtesies, asides, casing and punctuation as people type them."""
    question = question or request.split(" ", 1)[0].lower() in QUESTION_WORDS
    if is_imperative(request) and not question:
        if speaker.chance(0.4):
            request = f"{speaker.expand(BEFORE.replace('{polite}', POLITE))} {request}".replace("  ", " ")
        if speaker.chance(0.15):
            request += speaker.expand(AFTER.replace("{kindly}", KINDLY)) if speaker.chance(0.8) else ", please"
    elif not question and speaker.chance(0.1):
        request += ", please"
    if speaker.chance(0.06):
        aside = speaker.phrase(ASIDE_BEFORE, place=values.word(speaker), person=values.person(speaker))
        request = f"{aside} {request}"
    elif speaker.chance(0.03):
        request += speaker.expand(ASIDE_AFTER)
    if speaker.chance(0.55):
        request = request[0].upper() + request[1:]
    end = speaker.pick("???" + " ") if question else speaker.pick("      ..!")
    return request + ("" if request[-1] in ".?!" else end.strip())
