"""Phrasings of training requests for the shipped functions. The held-out set has its own patterns (`held_out_patterns.py`)."""

from . import composed

TIME_HERE = [
    "what time is it[| now| right now| here]", "what's the time[| now| right now]", "what is the [current |]time",
    "[do you know|do you have] [what time it is|the time]", "what's the [current |]date[| today]", "what is [today's date|the date today]",
    "what day is it[| today]", "which day is it [today|now]", "what's today's date", "what's the day today", "is it late",
    "how late is it", "what date is it[| today]", "what time do we have", "what month is it", "what year is it",
    "[tell|give] me the [current |][time|date|day]", "show [me |]the [time|clock|date]", "check the [time|clock|date]",
    "tell me what [time|day] it is", "say the time", "[time|date|clock]", "current [time|date]", "the time", "today's date",
    "I need [to know |]the [time|date]",
    "I lost track of time", "how late do we have it", "is it still morning", "is it past midnight", "what do the clocks say", "what time would it be", "what weekday do we have", "let me know the time", "I have no watch, what time is it", "date please", "time please",
    "how's the clock", "the hour please", "[anyone|somebody] know the time", "what's the day of the week", "what is it today, [Monday|a weekday]", "is today [Monday|Friday|Sunday]", "have I missed noon", "what time have you got", "time now please", "is it [lunch|dinner|bed] time yet", "is the day over", "has the evening started", "which weekday is today", "give me today", "fetch the time", "what's on the clock", "can I get the time", "mind telling me the time", "the day please", "what's the hour", "how far into the day are we", "is it the weekend",
]
TIME_CITY = [
    "what time is it[| now| right now] in {city}", "what's the time[| now] in {city}", "what is the [current |local |]time in {city}",
    "[do you know|can you tell me] [what time it is|the time] in {city}", "what's the [current |]date in {city}", "what day is it in {city}[| now]",
    "how late is it in {city}", "in {city} what time is it", "what's {city}'s [time|local time]", "is it late in {city}",
    "what time do they have in {city}", "what is the date and time in {city}", "is it [morning|night|day|evening] in {city}[| now]",
    "what time is it over in {city}", "what's the clock [say|saying] in {city}",
    "[tell|give] me the [current |local |][time|date|day] in {city}", "show [me |]the [time|clock|date] [in|for] {city}",
    "check the [time|clock|date] in {city}", "tell me what [time|day] it is in {city}", "[get|look up|find] the [time|local time|date] [in|for] {city}",
    "time in {city}", "{city} time", "current [time|date] in {city}", "[local time|the time] in {city}", "date in {city}",
    "I need [to know |]the [time|date] in {city}",
    "what is the hour in {city}", "I'm calling {city}, how late is it there", "I am flying to {city}, what's the time there", "they live in {city}, what time do they have", "are they awake in {city}", "is it still [today|Monday|dark|light] in {city}", "what do the clocks say in {city}", "{city}, what time is it there",
    "do people work in {city} now", "is everybody in bed in {city}", "is the sun up in {city}", "my [sister|boss|team|aunt|brother] is in {city}, what time is it for them", "someone from {city} called, what's their time", "is it already [Tuesday|evening|late] in {city}", "is it still yesterday in {city}", "what's the hour over in {city}", "I land in {city} soon, what's the time there", "fetch the time for {city}", "how's the clock in {city}", "can I get the time in {city}", "mind telling me the time in {city}", "and the hour for {city}", "before I ring {city}, what time is it", "would {city} be asleep", "the clock in {city} says what", "have they had lunch in {city}", "a colleague lives in {city}, how late is it there",
]
SUMS = [  # the words, and their expression
    ("{a} times {b}", "{a} * {b}"), ("{a} times {b}", "{a} * {b}"), ("{a} multiplied by {b}", "{a} * {b}"), ("{a} x {b}", "{a} * {b}"),
    ("{a} plus {b}", "{a} + {b}"), ("{a} plus {b}", "{a} + {b}"), ("{a} and {b} together", "{a} + {b}"), ("the sum of {a} and {b}", "{a} + {b}"),
    ("{a} added to {b}", "{a} + {b}"), ("{a} minus {b}", "{a} - {b}"), ("{a} minus {b}", "{a} - {b}"), ("{a} less {b}", "{a} - {b}"),
    ("the difference between {a} and {b}", "{a} - {b}"), ("{b} subtracted from {a}", "{a} - {b}"), ("{a} take away {b}", "{a} - {b}"),
    ("the product of {a} and {b}", "{a} * {b}"), ("{a} divided by {b}", "{a} / {b}"), ("{a} divided by {b}", "{a} / {b}"),
    ("{a} over {b}", "{a} / {b}"), ("{a} by {b}", "{a} / {b}"), ("the quotient of {a} and {b}", "{a} / {b}"),
    ("[the |]square root of {a}", "sqrt({a})"), ("[the |]square root of {a}", "sqrt({a})"), ("[the |]root of {a}", "sqrt({a})"),
    ("{a} squared", "{a} ^ 2"), ("{a} cubed", "{a} ^ 3"), ("the square of {a}", "{a} ^ 2"), ("the cube of {a}", "{a} ^ 3"),
    ("{a} to the power of {b}", "{a} ^ {b}"), ("{a} to the power {b}", "{a} ^ {b}"), ("{a} raised to {b}", "{a} ^ {b}"),
    ("{a}% of {b}", "{a}% * {b}"), ("{a} % of {b}", "{a}% * {b}"), ("{a} percent of {b}", "{a}% * {b}"), ("{a} per cent of {b}", "{a}% * {b}"),
    ("half of {a}", "{a} / 2"), ("a third of {a}", "{a} / 3"), ("a quarter of {a}", "{a} / 4"), ("double {a}", "{a} * 2"), ("twice {a}", "{a} * 2"),
    ("{a} plus {b} plus {c}", "{a} + {b} + {c}"), ("{a} times {b} plus {c}", "{a} * {b} + {c}"), ("{a} times {b} minus {c}", "{a} * {b} - {c}"),
    ("{a} plus {b} times {c}", "{a} + {b} * {c}"), ("{a} times {b} times {c}", "{a} * {b} * {c}"), ("{a} minus {b} minus {c}", "{a} - {b} - {c}"),
    ("{a} divided by {b} plus {c}", "{a} / {b} + {c}"), ("{a} plus {b} minus {c}", "{a} + {b} - {c}"), ("{a} plus {b} divided by {c}", "{a} + {b} / {c}"),
]
CALCULATE = [
    "what's {sum}", "what's {sum}", "what is {sum}", "what is {sum}", "how much is {sum}", "how much is {sum}", "what does {sum} [make|give|equal]",
    "what do you get for {sum}", "what would {sum} be", "what is the [result|value|answer] of {sum}", "do you know what {sum} is", "how many is {sum}",
    "{sum}", "{sum}", "calculate {sum}", "calculate {sum}", "compute {sum}", "work out {sum}", "tell me [what {sum} is|{sum}]", "solve {sum}", "evaluate {sum}",
    "[find|figure out|get|give me] {sum}", "do the maths[:|] {sum}", "calculate[:|] {sum}", "I need {sum}", "{sum} =", "{sum} equals", "result of {sum}",
    "what comes out of {sum}", "I have to know {sum}", "could it be that {sum} is a lot", "use the calculator for {sum}", "the sum is {sum}", "if I take {sum}, what do I get", "how high is {sum}", "let me know what {sum} is", "add this up: {sum}", "count {sum}", "and {sum}", "check {sum}", "we need {sum}", "type {sum} into the calculator",
    "so {sum} is what", "would you do {sum}", "mind doing {sum}", "I get stuck at {sum}", "{sum}, how much", "{sum}, please", "{sum} is how much", "let's see, {sum}", "hmm, {sum}", "what number comes from {sum}", "which number is {sum}", "tell me the number for {sum}", "I was asked for {sum}", "the exercise is {sum}", "I forgot my calculator, {sum}", "crunch {sum}", "total of {sum}", "what do I get if I do {sum}", "try {sum}", "do {sum}", "the outcome of {sum}", "please do the sum {sum}", "in numbers, {sum}", "quick, {sum}", "could {sum} be right", "{sum} would be",
]
TIMER = [
    "[set|start|begin|run|make|create|put on|add|open|launch] a timer [for|of] {duration}", "[set|start|run|create|give me] a {duration} timer",
    "[set|start] a timer[,|:|] {duration}", "[set|start] the timer [for|to] {duration}", "timer [for |of |]{duration}", "{duration} timer",
    "a timer [for|of] {duration}", "I need a timer [for|of] {duration}", "[remind|alert|ping|tell|warn|call] me in {duration}", "time {duration}",
    "count down {duration}", "count down from {duration}", "start a countdown [of|for] {duration}", "set {duration} on the timer", "wake me [up |]in {duration}",
    "let me know [in|after] {duration}", "I need {duration} on the clock", "tell me when {duration} [are over|have passed|is over|are up]",
    "start counting {duration}", "ring in {duration}", "beep [in|after] {duration}", "set timer {duration}",
    "wait {duration}", "[time me for|measure|track] {duration}", "start the clock, {duration}", "I start now, {duration}", "{duration} from now", "in {duration} [ring|beep|call me|wake me]", "hold on for {duration}", "use a timer of {duration}", "new timer[,|:] {duration}",
    "have a timer run for {duration}", "let me have a timer of {duration}", "throw on a timer for {duration}", "I'd like {duration} timed", "could there be a timer for {duration}", "a timer, {duration}", "timer please, {duration}", "bring up a timer of {duration}", "get me a timer for {duration}", "pop a timer on for {duration}", "call out after {duration}", "shout in {duration}", "poke me in {duration}", "wake me once {duration} have passed", "I want to hear a ring in {duration}", "sound the alarm in {duration}", "tick down {duration}", "go for {duration}", "kick off a timer of {duration}", "turn on the timer for {duration}", "use {duration} for the timer", "can the timer be {duration}", "let the clock ring in {duration}", "set it for {duration}", "I've got {duration}, time me", "we have {duration}, start the timer", "prepare a timer of {duration}",
]
TIMER_LABEL = [
    "[set|start|begin|run|make|create|put on|add] a timer [for|of] {duration} for [the |the |my |]{label}", "[set|start|run|create] a {duration} timer for [the |the |my |]{label}",
    "[set|start|run|create|make|begin] a timer for [the |the |my |]{label}[ for| of|,|:] {duration}", "[set|start|run|create|add] a [{label}] timer [for|of] {duration}",
    "[set|start|add] a {label} timer[,|:|] {duration}", "{label} timer[:|,| for|] {duration}", "timer for [the |my |]{label}[:|,|] {duration}",
    "{duration} timer for [the |my |]{label}", "{duration} for [the |the |my |]{label}", "[set|start] a timer [called|named|labelled] {label} [for|of] {duration}",
    "[set|start] a timer [for|of] {duration} [called|named|labelled] {label}", "[set|start] a {duration} timer [called|named|labelled] {label}",
    "time [the |my |]{label} for {duration}", "I need a timer [for|of] {duration} for [the |my |]{label}", "I need a {duration} {label} timer",
    "[start|set|put on] the {label} timer [for|to|at] {duration}", "my {label} [takes|needs] {duration}, set a timer", "the {label} needs {duration}, start a timer",
    "[remind|alert|tell|ping] me about [the |my |]{label} in {duration}", "the {label} [takes|needs] {duration}, remind me", "timer [called|named] {label}[,|:|] {duration}",
    "in {duration} [remind|tell|alert] me about [the |my |]{label}", "[set|start|run] a {duration} {label} timer", "count down {duration} for [the |my |]{label}",
    "a {duration} timer for [the |my |]{label}", "a timer for [the |my |]{label} [of|for] {duration}", "let me know about the {label} in {duration}",
    "give [the |my |]{label} {duration}", "give me {duration} for [the |my |]{label}",
    "I put the {label} on, [wake|call|alert] me in {duration}", "the {label} [is|are] in the oven, {duration} please", "I just started the {label}, {duration} please", "watch the {label} for {duration}", "keep an eye on the {label} for {duration}",
    "[time to start|it's time for] the {label}, set a timer [for|of] {duration}", "{label}, {duration}", "{label}: {duration}", "{label} in {duration}, remind me", "the {label} should be ready in {duration}, start a timer", "I'll do {label} for {duration}, start a timer",
    "start the clock for the {label}, {duration}", "track {duration} for the {label}", "we are starting the {label}, time {duration}", "run the {label} timer at {duration}", "please wait {duration} for the {label}", "add {duration} for the {label}",
    "have a timer run for the {label}, {duration}", "throw on a {label} timer for {duration}", "I'm having {label}, time it for {duration}", "I'm baking {label}, start a timer of {duration}", "I'm on the {label}, set {duration}", "pop a timer on for the {label}, {duration}", "poke me about the {label} in {duration}", "shout in {duration} about the {label}", "may I have {duration} for the {label}", "please give {label} a timer of {duration}", "please watch my {label}, {duration}", "the {label} is done in {duration}, set a timer", "my {label} wants {duration}, set the timer", "we have {duration} for the {label}, start the timer", "bring up a timer for the {label} of {duration}", "kick off the {label} timer, {duration}", "get me {duration} for the {label}", "a {label} timer of {duration}", "with a timer for the {label} of {duration} I would be happy", "{duration} on the timer for the {label}", "use {duration} for the {label} timer", "could you time the {label} for {duration}",
]
TIMER_TASK = [
    "remind me to {label} in {duration}", "[remind|tell] me in {duration} to {label}", "in {duration} [remind|tell] me to {label}", "I [must|have to|need to] {label} in {duration}, [set a timer|remind me]",
    "set a timer to {label} in {duration}", "set a {duration} timer to {label}", "don't let me forget to {label} in {duration}",
    "shout at me to {label} in {duration}", "poke me to {label} after {duration}", "call me in {duration} to {label}", "after {duration} I have to {label}, time it", "ping me to {label} in {duration}", "it's time to {label} in {duration}, set a timer", "in {duration} let me know to {label}", "wake me in {duration} to {label}",
]
LIST_TIMERS = [
    "[which|what] timers are [running|on|active|set|going]", "what timers do I have[| running| on]", "are there any timers[| running| on]",
    "how much time is left[| on the timer| on my timers]", "how long [is left|until the timer rings|does the timer have]", "do I have [any |a |]timers[| running]",
    "how many timers [are running|do I have|are there]", "is [a|the|any] timer [running|on|still on|still running]", "what's left on [the|my] timer[s|]",
    "how long has the {label} timer left", "how much time is left for the {label}", "how long [until|till] the {label} [is ready|is done|timer rings]",
    "when does the [{label} |]timer [ring|end|go off|finish]", "what about my timers", "how much longer[| for the {label}| on the timer]",
    "[list|show|show me|check|give me|tell me|read] [the|my|all|all the|all my|the running|the active] timers", "[timers|my timers|list timers|show timers|timer list|running timers]",
    "check [the|my] timer", "[show|tell] me [how much time is left|how long is left|the time left]", "what is still running", "timer status", "are my timers still running",
    "what is running", "how is the {label} timer doing", "do any timers still run", "what time is left", "how many minutes remain", "what remains on the timer", "tell me about my timers", "what did I set a timer for", "are we still waiting for the {label}", "have I started a timer", "when is the {label} done", "look at the timers", "open the timers", "is the {label} timer still on",
    "is something counting", "what is being timed", "what else is ticking", "which timers tick", "what do the timers say", "how far is the {label} timer", "how far did the timers get", "what's ticking", "what's [going|running] at the moment", "any timer left", "tell me what is being timed", "overview of my timers", "my active timers", "the timers please", "let me see the timers", "go through the timers", "will the {label} be ready soon", "how much is still to wait", "how long must I wait", "how long still",
]
UNITS = [  # units of one kind
    "km kilometres kilometers miles mi m metres meters feet ft yards inches cm centimetres centimeters mm millimetres".split(),
    "miles km kilometres kilometers feet metres cm inches".split(),
    "kg kilos kilograms pounds lb lbs ounces oz grams g stone tonnes tons".split(),
    "litres liters l ml millilitres gallons pints cups quarts teaspoons tablespoons".split(),
    "celsius fahrenheit kelvin Celsius Fahrenheit °C °F C F".split() + ["degrees celsius", "degrees fahrenheit"],
    "seconds minutes hours days weeks months years".split(),
    ["km/h", "mph", "m/s", "miles per hour", "kilometres per hour", "kph"],
    ["acres", "hectares", "square metres", "square feet", "square miles"],
    "kB MB GB TB bytes megabytes gigabytes bits".split(), "joules calories kcal kJ kWh".split(), "pascal bar psi hPa".split(), "degrees radians".split(),
    "watts kilowatts horsepower".split(), "dollars euros pounds yen".split(),
]
SINGULAR = {
    "miles": "mile", "kilometres": "kilometre", "kilometers": "kilometer", "metres": "metre", "inches": "inch", "yards": "yard", "pounds": "pound",
    "ounces": "ounce", "litres": "litre", "gallons": "gallon", "pints": "pint", "cups": "cup", "hours": "hour", "days": "day", "weeks": "week", "acres": "acre",
    "kilos": "kilo", "feet": "foot", "years": "year", "minutes": "minute", "grams": "gram", "hectares": "hectare",
}
CONVERT = [
    "how many {target} [are|is] {value}", "how many {target} [are there |are |]in {value}", "how much is {value} in {target}", "what is {value} in {target}",
    "what's {value} in {target}", "what are {value} in {target}", "how many {target} is {value}", "how many {target} [make|makes|are] {value}", "how many {target} do {value} make",
    "{value} is how many {target}", "{value} are how many {target}", "what would {value} be in {target}", "how [far|long|heavy|big] is {value} in {target}", "what does {value} make in {target}",
    "convert {value} [to|into] {target}", "convert {value} [to|into] {target}", "convert {value} to {target}", "change {value} [to|into] {target}", "turn {value} into {target}",
    "{value} in {target}", "{value} to {target}", "{value} into {target}", "[give|tell|show] me {value} in {target}", "express {value} in {target}", "I need {value} in {target}",
    "[translate|transform] {value} [to|into] {target}", "{value} as {target}", "tell me how many {target} [are|is] {value}", "work out {value} in {target}", "{value} = ? {target}",
    "the label says {value}, how much is it in {target}", "I have {value}, tell me the {target}", "it weighs {value}, and in {target}", "it is {value}, give me {target}", "the sign shows {value}, what's that in {target}", "we need {value} as {target}", "my book says {value}, convert to {target}", "make {value} into {target}", "calculate {value} in {target}",
    "{value} [equals|equal] how many {target}", "what's {value} when measured in {target}", "I only know {target}, how much is {value}", "show {value} as {target}", "compute {value} in {target}", "{value} [expressed|written|measured] in {target}", "from {value} to {target}", "{target} for {value}", "swap {value} for {target}",
    "{value}, in {target} please", "{value}, how many {target}", "if it is {value}, how many {target}", "put it in {target}: {value}", "for {value} I get how many {target}", "they say {value}, what's that in {target}", "I read {value}, what would that be in {target}", "write {value} as {target}", "say it in {target}: {value}", "can {value} be given in {target}", "bring {value} to {target}", "the {target} in {value}", "suppose I have {value}, how many {target}", "how do you say {value} in {target}", "what amount of {target} is {value}", "count {value} in {target}", "restate {value} in {target}", "how would {value} look in {target}", "move {value} over to {target}", "let me have {value} in {target}",
]
NOTE = [
    "note[:| that|,|] {note}", "[make|take|write|add|save|create] a note[:| that|,|] {note}", "write down[:| that|] {note}", "jot down[:| that|] {note}", "remember[:| that|] {note}",
    "remember that {note}", "[add|save|put] to my notes[:| that|] {note}", "new note[:|,|] {note}", "save[:| this:] {note}", "write this down: {note}", "keep in mind that {note}",
    "[add|write|save] the note {note}", "note down[:| that|] {note}", "don't forget[:| that] {note}", "I want to remember that {note}", "add a note saying {note}", "[make|take] a note saying {note}",
    "add [this |]to my notes: {note}", "[write|put] in my notes[:| that] {note}", "for my notes: {note}", "memo: {note}", "take this down: {note}", "keep a note[:| that] {note}",
    "please note the following: {note}", "for later: {note}", "I have to note that {note}", "you should know that {note}", "keep this: {note}", "record that {note}", "record this: {note}", "log this: {note}", "[enter|insert] a note: {note}", "listen and write: {note}", "note this: {note}", "here is a note: {note}", "one note: {note}", "a note: {note}",
    "put the following in my notes: {note}", "please write: {note}", "please write this: {note}", "the following must be noted: {note}", "something to write down: {note}", "something to remember: {note}", "I'll dictate: {note}", "let me tell you a note: {note}", "keep the following: {note}", "save the following: {note}", "my notes should say {note}", "add the following to my notes: {note}", "take this as a note: {note}", "store a note: {note}", "file this: {note}", "note for me: {note}", "a quick memo: {note}", "would you write that {note}", "do note that {note}", "let it be noted that {note}", "could you remember that {note}", "next note: {note}",
]
NOTE_TASK = [
    "remember to {note}", "remember to {note}", "remind me to {note}", "remind me to {note}", "don't let me forget to {note}", "I [must|have to|need to] remember to {note}", "note to {note}",
    "make a note to {note}", "add a note to {note}", "write down to {note}", "note to self: {note}", "to do: {note}", "todo: {note}", "put {note} on my list", "add {note} to my [notes|list]",
    "save {note} in my notes", "put {note} in my notes", "write {note} in my notes", "don't forget to {note}", "I must not forget to {note}", "help me remember to {note}", "write {note} down",
    "I will forget to {note}, write it down", "it's important to {note}, note it", "I still have to {note}, make a note", "I plan to {note}, remember it", "be sure to remind me to {note}", "would you remind me to {note}", "I want to be reminded to {note}", "another task: {note}", "my next task is to {note}, note it", "for my list: {note}", "write down that I should {note}", "note that I need to {note}", "save the task {note}",
    "please see that I don't forget to {note}", "see to it that I {note}, note it", "I want a reminder to {note}", "add to my reminders to {note}", "set down that I must {note}", "scribble that I have to {note}", "scribble down that I need to {note}", "put down that I should {note}", "it must be noted that I have to {note}", "add the task to {note}", "add {note}", "[also|and] add {note}", "new task: {note}", "the list should say {note}", "put on my list: {note}", "on the to-do list: {note}", "make me remember to {note}", "I ought to {note}, make a note of it", "write a reminder to {note}", "create a reminder to {note}", "keep a reminder to {note}", "I can't forget to {note}, save it",
]
LIST_NOTES = [
    "what are my notes", "what notes do I have", "what did I [write down|note|save|ask you to remember|tell you to remember]", "what's [in|on] my [notes|list]", "do I have [any |]notes",
    "which notes [do I have|are there|did I take]", "what have I [noted|written down|saved]", "what was I supposed to remember", "what do my notes say", "are there any notes", "how many notes do I have",
    "[read|show|list|tell|give] me [my|the|all|all my] notes", "[read|show|list|open|check] [my|the|all|all my|all the] notes", "read [my |the |]notes [back|aloud|back to me|out]",
    "[notes|my notes|list notes|show notes|notes please]", "what must I not forget", "what did I have to remember", "go through my notes",
    "what is on the list", "where are my notes", "what have I asked you to keep", "have I written anything", "what's my to-do list", "what tasks do I have", "I'd like to see my notes", "I need my notes", "bring up the notes", "open the list", "tell me what I wrote", "repeat my notes", "what did I want to do", "recite my notes", "what is there to do",
    "what's noted", "what is written in my notes", "what do we have in the notes", "which things did I note", "look into my notes", "show what I wrote down", "what was noted", "what stands in my notes", "tell me everything I noted", "let me see what I saved", "let me see my list", "did I note anything", "do I have anything in my notes", "which reminders do I have", "what reminders are there", "all notes please", "the notes please", "hear my notes", "what did I put on my list", "check what I wrote down",
]
QUESTIONS = {pattern for group in (TIME_HERE[:16], TIME_CITY[:15], CALCULATE[:12], LIST_TIMERS[:15], CONVERT[:14], LIST_NOTES[:11]) for pattern in group}
SUM_REQUESTS = composed.SUM_REQUESTS
JOINTS = [" and ", ", and please ", " and after that ", ", also ", " plus ", ". And ", ". Also ", " and ", " and then ", " and also ", ", then ", ", and ", " and ", " then ", "; ", " as well as ", ". Then ", " and could you ", ", can you also ", ". Next, ", ", and after that ", " & "]
AGAIN_CITY = ["[and |what about |and what about |how about |and how about |]in {city}[?|]", "[and |what about |how about |and what about ]{city}[?|]", "and the time in {city}[?|]", "[hm, |right, |so |]and {city}?", "{city}?", "[now|also|then] {city}[?|]", "and [for|at] {city}[?|]", "[now|also|then] in {city}[?|]", "the time in {city} too", "I also need {city}"]
AGAIN_TIMER = ["[and |]another [one |]for {duration}[, please|]", "and [one|another] for {duration}", "another {duration}", "one more for {duration}", "also one for {duration}", "now one for {duration}", "make another one for {duration}", "set one more[,| for] {duration}", "and also {duration}"]
AGAIN_TIMER_LABEL = [
    "[and |]another [one |]for {duration} for the {label}", "and {duration} for the {label}", "and one for the {label}[,| for] {duration}", "also {duration} for the {label}",
    "one more for the {label}, {duration}", "now {duration} for the {label}", "make another one for the {label}[,| for] {duration}", "now one for the {label}[,| for] {duration}", "also one for the {label}, {duration}",
]
AGAIN_SUM = [
    ("times {}", "*"), ("and times {}?", "*"), ("plus {}", "+"), ("and plus {}?", "+"), ("minus {}", "-"), ("divided by {}", "/"), ("Now times {}", "*"), ("Now add {}", "+"),
    ("Now divide that by {}", "/"), ("add {}", "+"), ("multiply that by {}", "*"), ("subtract {}", "-"), ("and divided by {}?", "/"), ("take away {}", "-"),
    ("add {} to that", "+"), ("and multiply by {}", "*"), ("now minus {}", "-"), ("divide by {}", "/"), ("divide it by {}", "/"), ("and take away {}", "-"), ("that times {}", "*"), ("that plus {}", "+"),
    ("that minus {}?", "-"), ("to the power of {}", "^"), ("multiply it by {}", "*"), ("take that times {}", "*"), ("So plus {}?", "+"), ("what about plus {}?", "+"), ("and if I subtract {}?", "-"), ("add another {}", "+"),
]
AGAIN_VALUE = ["[and |what about |and what about |how about ]{value}[?|]", "and for {value}[?|]", "and {value}[?|]", "[hm, |right, |so ]and {value}?", "{value}?", "[also|then] {value}[?|]", "and [with|if it is] {value}[?|]", "do it for {value}", "I also need {value}"]
MISSING = [  # a pattern for a request that lacks a value, and the question for it
    ("set_timer", "[set|start|make|create|run|begin] a timer", "For how long?"), ("set_timer", "[set|start|run] [a|the] timer", "For how long?"),
    ("set_timer", "I [need|want] a timer", "For how long?"), ("set_timer", "timer", "For how long?"), ("set_timer", "[set|start|make|create] a timer for the {label}", "For how long?"),
    ("set_timer", "[set|start] a {label} timer", "For how long?"), ("calculate", "[calculate|work out|compute] something", "What should I work out?"),
    ("calculate", "[calculate|compute]", "What should I work out?"), ("calculate", "do [some maths|a calculation|a sum]", "What should I work out?"),
    ("calculate", "I need [a calculator|a calculation]", "What should I work out?"), ("convert_units", "convert [something|units|a value]", "Which value, and from which unit to which?"),
    ("convert_units", "[convert units|unit conversion|I need a conversion|convert]", "Which value, and from which unit to which?"),
    ("add_note", "[take|make|add|write|create|save] a note", "What should I write down?"), ("add_note", "[new note|note|write something down|note something down]", "What should I write down?"),
    ("add_note", "I want to [write something down|take a note|note something]", "What should I write down?"), ("add_note", "remember something", "What should I write down?"),
    ("set_timer", "[can I have|give me|let me have|I'd like|I would like] a timer", "For how long?"), ("set_timer", "[I need|I want|give me|make me] a timer for the {label}", "For how long?"),
    ("set_timer", "[time something|a timer|time the {label}|timer please|new timer|a new timer|start timing]", "For how long?"), ("calculate", "[I have a sum|help me with a sum|help me with maths|can you calculate|a calculation|maths]", "What should I work out?"),
    ("calculate", "[I want to calculate something|I need to work something out|do you calculate|can you do maths]", "What should I work out?"),
    ("convert_units", "[can you convert units|I want to convert a value|help me convert|convert a number|convert it|I need another unit|change the unit|a conversion]", "Which value, and from which unit to which?"),
    ("add_note", "[I have a note|I need a note|a note|write this|please note|note this|help me remember something|can you write something down]", "What should I write down?"),
    ("add_note", "[save|keep|put down|start] [a|a new|another|one more] note", "What should I write down?"),
]
for name in ("TIME_HERE", "TIME_CITY", "CALCULATE", "TIMER", "TIMER_LABEL", "TIMER_TASK", "LIST_TIMERS", "CONVERT", "NOTE", "NOTE_TASK", "LIST_NOTES", "AGAIN_CITY", "AGAIN_VALUE",
             "AGAIN_TIMER", "AGAIN_TIMER_LABEL", "AGAIN_SUM"):
    own, made = globals()[name], getattr(composed, name)
    own += made * max(1, round(1.5 * len(own) / len(made)))  # a composed pattern counts as several plain ones

def every_pattern():
    """All texts of this file, as a source of words."""
    for name, group in globals().copy().items():
        if name.isupper() and isinstance(group, list):
            for each in group:
                yield from [part for part in ([each] if isinstance(each, str) else each) if isinstance(part, str) and "{odd}" not in part]
