"""Phrasings of held-out requests for the shipped functions. None of these patterns occurs in training (`patterns.py`)."""

from .patterns import SINGULAR, UNITS  # units are shared with training

TIME_HERE = [
    "got the time", "could I have the time", "any idea what time it is", "what hour is it", "is it already noon", "what does the clock say", "what's today",
    "what weekday is it", "what is the date", "do you happen to know the time", "[read|announce] the time", "I'd love to know the time", "time check", "what time is it at the moment",
]
TIME_CITY = [
    "what time is it at the moment in {city}", "what hour is it in {city}", "what does the clock say in {city}", "I have a call with {city}, what time is it there", "do they sleep in {city} now",
    "any idea what time it is in {city}", "my friend lives in {city}, what's the time there", "is it already tomorrow in {city}", "could I have the time in {city}", "what's the hour in {city}",
    "I'd love to know the time in {city}", "look at the clock in {city}", "what's the local time over in {city}", "tell me the hour in {city}", "how about the time in {city}",
]
SUMS = [
    ("{a} times {b}", "{a} * {b}"), ("{a} plus {b}", "{a} + {b}"), ("{a} minus {b}", "{a} - {b}"), ("{a} divided by {b}", "{a} / {b}"), ("{a} multiplied by {b}", "{a} * {b}"),
    ("{a}% of {b}", "{a}% * {b}"), ("{a} percent of {b}", "{a}% * {b}"), ("the square root of {a}", "sqrt({a})"), ("{a} to the power of {b}", "{a} ^ {b}"), ("{a} squared", "{a} ^ 2"),
    ("half of {a}", "{a} / 2"), ("{a} times {b} plus {c}", "{a} * {b} + {c}"), ("{a} plus {b} minus {c}", "{a} + {b} - {c}"), ("the sum of {a} and {b}", "{a} + {b}"), ("twice {a}", "{a} * 2"),
]
CALCULATE = [
    "what might {sum} be", "quick maths, {sum}", "help me with {sum}", "my homework says {sum}", "how would you work out {sum}", "I wonder what {sum} is", "the answer to {sum}", "can you tell me {sum}",
    "run the numbers on {sum}", "any idea what {sum} is", "{sum} makes what", "reckon {sum}", "I can't do {sum} in my head", "what number is {sum}",
]
TIMER = [
    "I want a timer that rings in {duration}", "get a timer going for {duration}", "let a timer run for {duration}", "put {duration} on a timer", "could I have a timer of {duration}", "give me {duration} on the timer",
    "buzz me in {duration}", "set the clock to ring in {duration}", "I have {duration}, start counting", "let's do a timer, {duration}", "fire up a timer for {duration}", "nudge me after {duration}", "make that timer {duration}",
]
TIMER_LABEL = [
    "get a timer going for the {label}, {duration}", "put {duration} on a timer for the {label}", "I'm doing the {label}, give me a timer of {duration}", "the {label} will take {duration}, start a timer",
    "can I have a timer for the {label}, {duration} please", "I'm making {label}, set a timer for {duration}", "let a timer for the {label} run for {duration}", "fire up a {label} timer for {duration}",
    "my {label} must be checked in {duration}, set a timer", "{duration} on the clock for the {label}", "set up a timer of {duration} for {label}", "buzz me in {duration} about the {label}", "nudge me about the {label} in {duration}",
    "could I have {duration} for the {label}", "please time my {label}, {duration}",
]
TIMER_TASK = ["nudge me to {label} in {duration}", "tell me to {label} after {duration}", "in {duration} I should {label}, set a timer", "buzz me in {duration} to {label}"]
LIST_TIMERS = [
    "how are my timers doing", "what timers have I set", "how many minutes are left", "anything still on the clock", "how far along are the timers", "which of my timers are still going", "did I set any timers",
    "remind me which timers I started", "give me an overview of the timers", "what's counting down", "can I see my timers", "how much longer do I have to wait for the {label}",
]
CONVERT = [
    "if I have {value}, how many {target} is that", "{value} makes how many {target}", "what's the equivalent of {value} in {target}", "I measured {value}, what is that in {target}", "put {value} into {target}", "the recipe says {value}, what is it in {target}",
    "switch {value} to {target}", "say {value} in {target}", "my friend says {value}, how much is that in {target}", "how do I write {value} in {target}", "{value} would be how many {target}", "I'd like {value} converted to {target}", "rewrite {value} in {target}",
]
NOTE = [
    "please write the following: {note}", "here's something to note: {note}", "make sure you note that {note}", "add to the list: {note}", "put this in the notes: {note}", "let me dictate a note: {note}", "store this: {note}", "I need you to remember this: {note}",
    "could you note that {note}", "take note that {note}", "quick note: {note}", "a note for later: {note}",
]
NOTE_TASK = [
    "I should really remember to {note}", "make sure I don't forget to {note}", "add a reminder to {note}", "jot down that I must {note}", "please remind me that I have to {note}", "put down {note}", "could you remind me to {note}",
    "I'm afraid I'll forget to {note}, note it down", "note that I must {note}", "on my list: {note}", "one more thing to remember: {note}", "add a task: {note}",
]
LIST_NOTES = [
    "what have you got in my notes", "can I see my notes", "what was on my list again", "please go over my notes", "what did I tell you to note", "did I write anything down", "let me hear the notes", "what do I have to remember", "pull up my notes",
    "what's written down", "remind me what I noted", "could you read out what I noted",
]
QUESTIONS = {pattern for group in (TIME_HERE[:10], TIME_CITY[:10], CALCULATE[:1], LIST_TIMERS[:7], CONVERT[:4], LIST_NOTES[:6]) for pattern in group}
JOINTS = [" and ", " and then ", " and also ", ", then "]
AGAIN_CITY = ["and over in {city}?", "same for {city}", "okay, and {city}?"]
AGAIN_TIMER = ["and then one for {duration}", "start a second one for {duration}"]
AGAIN_TIMER_LABEL = ["and then {duration} for the {label}", "start a second one for the {label}, {duration}"]
AGAIN_SUM = [("now multiply it by {}", "*"), ("and add {}", "+"), ("minus {} now", "-"), ("then divide it by {}", "/")]
AGAIN_VALUE = ["now {value}", "same for {value}", "okay, and {value}?"]
MISSING = [
    ("set_timer", "could you set me a timer", "For how long?"), ("set_timer", "get a timer going", "For how long?"), ("set_timer", "I could use a timer for the {label}", "For how long?"), ("set_timer", "a timer, please", "For how long?"),
    ("calculate", "I have a calculation for you", "What should I work out?"), ("calculate", "help me calculate", "What should I work out?"), ("calculate", "can you do a sum for me", "What should I work out?"),
    ("convert_units", "I need to convert something", "Which value, and from which unit to which?"), ("convert_units", "could you convert a value for me", "Which value, and from which unit to which?"),
    ("add_note", "I'd like to make a note", "What should I write down?"), ("add_note", "could you note something for me", "What should I write down?"), ("add_note", "take down a note for me", "What should I write down?"),
]
SMALL_TALK = [
    "hello, causerie!", "hi, nice to meet you", "hey you", "good to see you", "thank you, that helps", "thanks, that's all I needed", "great, thank you!", "that was helpful, thanks", "see you soon", "talk to you later", "have a good night", "who made you",
    "so who are you", "what should I call you", "what are you exactly", "how can you be of help", "what kinds of things can you do", "what are you capable of", "are you doing well", "how are things",
]
UNSERVED = [
    "how's the weather looking in {city}", "is a storm coming[| to {city}]", "should I wear a coat today", "put on [something by {person}|a {word} playlist]", "drop {person} an email about the {thing}", "give {person} a ring",
    "what's [French|Dutch|Polish] for {word}", "get me a cab to {city}", "I want to reserve a table for {number}", "make the living room brighter", "is the front door locked", "know any good jokes", "make up a bedtime story about a {word}",
    "when was {person} born", "which river flows through {city}", "who is the mayor of {city}", "how many people live in {city}", "what's happening in the news", "did my team win", "find me a cheap {thing} online", "scroll down", "take a picture of the {thing}",
    "how do I get rid of {word}", "what's a good name for a {thing}", "is {word} healthy", "post this to my friends", "wire {number} pounds to {person}", "when is my next appointment", "zoom in on the map", "turn the heating down", "fire up the {word} app", "charge my car",
    "does anybody love me", "can you see my face", "sing me a lullaby", "guess my age", "who would win, {person} or {person}", "recite a poem by {person}", "buy two tickets to {city}", "vacuum the {word}",
    "is there any snow left in {city}", "how did the {word} team do", "change the channel", "ring the {word} shop and complain", "what year was {person} born", "spell {word} for me", "hang up", "is it going to be hot in {city}", "could you photograph the {thing}", "let {person} know that I'm late",
    "I fancy a pizza, order one", "what rhymes with {word}", "shut the {word}", "turn up the brightness", "go to the next slide", "install the {word} update", "who sang {thing}", "am I a good person", "teach me some {word}", "what's trending", "reply to {person}", "put the {word} in my basket",
    "what's the traffic like in {city}", "get {person} on the line", "which film should we see", "scan this barcode", "compare {word} with {word}", "unsubscribe me from the {thing}", "is {person} married", "crop the picture",
]
INVENTED_HEADS = [
    "would you {a} [the|a] {o}", "let's {a} [the|a] {o}", "it is time you {a} the {o}", "somebody should {a} the {o}", "how about you {a} the {o}", "could somebody {a} [the|a] {o}", "may I ask you to {a} the {o}", "I was hoping to {a} [a|the] {o}",
    "it would be nice to {a} the {o}", "do me a favour and {a} the {o}", "we ought to {a} [the|a] {o}", "your job is to {a} the {o}",
]
INVENTED_NAMED = [
    "its {w} should be {v}", "{w} being {v}", "make the {w} {v}", "let the {w} be {v}", "whose {w} is {v}", "set {w} to {v}", "having {w} {v}", "for the {w} I'd say {v}", "{v} goes in {w}", "{w} might be {v}", "as regards the {w}, {v}", "{v} would be the {w}",
]
INVENTED_YES = ["let it be {w}", "of course {w}", "I want it {w}", "{w} should be on"]
INVENTED_NO = ["let it not be {w}", "I don't want it {w}", "{w} should be off", "under no circumstances {w}"]

# Written by hand without sight of the training patterns; those that training produces, apart from courtesies and commas, were removed.
BLIND_HEADS = [
    "would you mind helping me {a} [the|a] {o}",
    "let's {a} [the|a] {o}",
    "it is time to {a} [the|a] {o}",
    "it would be great if you could {a} [the|a] {o}",
    "I was hoping you could {a} [the|a] {o}",
    "what I need now is to {a} [the|a] {o}",
    "would it be possible for you to {a} [the|a] {o} now",
    "your next job is to {a} [the|a] {o}",
    "next, {a} [the|a] {o}",
    "my boss wants me to {a} [the|a] {o}",
    "somebody has to {a} [the|a] {o}",
    "I'd be glad if you would {a} [the|a] {o}",
    "do me a favour and {a} [the|a] {o}",
    "as for the {o}, please {a} it",
    "take the {o} and {a} it",
    "there is [the|a] {o} I want you to {a}",
    "the {o} is what I'd like you to {a}",
    "the {o}: {a} it, please",
    "how about you {a} [the|a] {o}",
    "why don't you {a} [the|a] {o}",
    "I think we have to {a} [the|a] {o}",
    "quickly {a} [the|a] {o} for us",
    "any chance you can {a} [the|a] {o} today",
]
BLIND_NAMED = [
    "setting {v} as the {w}",
    "make the {w} {v}",
    "use a {w} of {v}",
    "let the {w} be {v}",
    "for the {w} use {v}",
    "for the {w} I want {v}",
    "as the {w} put {v}",
    "as {w}, {v}",
    "its {w} being {v}",
    "whose {w} is {v}",
    "having {v} as its {w}",
    "giving it a {w} of {v}",
    "I'd like the {w} to be {v}",
    "I chose {v} for the {w}",
    "go with {v} for the {w}",
    "when it comes to the {w}, pick {v}",
    "by the way, the {w} equals {v}",
]
BLIND_YES = [
    "with {w} turned on",
    "with {w} enabled",
    "make sure {w} is on",
    "I want {w}",
    "{w} should be active",
    "yes to {w}",
    "set {w} to true",
]
BLIND_NO = [
    "with {w} turned off",
    "with {w} disabled",
    "leave {w} out",
    "I don't want {w}",
    "there should be no {w}",
    "{w} is not needed",
    "set {w} to false",
]
