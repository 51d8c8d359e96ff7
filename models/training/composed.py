"""Training patterns of exchangeable parts: each has hundreds of phrasings.

`patterns.py` adds them to its own lists. `{odd}` is an irrelevant word, so that the model learns which words matter. None of
these patterns produces a phrasing of the held-out set; `held_out.py` proves that.
"""

TELL = "[tell|give|show|fetch|get|find|bring|send|check|look up|let us have|hand]"
PERSON = "[my|our|his|her|a] [aunt|uncle|client|teacher|cousin|daughter|son|boss|neighbour|doctor|customer|partner|office|brother|colleague|pen pal|landlord]"
NOW = "[||| now| right now| today| please| at present| currently]"

TIME_HERE = [
    f"{TELL} [me|us|] the [time|date|day|weekday|clock|month|year|day of the week|time and date|local time|current time|exact time|correct time|current date|present day]{NOW}",
    f"[what|which] [time|day|date|month|year] [is it|do we have|have we got|is it here|are we in|has it become|would it be|do you have|does it show]{NOW}",
    "which [weekday|hour] [is it|do we have|have we got|are we in|is this]", f"what[ is|'s] the [time|day|weekday|month|year|hour]{NOW}",
    "[could|can|may|might] [I|we] [know|hear|see|learn|ask for|check|be told] the [time|date|day|hour]", "[do|would] you [know|see] [what|which] [time|day|date|month|weekday] [it is|we have|this is]",
    "is it [still|really|] [morning|afternoon|evening|night|midnight|late|early|Monday|Thursday|Saturday|January|August|bedtime|lunchtime|past midnight|time for bed|time to go]",
    "is it already [morning|afternoon|evening|night|midnight|late|Friday|Saturday|winter|March|bedtime|lunchtime|after five|six o'clock]",
    "[I|we] [need|want|would like|'d like|must know|should know|wonder about|forgot|can't see|lost] [to know |to hear |to see |]the [time|date|day|hour]",
    "{odd} [me |us |]the [time|date|clock|hour]", "[my watch|my phone|the kitchen clock|my clock] [stopped|is broken|is dead|is slow|shows nothing], [what time is it|tell me the time|what's the time|how late is it]",
    "how [late|early] [is it|are we|has it become|did it get]", "[time|date|hour|weekday][?| please|, please| of day|]", "what [does|would] [my watch|your clock|the calendar|your watch] [say|show|read]",
    "[the|today's|this] [time|date|day|weekday|month][, please| please|?]", "{odd} [time|day|date] is it",
]
TIME_CITY = [
    f"{TELL} [me|us|] the [time|date|day|local time|current time|exact time|clock|time and date|weekday|present time] [in|for|at|over in|of|there in|across in] {{city}}{NOW}",
    f"what[ is|'s] the [time|date|day|weekday|exact time|time of day] [in|over in|for|at|like in|now in|there in] {{city}}{NOW}",
    f"[what|which] [time|day|date|month] [is it|do they have|have they got|would it be|do people have|does it show|does one have] [in|over in|there in|for people in|for my aunt in|down in|up in] {{city}}{NOW}",
    PERSON + " [lives|works|stays|studies|is|waits|grew up] in {city}[,| and|;|.|:] [what time is it there|what time is it for them|what time do they have|how late is it|is it late there|what do their clocks say|tell me the time there|which day is it there]",
    "[I|we] [call|ring|visit|phone|leave for|travel to|fly to|drive to|move to|land in|arrive in|must call|want to call|am in|have a meeting in|talk to|write to] {city}[| soon| later| today| tomorrow], [what time is it there|what's the time there|how late is it over there|tell me their time|which day is it there]",
    "[are|is|do|did|have|has|can|will] [the people|people|everybody|my family|the shops|the offices|the banks|the children|the neighbours|my colleagues|they] [awake|up|working|at work|in bed|at home|open|closed|having breakfast|having lunch|dreaming|resting|done for the day|eating|go to bed|gone home|get up|work|eat|rest|start work|have dinner|wake up|dream|snore] in {city}[| now| yet| already| at this hour| right now| today]",
    "[do|are|is|will|have|can] [they|people|the locals|most people|the kids|her parents|we] [|still |already |]{odd} in {city}[| now| yet| already| at this hour| at this time]", "[is|are] [everyone|everybody|people|they|the children|anyone] [still |already |][asleep|sleeping|up|out of bed] in {city}[| now| yet|, I wonder]",
    "is it [still|] [dark|light|morning|afternoon|evening|night|late|early|midnight|noon|bedtime|Monday|Sunday|the weekend|dinner time|yesterday] [in|over in|for people in] {city}[| now]",
    "is it already [dark|light|morning|afternoon|night|late|bedtime|Thursday|Sunday|the weekend|next year] in {city}",
    "{city}[:|,|] [time|date|clock|what time|local time|time please]", "[time|date|clock|hour] [for|at|in|of|over in] {city}[| please| now]", "{odd} [me |us |]the [time|clock|date] [in|for|of|at] {city}",
    "in {city}[,| right now,| at present] [what time is it|how late is it|what's the time|which day is it|what day is it|is it night]",
    "[do|would|could|can] you [know|happen to see|look up|check|find out|tell me|see] [what time it is|the time|the date|how late it is|which day it is] [in|over in|for] {city}",
    "[I|we] [need|want|would like|'d like|must know|should know|wonder about] [to know |to hear |to check |]the [time|date|day] [in|for|over in|of] {city}",
    "[check|see|find out|tell me] [how late|which day|what time|what date] it is [in|over in|for people in] {city}",
]
FIND = "[calculate|compute|solve|evaluate|work out|figure out|determine|find|do|count|add up|process|resolve|estimate|check|handle|try|answer|simplify|tackle|take on|finish]"
CALCULATE = [
    "[what|how much] [is|was|would be|gives|are|shall be|will be] {sum}[|, please|, roughly|, exactly| in total| altogether| at the end]", "what [does|do|did|would|could|will] {sum} [come to|give|make|equal|amount to|become|turn out to be]",
    "[tell|give|show|get|find|bring|send] [me|us|] [the [answer|result|value|total|solution|outcome|number] [of|for|from] |]{sum}",
    FIND + " [the [sum|expression|problem|calculation|exercise|formula|equation][:|] |this[:|] |for me |]{sum}[|| for me| please|, thanks]",
    "{sum} [is|gives|equals|=|would be|comes to|adds up to|amounts to|becomes] [what|how much|?|which number]",
    "[my|the|our|this|her] [teacher|book|boss|son|daughter|exam|test|worksheet|invoice|quiz|bill|recipe|form|puzzle] [asks|wants|asked for|needs|shows|gives|contains|requires|has] [for |]{sum}[||, what's that|, what is it|, what does it make]",
    "[I|we] [need|want|must know|have to know|would like|'d like|don't know|forgot|wonder about|am stuck at|got stuck with|struggle with|must solve|cannot solve|have to do|have to solve|have] {sum}[||, help me|, can you|, please]",
    "{odd} {sum}", "{odd} [up|out|on|with|me|for] {sum}", "[quickly|please|maybe|just|now|so|then|next|ok|well][:|,|] {sum}", "[maths|sum|calculation|question|problem|exercise|arithmetic|calculator][:|,| -] {sum}",
    "[can|could|would] you [do|solve|check|find|get|handle|compute] {sum}[| for me]", "[is there an answer to|the value of|the total of|answer for|the solution to] {sum}", "what[ is|'s| was] the [answer to|total of|value of|outcome of|solution to|number for] {sum}",
]
SUM_REQUESTS = [  # whole requests, and their expression
    ("[add|sum|add up|put together] {a} and {b}", "{a} + {b}"), ("[please |]add {a} to {b}", "{b} + {a}"), ("multiply {a} [by|with|and] {b}", "{a} * {b}"), ("divide {a} [by|through|into] {b}", "{a} / {b}"),
    ("[subtract|take|deduct|take away] {b} from {a}", "{a} - {b}"), ("take the [square root|root] of {a}", "sqrt({a})"), ("square {a}", "{a} ^ 2"), ("cube {a}", "{a} ^ 3"), ("halve {a}", "{a} / 2"), ("double {a}", "{a} * 2"), ("triple {a}", "{a} * 3"),
    ("[split|share|divide] {a} [between|among] {b}[| people| friends| of us]", "{a} / {b}"), ("raise {a} to [the power of |the power |]{b}", "{a} ^ {b}"), ("{a} [people|boxes|bags|tickets|seats] [at|for|with|of] {b} each[|, how much in total|, how many together]", "{a} * {b}"),
    ("[what is|what's|give me|work out] a tip of {a}[%| percent] on {b}", "{a}% * {b}"), ("what's left if I take {b} from {a}", "{a} - {b}"), ("how much is left of {a} after {b}", "{a} - {b}"), ("how [often|many times] does {b} [go|fit] into {a}", "{a} / {b}"),
    ("[the average|the mean] of {a} and {b}", "({a} + {b}) / 2"), ("increase {a} by {b}", "{a} + {b}"), ("decrease {a} by {b}", "{a} - {b}"), ("[what's|what is] {a}[%| percent] off {b}", "{a}% * {b}"),
]
SET = (
    "[set|start|begin|run|make|create|add|open|launch|activate|trigger|schedule|arrange|prepare|program|initiate|establish|put on|switch on|turn on|kick off|spin up|crank up|whip up|line up|book|hand me|bring me|find me|build|place|give me|let me have|get me|get|do|use|leave me|set me|start me|{odd}|{odd} up|{odd} on|{odd} out|{odd} off|{odd} me]"
)
TIMER_WORD = "[timer|timer|timer|timer|countdown|count-down|clock timer]"
ALARM = "[remind|alert|ping|tell|warn|call|wake|poke|notify|signal|prod|page|stop|message|prompt|interrupt|{odd}] me"
AFTER = "[in|in|after|once|within|again in]"
TIMER = [
    f"{SET} [a|a|one|a new|another|some|the|my|this|an extra|a quick|a short|a fresh|one more] {TIMER_WORD} [for|for|of|with|lasting|at|over|that lasts|which takes|with a length of|that ends in|that goes off in|to ring in|running|-|:|,|] {{duration}}[||| from now|, starting now| exactly| straight away| in total]",
    f"{SET} [a|the|one|another|my|a new] {{duration}} {TIMER_WORD}[||| for me| straight away| please]",
    f"{ALARM} {AFTER} {{duration}}[|| have passed| are over| are gone| from now]", "in [exactly |about |roughly |just |] {duration} [ring|beep|call me|wake me|alert me|let me know|remind me|tell me|make a sound|make a noise|shout|sound an alarm]",
    "[I|we] [need|want|require|must have|could use|should have|would like|'d like] [a timer [of|for|with|lasting] |]{duration}[||| on the timer| on the clock| measured]", "how about [a timer of |a timer for |]{duration}",
    "[is it possible|would it be possible|would you be able|are you able] to [set|start|run|make] a timer [for|of] {duration}", "is there a way to [time|count] {duration}", "I was wondering if you could [time|count] {duration}", "[what about|maybe|just|quickly|please] a timer of {duration}",
    "{duration}[ please| timer| countdown| on the clock|, go|, now|, start|, starting now| from now| and counting|, thanks| from this moment|, time it]", "[timer|countdown|alarm][:|,| -|] {duration}", "[count|tick] [down|backwards|] [from |for |]{duration}",
    "the [timer|countdown] [should|must|has to|needs to|ought to|shall|is to] [run|last|take|ring in|go off in|be set for|count|end in|stop after|be] {duration}", "see that [it rings|the bell rings|I am called|I hear something] in {duration}", "{odd} {duration}", "{odd} [me |us |]a timer [for|of] {duration}",
    "let [the bell|the alarm|it] [ring|sound|go off] in {duration}", "[time|measure|track|count|watch] [the next |]{duration}[| for me| from now]",
]
FOR = "[for|for|for|called|named|labelled|titled|to time|because of|about|marked|under the name|under the name of|with the label|with the name|with label|with name]"
MY = "[the |the |my |our |some |this |]"
TIMER_LABEL = [
    f"{SET} [a|a|one|another|the|my|a new] {TIMER_WORD} [of|for|lasting|with|at|over] {{duration}} {FOR} {MY}{{label}}", f"{SET} [a|the|one|another|a new|my] {{duration}} {TIMER_WORD} {FOR} {MY}{{label}}",
    f"{SET} [a|a|the|my|one|another|a new] {{label}} {TIMER_WORD} [of|for|with|lasting|at|to|,|:|-|set to|that takes|] {{duration}}", f"{SET} [a|a|one|another|the] {TIMER_WORD} {FOR} {MY}{{label}} [for|of|,|:|-|with|lasting|at|, it takes|, which takes|, about|; it needs] {{duration}}",
    f"{MY}{{label}} [needs|takes|wants|lasts|requires|has|gets|is due in|is ready in|is done in|comes out in|is finished after|will be done in|should take|must come out in|has to stop in|ends in|will last|goes on for|starts in|begins in|finishes in|must be stopped after|should get|can stay for]"
    " {duration}[||, set a timer|, time it|, remind me|, start the countdown|, start a timer now|, let me know|, so set the timer|, tell me then|, please time it|. Set a timer|, can you time that|, give me a timer]",
    f"{ALARM} [of|about|for] {MY}{{label}} [in|in|after] {{duration}}", "[I am|I'm|we're|we are|she is|he is] [cooking|boiling|frying|heating|starting|cleaning|painting|beginning|washing|grilling|taking|watching|playing|putting on|warming|fixing|preparing] [the |my |our |some |]{label}[,| and need| and want|:| for|, so] [set |start |give me |][a timer of |a timer for |]{duration}",
    f"[when|after|once] {{duration}} [are over |have passed |][tell|remind|call] me about {MY}{{label}}", "{duration} [for|for|:|-|,] [the |my |our |]{label}[||, please|, go| timer]", "{label} [-|:|,|for|in|=|takes|needs] {duration}[||, timer|, set a timer|, please| timer]",
    f"[I|we] [need|want|require|could use|would like|'d like|must have] [a {{duration}} timer for|{{duration}} for|{{duration}} of time for] {MY}{{label}}", f"{{odd}} {MY}{{label}} for {{duration}}", f"[the timer|a timer|one timer|timer] for {MY}{{label}} [is|should be|must be|of|:|,] {{duration}}",
    f"[have|keep|make|want|see|get|{{odd}}] [a|the|one|my] {TIMER_WORD} for {MY}{{label}} [go|tick|count|last|stay on|going|ticking|{{odd}}] [for |]{{duration}}",
    f"{MY}{{label}} [must|should|has to|needs to|ought to|can|will] be [stopped|turned|stirred|flipped|watered|opened|moved|taken out|collected|rinsed|drained|{{odd}}] [in|after|within] {{duration}}[|, set a timer|, time it|, start a timer|, remind me|, give me a timer]",
    f"{MY}{{label}} [is going to|would|might|may|shall|could|{{odd}}] [take|need|last|require|{{odd}}] {{duration}}, [set a timer|start a timer|time it|start the countdown|give me a timer|so set a timer]",
    f"[call|name|label] [it|the timer|this timer] {{label}} and [set it to|give it|let it last] {{duration}}", f"[time|track|watch|measure|count] {MY}{{label}}[:|,|] {{duration}}", f"{SET} {{duration}} [for|on] {MY}{{label}}",
]
TIMER_TASK = [
    "[remind|alert|ping|warn|prompt|notify|poke|wake|call|page|signal|urge|help|{odd}] me [in|after] {duration} [to|that I must|that I should|that I have to|so that I|because I have to] {label}",
    "[remind|alert|ping|warn|prompt|notify|poke|wake|call|page|signal|urge|help] me to {label} [in|after|once|within] {duration}[|| from now]", "{odd} me to {label} in {duration}",
    "[in|after] {duration} I [must|have to|need to|ought to|want to|will|am going to] {label}[||, set a timer|, remind me|, time it|, tell me|, start a countdown]", f"{SET} a {TIMER_WORD} [to|so that I|because I must|as I have to|so I] {{label}} [in|after] {{duration}}",
    f"{SET} a {{duration}} {TIMER_WORD} [to|so that I|so I can|because I must] {{label}}", "[I|we] [must|have to|need to|want to|ought to|should|will|plan to|am going to] {label} [in|after] {duration}, [set a timer|remind me|time it|tell me|start a countdown|ring]",
    "don't let me forget to {label} [in|after] {duration}", "[once|when] {duration} have passed I [must|have to|need to] {label}",
]
SHOW = "[show|read|list|tell|give|display|print|check|see|find|bring|present|fetch|get|view|go through|walk through|look at|look through|{odd}]"
LIST_TIMERS = [
    f"{SHOW} [me |us |][my|the|all my|all the|all|our|any|these|every one of my] [timers|timers|running timers|active timers|countdowns|timers that are running|timers I set|open timers|current timers|timers still running]{NOW}",
    "[which|what|how many] [timers|countdowns] [are|were] [running|on|active|set|going|left|open|ticking|started|in use|still on|still running|there|pending]",
    "[how long|how much longer|how much time] [until|till|before] [the|my|our] [{label}|{label} timer|timer|next timer|first timer|last timer|bell|alarm] [rings|is done|is ready|ends|goes off|is over|finishes|stops|beeps]",
    "[how long|how much time|how many minutes|how many seconds|what] [does|has] the [{label}|timer|{label} timer|first timer|countdown] [have left|still have|still need|got left|left|have to go]",
    "when [does|will|do] [the|my] [{label}|{label} timer|timer|timers|countdown|next timer] [ring|end|finish|go off|be done|be ready|stop|beep|run out]",
    "is [the|my|any|a] [{label} timer|timer|countdown|clock for the {label}] [still |][running|on|active|going|ticking|done|over|ready|finished][|| yet| already| now]",
    "[do|have] [I|we] [have|got|left|started] [any|a|some|another|many] [timer|timers|countdown|countdowns][| running| going| on| left| active]", "[time|minutes|seconds] [left|remaining|to go][| on the timer| for the {label}]",
    "[check|what about|status of|state of|how about|look at|update on|news on|check on] [my|the|all] [timers|timer|{label} timer|running timers|countdown]",
    "[is|are] [anything|something|any timers|a timer|any countdowns|any clocks] [still |][running|counting|ticking|active|on|going|set]", "what[ is|'s] [still |][running|active|ticking|being timed|being counted|left to wait|on the timers|in the timer list|remaining|pending]",
    "[I|we] [want|need|'d like|would like|have] to [see|hear|check|know about] [my|the|all my] [timers|running timers|countdowns]",
]
CHANGE = "[convert|change|turn|translate|transform|express|bring|move|swap|shift|recast|transfer|carry|adapt|recalculate|show|compute|{odd}]"
THAT = "[what is that|what's that|what is this|how much is it|how much is this|what would that be|what does it make|give me that|I need it|I want it|convert it|change it|tell me that|what does that make]"
CONVERT = [
    f"{CHANGE} {{value}} [to|into|in|as|over to] {{target}}[||| for me| please]", f"{CHANGE} [me |the value |this: |my |]{{value}} [to|into|in] {{target}}",
    "[how many|how much] {target} [is|are|are there in|are in|make|fit in|fit into|go into|do I get from|do I get for|correspond to|equal|equals|would be|would make|does it take for|come out of|can I get from] {value}",
    "{value} [is|are|equals|equal|=|comes to|corresponds to|means|gives|make|amounts to|is the same as|becomes] [how many|what in|how much in|what number of|which amount of] {target}",
    "[what|how much] [is|are|would be|was] {value} [in|as|in terms of|expressed in|converted to|when converted to|changed into|counted in|measured in|turned into|given in|written in|translated to] {target}", "what [does|do|would] {value} [make|give|come to|amount to|become|mean] in {target}",
    f"[I|we|she|he|they] [have|got|bought|ran|drove|need|found|weigh|drank|walked|used|see|read|counted|ordered|lost] {{value}}[,|;|.|:| and] {THAT} [in|into|as] {{target}}",
    f"[the|my|our|a|this] [manual|map|label|sign|scale|tank|bag|bottle|rope|car|room|guide|website|box|form|ruler|book|engine|menu] [says|shows|holds|has|is|measures|gives|reads|contains|weighs] {{value}}[,|;|:| and] {THAT} in {{target}}",
    "[tell|give|show|send|get|find|bring] [me|us|] {value} [in|as|expressed in|converted to|converted into|turned into] {target}", "[I|we] [need|want|'d like|would like|must know|have to know|require] {value} [in|as|converted into|changed to|turned into|expressed in|changed into|translated to|transformed into|given in] {target}",
    "{odd} {value} [to|into|in] {target}", "{target}: {value}", "{value} [->|=>|>|-] {target}", "[unit conversion|conversion|units][:|,] {value} [to|in|into] {target}", "[can|could|may|would] [I|we|you] [get|have|see|know|give|show|find|do] [me |]{value} in {target}",
    "[what is|what's|how much is|how many] {target} [for|from|at|with] {value}", "[make|let] {value} [become|be|] {target}", "[the [number|amount] of |]{target} [in|of|for] {value}",
]
WRITE = "[make|take|write|add|save|create|keep|store|record|enter|start|leave|put down|jot down|type|insert|begin|{odd}]"
THING = "[a note|one note|this note|the note|another note|a new note|a short note|my note|a memo|an entry|a line|a message to myself|a remark|a point|something]"
NOTE = [
    f"{WRITE} {THING}[:| that|,|: | saying| that says| reading| which says| with the text| -| with|, namely] {{note}}", "[write|jot|set|get|scribble|type|mark|pen|copy] [down|it down|this down|that down|in my notes|on my list|on the list|into my notes|in the notes][:|:| that|,|] {note}",
    "[remember|memorise|keep|save|record|log|retain|register|capture|add|take|write][:| this:| that|: | the following:| for me:| for later:| this for me:] {note}", "[the|my] [notes|list|memo|notebook] [should|must|needs to|has to|shall] [say|include|contain|hold|show|have|get][:| that|] {note}",
    "[I|we] [want|need|would like|'d like|have|wish] [to note|to write down|to remember|to record|to save|to keep|to store|you to note|you to write down|you to record|you to save|you to keep][:|:| that| this:| the following:] {note}",
    "[for|in|into|to] [my|the] [notes|list|memo|notebook|to-do list|log][:|,|: ] {note}", "{odd} [down|in my notes|to my notes|a note|this note][:|:| that|] {note}", "{note}[, note that|, write that down|, note it|, please note|, remember that|, save that|, keep that|, make a note|, add it to my notes|. Note that|. Write that down]",
    "[note|memo|notes|reminder][:| -|,|] {note}", "[take|add|put|save|write] [down |][the following|the words|this text|the text|this line][:|,|] {note}",
]
NOTE_TASK = [
    "[remind|help] me [to|that I must|that I need to|that I should|about having to] {note}",
    "[I|we] [must|have to|need to|should|ought to|want to|plan to|will|am supposed to|am going to|mustn't forget to|can't forget to|always forget to|keep forgetting to|nearly forgot to|had better] {note}[, write it down|, note that|, make a note|, remember it|, add it to my list|, put it on my list|, save that|, remind me|. Note that|, note this|, add that to my notes]",
    "[write|put|mark|set|add|save|record|scribble] [down |][to|that I need to|that I should|that I have to|that we must|that I want to|that we need to|for me to] {note}", "[note|jot|pen] [down |][to|that I need to|that I should|that we must|that I want to|that we should] {note}",
    "[add|put|place|enter|set|write|note|log|stick|{odd}] {note} [on|to|in|onto|into] [my|the|our] [list|notes|to-do list|todo list|tasks|notebook|memo|reminders]", "[task|todo|to do|to-do|reminder|memo|note to self|don't forget|remember|next task|errand|chore][:|:| -|,] {note}",
    "[make|create|add|save|set|write|leave|give me|take] [a|another|one] [note|memo|task|entry|to-do][| for me] [to|that I should|that I need to|so that I] {note}", "[make|create|set|save|write|take] a reminder to {note}", "don't let me forget [to|that I must|that I should] {note}", "{odd} that I [need to|should|want to] {note}",
]
LIST_NOTES = [
    f"{SHOW} [me |us |][my|the|all my|all the|all of my|our|any|these|those|my latest|my saved] [notes|notes|memos|reminders|saved notes|to-do list|tasks|list of notes|written notes|entries]{NOW}",
    "what [is|are|stands|stood|was] [in|on|inside|among] [my|the|our] [notes|list|to-do list|notebook|memos|saved notes|notes file|reminders]", "what [did|have|had] [I|we|you] [written|noted|note|save|saved|keep|kept|record|recorded|put|stored|write][| down| in my notes| on my list| for me| so far| today| yesterday| earlier| before| for later]",
    "[do|have] [I|we] [have|got|kept|made|taken|left|written|saved] [any|some|more|other] [notes|memos|reminders|tasks|entries]", "how many [notes|reminders|memos|entries|tasks] [do I have|are there|did I make|have I made|did I save|exist]", "what [should|must|did] I [remember|not forget|keep in mind|think of|want to remember|not miss]",
    "[I|we] [want|need|'d like|would like|have|wish] to [see|hear|read|check|review|know] [my|the|all my|our] [notes|list|reminders|memos]", "[notes|memos|reminders|my list|my reminders|all notes|note list|list of notes][| please|, please]", "[say|read|speak|repeat] [my|the|all my] [notes|list|reminders] [aloud|out loud|to me|again|back]",
    "is there [anything|something] [in|on] my [notes|list|reminders]",
]
AGAIN_WORDS = "[the same|same thing|likewise|and also|now also|and next|next|also|too|do it|try|repeat that|once more|again|and again|and then|another]"
AGAIN_CITY = [
    f"{AGAIN_WORDS} [for|in|with|over in|at] {{city}}[?|]", "[ok|hm|fine|good|thanks|great|I see|all right], [now|what about|how about|next|then|for|in|] {city}[?|]", "what about [the time |the clock |people |]over there in {city}", "{city} [too|as well|also|next|now|then]",
    "{odd} [for |in |]{city}[?|]", "[then|but|or|yes, but|no, I mean|sorry, I meant|I mean] [in |]{city}[?|]",
]
AGAIN_VALUE = [
    f"{AGAIN_WORDS} [for|with] {{value}}[?|]", "[ok|hm|fine|good|thanks|great|I see|all right], [now|what about|how about|next|then|try|for|] {value}[?|]", "{value} [too|as well|also|next|now|then]", "now [with|for|try|take|do] {value}", "{odd} [for |with |]{value}[?|]",
    "and if [it's|it were|I have|there are|it is] {value}", "[then|but|or|no, I mean|sorry, I meant|I mean] {value}[?|]",
]
MORE = "[another|one more|a further|an additional|a new|the next|a third|a fresh]"
AGAIN_TIMER = [f"[||and |also |now |then |please ][start|set|run|add|make|give me|I need|begin|{{odd}}] {MORE} [one|timer] [for|of|at|with|lasting] {{duration}}", f"{MORE} [one|timer][,|:| with| lasting|] {{duration}}", "[and|also|now|plus|then|next] {duration}[| too| as well]", "the same for {duration}"]
AGAIN_TIMER_LABEL = [
    f"[||and |also |now |then |please ][start|set|run|add|make|give me|I need|begin|{{odd}}] {MORE} [one|timer] [for the {{label}}, {{duration}}|for the {{label}} for {{duration}}|of {{duration}} for the {{label}}|for {{duration}} for the {{label}}]",
    "[and|also|now|next|then] the {label}[,|:|] {duration}", "[and|also|plus|next] [one|a timer] for the {label}[, {duration}| for {duration}| of {duration}]", "the {label} [too|as well|next], {duration}", f"{MORE} [one|timer] for the {{label}}[,|:] {{duration}}",
]
AGAIN_SUM = [
    ("then multiply by {}", "*"), ("then times {}", "*"), ("then minus {}", "-"), ("then add {}", "+"), ("add {} more", "+"), ("and minus {}", "-"), ("now divide by {}", "/"), ("now subtract {}", "-"), ("now multiply by {}", "*"), ("multiply the result by {}", "*"),
    ("the result plus {}", "+"), ("divide the result by {}", "/"), ("{} more", "+"), ("{} less", "-"), ("take {} off", "-"), ("raise it to {}", "^"), ("+ {}", "+"), ("* {}", "*"), ("- {}", "-"), ("/ {}", "/"), ("what if I add {}", "+"), ("what if I multiply it by {}", "*"),
    ("subtract {} from that", "-"), ("plus another {}", "+"), ("times {} please", "*"), ("minus {} please", "-"), ("plus {} now", "+"), ("times {} now", "*"), ("divided by {} now", "/"), ("also add {}", "+"), ("and then add {}", "+"), ("also subtract {}", "-"), ("and take away {} again", "-"),
    ("ok, plus {}", "+"), ("ok, times {}", "*"), ("ok, minus {}", "-"), ("please add {}", "+"), ("please subtract {}", "-"), ("and subtract {}", "-"), ("next, multiply by {}", "*"), ("add {} on top", "+"), ("that divided by {}", "/"),
]
UNSERVED = [
    "[who|where|why|how] [was|is|did|does|has|will] {person} [married|famous|die|arrive|live|work|late|here|coming|sleep|born]", "when [is|did|does|will] {person} [arrive|die|marry|leave|come|move|retire|graduate|visit us]", "how many [people|inhabitants|tourists|cars|streets|bridges|schools|churches|dogs|students] [are there|work|visit|are|drive|study] in {city}",
    "what[ is|'s] [new|going on|on the news|on TV|on the radio|for dinner|in the fridge|in the cinema|wrong with {thing}|the matter|inside the {thing}|new in {city}|the newest film|happening in {city}]", "[turn|put|bring|switch] [up|down|off|on] the [{word}|volume|lights|radio|fan|blinds|air conditioning|screen|music|heater]",
    "turn the [volume|lights|fan|blinds|radio|screen|{word}|heater] [up|down|off|on|low]", "[scroll|swipe|tap|click|type|press|zoom|go|jump|move|step] [up|left|right|back|forward|on it|out|to the top|to the end|to the next page|twice]", "[send|give|transfer|lend|donate|pay] [{person} {number}|{number}] [euros|dollars|pounds|yen][| to {person}]",
    "when [is|was|starts|begins] [my|the|our|your] [flight|birthday|exam|concert|lesson|train|delivery|holiday|wedding|match|dentist appointment|next flight|next lesson|first meeting|party]", "what [mountain|sea|country|state|lake|ocean] is {city} [in|near|close to|next to]", "[do|does|did|can|will|would|should|could] [{person}|my {thing}|the {thing}|the {word}] [like|love|know|eat|want|break|help|need|stop|win|come|fit|sell|hurt] [the {thing}|{thing}|me|{person}|it]",
    "[is|are] [the|my|this|that|{person}'s] {thing} [healthy|good|bad|safe|expensive|ripe|fresh|dead|broken|open|closed|clean|dirty|heavy|available|locked]", "[tell me|do you know|any idea|I wonder] [who|where|why] {person} [is|was|went|lives|left|called]", "tell me [about|something about|more about] [{thing}|{person}|{city}]",
    "[read|tell|give] me [the|a] [newspaper|headlines|horoscope|menu|rules|story of {person}|history of {city}]", "[I want|I'd like|bring me|fetch me|order me|make me|cook me] [a|some|two|the|my] {thing}", "[open|close|launch|stop|restart|install|uninstall|update] [the {word}|{word}|the app|my {thing}|the browser|the camera]",
    "[let's|let us|I want to] [play|dance|go to|talk about|watch|eat|sing] {thing}", "[spell|pronounce|rhyme with|define] {word}", "[delete|remove|erase|change|edit|rename|share|send|cancel] [my|the|that|this] [last |first |old |][note|notes|list|timer|timers]", "[is there|are there] [a|any|good|cheap] [bank|hotel|flights|trains|shops|restaurants|parking] [in|to|near|around] {city}",
    "[fix|clean|wash|paint|print|sell|repair|sharpen|cook|bake|feed|oil|order|draw|lock|scan|lift|heat|cut|break|build|charge|find|hide] [the|my|this|a|{person}'s] {thing}[| please| for {person}| {moment}]", "[how|why] [do|does|did|can|should] [I|we|you|they|{person}|people] [cook|clean|fix|grow|sell|paint|love|draw|lose|install|learn|win|eat] [the |a |]{thing}",
    "[which|what] [{word}|film|book|song|phone|wine|team|dress] [should I|do you|would you|can I] [buy|read|watch|like|recommend|choose|wear]", "[post|upload|share|tweet|publish] [the|my|a] [{word}|photo|story] [to|on|for] [{person}|the web|everyone|my page]", "[how old|how tall|how rich|how far|how big|how deep] is [{person}|{city}|the {thing}|the moon|my {thing}]",
    "[I am|I'm|we are] [so|very|too|a bit|] [hungry|tired|bored|sad|sick|cold|lost|happy|angry|late|lonely]", "[believe|love|hug|kiss|marry|forgive|help|follow|trust] [me|{person}|us]", "[what|who] [do|did] [you|they|{person}] [think of|like|say about|want from|buy for|eat with] [{thing}|{person}|me]",
]
INVENTED_NAMED = [
    "[where|and|so that|while|but|when] [the |our |my |]{w} [is|equals|has to be|must be|becomes|reads|says|will be|stays] {v}", "[put|write|enter|fill in|give|select|pick|choose|take|use|add|pass|I want|I need|{odd}] {v} [as|for|in|under|at] [the |]{w}",
    "[the |a |]{w} [of|is|equal to|should be|must be|has to be|will be|{odd}|->|=>|==|,|here is|stays] {v}", "[with|using|by|and|under|on|at|via|plus] [the |a |]{w} [of|set to|equal to|being set to|] {v}", "[choose|pick|select|take|use|want|enter] [the |]{w} {v}", "{v} [is|as|for|at|in] [the |our |my |]{w}",
]
# Words that join a name and a value in random sequences, because an unknown phrasing mostly consists of such words.
OPENING = (
    "[with|and|using|where|put|have|keep|get|take|give|choose|pick|fix|mark|say|then|also|plus|please|so that|this|that|my|our|your|their|his|her|some|any|while|when|but|by|under|on|at|via|per|about|concerning|regarding|given|considering|"
    "assuming|including|I'd like|I'll have|we need|I need|I want|I prefer|being|goes|might|would be|could|to|try|note|let us say|assign|adjust|declare|enter|write|type|specify|supply|state|name|if|because|until|like|only|just|exactly|now|first|finally|ok|well|and also|then comes|there is|here is|here's|it has|it needs|that has|which has|who has|to have|wanting|needing|showing|taking|giving|starting with|together with|along with|as well as|not forgetting|in case|once|whenever|suppose|expect|ensure|be sure|remember|see that|check that|mind|in|into|from|against|towards|through|within|across|over|of]"
)
JOINING = (
    "[is|are|was|were|as|at|of|to|equals|like|here|exactly|about|simply|just|reads|says|must be|can be|could be|may be|shall be|will be|stays|remains|becomes|gets|has|contains|its|whose|set|let|having|make|regards|with|being set at|on|in|by|from|under|around|near|currently|always|again|today|this time|only|maybe|perhaps|please|"
    "comes to|comes from|turns into|amounts to|ought to be|needs to be|has to be|has become|got|gives|takes|holds|keeps|shows|means|stands at|counts|starts at|points to|goes by|known as|called|labelled|marked|chosen as|given as|entered as|written as|put at|fixed at|kept at|will read|would read|used to be|if possible|namely|that is|precisely|actually|for now|->|:|=|-|==]"
)
BACKWARDS = "[as|for|is|are|in|into|under|on|at|to|of|about|becomes|remains|stays|will be|must be|can be|shall be|serves as|counts as|works as|acts as|fits|fills|belongs to|belongs in|stands for|is for|is our|is my|is what we call|describes|names|sets|makes|gives|regards|having|whose|its|let|again as|please as|just as|only as|now as|should be|has to be|is used as|is meant as|is taken as|is chosen for|is needed as|as far as|regarding|concerning|towards|within|being]"
CLAUSE = "[I'd choose|I would take|we chose|we'd go for|they need|she prefers|he asked for|I'm thinking of|I would suggest|we take|let me have|I settled on|we agreed on|note down|let's take|I'd rather have|you can take|they gave me|I was told|it says|I believe in|give it|we'll have|I'd go for|I would write|I hear|we were given|nobody minds|everyone likes|you will find|it came to|we ended up with]"
OPTIONAL_THE = "[|||the |my |our |your |this |that |their ]"
GLUED = [
    f"{OPENING} [|{OPENING} ]{OPTIONAL_THE}{{w}} {{v}}", f"{OPENING} [|{OPENING} ]{OPTIONAL_THE}{{w}} {JOINING} [||{JOINING} ]{{v}}", f"{OPTIONAL_THE}{{w}} {JOINING} [||{JOINING} ]{{v}}",
    f"{OPENING} {OPTIONAL_THE}{{w}}, [|||{CLAUSE} ]{{v}}", f"{OPENING} {OPTIONAL_THE}{{w}} {CLAUSE} {{v}}",
    f"[||{OPENING} ]{{v}} {BACKWARDS} [||{BACKWARDS} ]{OPTIONAL_THE}{{w}}", f"{OPENING} {{v}} {BACKWARDS} {OPTIONAL_THE}{{w}}",
]
HEAD_OPENING = (
    "[how|why|when|what if|if|that you|you|we|I|they|someone|people|should|could|might|must|may|can|want to|have to|love to|hope to|wish to|able to|nice of you to|good to|great if you|kind enough to|happy if you|glad when you|time for us to|job|task is to|your turn to|chance to|wonder whether you|think you should|suggest you|"
    "propose to|insist that you|remember to|don't forget to|mind|help to|begin to|manage to|care to|today|right away|at once|at last|as soon as you can|when you have a moment|if it's no trouble|be so kind and|be a dear and|hurry up and|go on and|get ready to|the plan is to|the idea is to|what I want is to|all I ask is that you|my wish is to|in order to]"
)
INVENTED_HEADS = [
    "[||please |someone |we should |you must |you have to |I'd love you to |make sure to |try and |I plan to |I am going to |I'd rather |now |you may |you can |we can ]{a} [the|a|my|our|one|this|that|some|every|] {o}", "[start|do|perform|make|request|begin|order|{odd}] [the|a|one] {o} {a}", "[my|the|this|our] {o} [needs a|wants a|is for the] {a}",
    "[do the right thing|make yourself useful|lend us a hand|be a good sport|make my day|take a minute|give it a try|do what you can|show me a kindness|save us some time|stay with me|have a heart|come along|do your best|sit down|keep calm|go over there|spare a moment|{odd} me a {odd}|{odd} up|{odd} {odd}] and {a} [the|a|my|that] {o}",
    "[do|run|call|use|start|try|execute|invoke] {n}[| now| please| once| again]", "{odd} [the|a|my] {o} {a}", "{o}[:|,] {a}[| it]", "{a}[:|,| now the] {o}", f"{HEAD_OPENING} [||{HEAD_OPENING} ]{{a}} [the|a|my|our|this|that|] {{o}}",
]
YES = ["make it {w}", "{w} please", "{w}: [true|on|enabled|yes]", "turn {w} on", "{w} is [true|on|wanted|yes]", "as {w}", "[should|must] be {w}", "with {w} on", "{w} = [true|yes|on]",
       "[by all means|certainly|definitely|naturally|absolutely|and do have|for sure] {w}", "[I'd like|we need|she wants|they asked for|have|keep] [it|this|them] {w}", "{w} [must|has to|ought to|can|may|will] be [on|set|in|true]", "see that it is {w}"]
NO = ["don't make it {w}", "{w}: [false|off|disabled|no]", "turn {w} off", "{w} is [false|off|not wanted|no]", "not as {w}", "[should|must] not be {w}", "with {w} off", "{w} = [false|no|off]", "never {w}",
      "[in no case|never ever|at no time|by no means|absolutely not|surely not|on no account|no need for] {w}", "[I'd rather not have|we don't need|she doesn't want|they refuse|don't keep] [it|this|them] {w}", "{w} [must|has to|ought to|can|may|will] be [off|unset|out|false]", "see that it is not {w}"]
