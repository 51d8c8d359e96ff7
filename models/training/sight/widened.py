"""Training phrasings of questions about pictures, made of exchangeable parts: most of these patterns have hundreds of readings.

`{noun}` and `{nouns}` are general words for what is seen. Readings that a held-out list has, too, are not asked, see `questions.py`.
"""

NOUNS = "shape shape shape shape figure figure thing thing object object form symbol item element drawing design icon sketch image".split()
NOUN_PHRASES = ["geometric shape", "geometric figure", "drawn shape", "coloured shape", "painted figure", "single shape", "little figure", "big shape", "drawn object"]
PLURALS = "shapes shapes shapes things objects figures figures forms symbols items elements drawings designs icons".split()

DRAWN = "[drawn|shown|painted|displayed|depicted|pictured|visible|presented|illustrated|sketched|printed|placed]"
PICTURE = "[picture|picture|image|image|photo|drawing|graphic|illustration|photograph|screenshot|scan|page|file|pic]"
HERE = f"[||||| here| in the {PICTURE}| in this {PICTURE}| on the page| on this page| on the screen| I sent you| I am showing you]"
COLOUR = "[colour|colour|color]"
ASK = (
    "[[can|could|would|will] you [please |][tell me|say|name|find out|see|check|describe|identify|work out|let me know]|[please |][tell me|say|find out|check|let me know|describe|identify|report]|"
    "[I want|I need|I would like|I'd love|we want|he wants|she would like] to [know|learn|hear|find out|see]|[I wonder|I was wondering|I can't see|I can't make out|I forgot|I'm not sure|nobody told me|guess|my son asks|any idea|have you noticed]]"
)
OPEN = "[||||||look closely: |question: |one question: |ok, |hey, |hello, |well, |now |so |quick one: |as for this picture, |according to the picture, |from what you see, ]"
END = "[?|?|?||, please|, please?|, thanks]"

COLOUR_OF = [  # {one}: the thing that is asked about, with its article
    f"{OPEN}[what|which] {COLOUR} is {{one}}{HERE}{END}", f"{OPEN}what[ is|'s] the {COLOUR} of {{one}}{HERE}{END}", f"{OPEN}[what|which] {COLOUR} does {{one}} [show|come in|carry|wear]{HERE}{END}",
    f"{ASK} [what|which] {COLOUR} {{one}} [is|is drawn in|is painted in|was given|comes in|is filled with]{HERE}[.|]", f"{ASK} the {COLOUR} of {{one}}{HERE}[.|]",
    f"{{one}}{HERE}[,|:|...] [what|which] {COLOUR}[ is it|]{END}", f"in [what|which] {COLOUR} [did [they|somebody|the artist] [draw|paint|fill|print]|do you see|would you paint|would one paint] {{one}}{END}",
    f"[what|which] {COLOUR} [did [they|somebody|the artist|my kid|she] [paint|give|fill|choose for|pick for|take for]|would you give|should I call] {{one}}{HERE}{END}", f"[give|send|get|hand] me the {COLOUR} of {{one}}{HERE}[, please|.|]", f"{COLOUR} of {{one}}{HERE}{END}",
    f"how would you describe the {COLOUR} of {{one}}{HERE}{END}", f"[identify|name|state|report|determine|find|recognise] the {COLOUR} of {{one}}{HERE}[.|, please|]", f"{{one}} [is|was|has been] {DRAWN} in [what|which] {COLOUR}{END}",
    f"[what|which] {COLOUR} do you [see|find|notice] [on|for] {{one}}{END}", f"how is {{one}} [coloured|painted|tinted]{HERE}{END}", f"{{one}} has [what|which] {COLOUR}{END}", f"[what|which] {COLOUR} has {{one}}{HERE}{END}",
]
SHAPE_OF = [  # the shape of a thing, {one}
    f"{OPEN}[what|which] [shape|form] is {{one}}{HERE}{END}", f"{OPEN}what[ is|'s] the [shape|form|outline] of {{one}}{HERE}{END}", f"{OPEN}[what|which] [shape|form|outline] [does {{one}} have|has {{one}}]{HERE}{END}",
    f"{ASK} [what|which] [shape|form] {{one}} [has|is|takes]{HERE}[.|]", f"{ASK} what {{one}} is{HERE}[.|]", f"what[ is|'s] {{one}}{HERE}{END}", f"{{one}}{HERE}[,|:] what [shape|is it|form|shape is it|do you call it]{END}",
    f"[give|send|get] me the [shape|form] of {{one}}{HERE}[, please|.|]", f"[shape|form] of {{one}}{HERE}{END}", f"[identify|name|state|report|determine|find|recognise] {{one}}{HERE}[.|, please|]", f"what would you call {{one}}{HERE}{END}", f"is {{one}} a [circle|square|triangle|star|heart|cross] or [a|rather a|maybe a] [heart|cross|star|triangle|square|circle]{END}",
    f"{{one}} [is|was|has been] {DRAWN} as [what|which shape]{END}", f"how is {{one}} shaped{END}", f"what does {{one}} look like{END}", f"what could {{one}} be{HERE}{END}",
]
ALONE_SHAPE = [  # the shape of the only thing
    f"{OPEN}[what|which] {{noun}} [is|was|has been] {DRAWN}{HERE}{END}", f"{OPEN}[what|which] {{noun}} [can you [see|make out|find|recognise]|is there|is visible|do we have|did I draw|did she draw|does it show|does it contain]{HERE}{END}",
    f"{OPEN}[what|which] [kind|sort|type] of {{noun}} [is|was|has been] [{DRAWN} |]{HERE}{END}", f"{OPEN}[what|which] [kind|sort|type] of {{noun}} [can you see|is it|is that|is this|do you see|do we have]{HERE}{END}",
    f"{ASK} [what|which] {{noun}} [this is|it is|that is|is {DRAWN}|is there|you see|the {PICTURE} shows|we have]{HERE}[.|]", f"[name|identify|recognise|determine] the {{noun}}{HERE}[, please|.|]", f"[what|which] {{noun}} does [the|this] {PICTURE} [show|contain|have|depict|display]{END}",
    f"what is the name of [the|this] {{noun}}{HERE}{END}", f"[what|which] {{noun}} is in [the|this] {PICTURE}{END}", f"there is a {{noun}}{HERE}[. What is it|. Which one|, which is it|: which one is it]{END}", f"this {PICTURE} [shows|has|contains] [which|what] {{noun}}{END}", f"[somebody|my son|my daughter|she|he] [drew|painted|sketched] a {{noun}}[.|,] [which one|what is it|which is it]{END}",
    f"what[ is|'s] the {{noun}} called{HERE}{END}", f"what [is|was] [it|this|that] that [was|is] {DRAWN}{HERE}{END}", f"what is {DRAWN}{HERE}{END}", f"which one of the shapes is {DRAWN}{HERE}{END}",
]
WHERE = [
    f"{OPEN}where [is|can I see|do you see|did they [draw|put|paint]|should I look for] {{one}}{HERE}{END}", f"{ASK} where {{one}} [is|lies|sits|stands|has been drawn|is placed|is located]{HERE}[.|]",
    f"[at|in|on] [which|what] [side|part|corner|area|region] of the {PICTURE} is {{one}}{END}", f"what[ is|'s] the [position|place|location|spot] of {{one}}{HERE}{END}", f"{{one}}{HERE}[,|:] where[ is it|]{END}", f"[find|locate|look for|show me|point at|search for] {{one}}{HERE}[ and tell me where it is|, please|.|]",
    f"is {{one}} [at the top|on the left|on the right|in the middle|at the bottom] or [somewhere else|at the bottom|on the left|in a corner]{END}", f"how [far up|far down|high up|far left] is {{one}}[, roughly|]{END}",
]
COUNT = [
    f"{OPEN}how many {{these}} [are|were|have been] [{DRAWN}|there|in it|to be seen]{HERE}{END}", f"{OPEN}how many {{these}} [can you [see|find|count|make out|detect]|do we have|are in sight|did I draw|do you find|does this {PICTURE} contain]{HERE}{END}",
    f"{ASK} how many {{these}} [are {DRAWN}|there are|you see|it has|we have|the {PICTURE} shows]{HERE}[.|]", f"[count|add up|number] [the|all|all the|all of the|every one of the] {{these}}{HERE}[, please|.|]", f"{ASK} the number of {{these}}{HERE}[.|]",
    f"what[ is|'s] the [number|total|amount|quantity|total number] of {{these}}{HERE}{END}", f"{{these}}{HERE}[,|:] [how many|the number|what number][ are there|]{END}", f"[number|amount|quantity|total] of {{these}}{HERE}{END}", f"how [large|great|big] is the number of {{these}}{HERE}{END}",
]
EXISTS = [
    f"{OPEN}[is|was] a {{one}} [{DRAWN}|to be seen|to be found|in there|part of it]{HERE}{END}", f"{OPEN}[can|could|do|did] you [see|find|detect|discover|make out|recognise|spot] a {{one}}{HERE}{END}", f"{ASK} [if|whether] [there is a {{one}}|a {{one}} is {DRAWN}|you see a {{one}}|it has a {{one}}]{HERE}[.|]",
    f"does [the|this|that] {PICTURE} [show|have|contain|include|feature|depict] a {{one}}{END}", f"are there {{these}}{HERE}{END}", f"[is there|do we have|do you see] [any|some|one or more] {{these}}{HERE}{END}".replace("is there|", ""), f"a {{one}}{HERE}[,|:] yes or no{END}", f"[was|is] there a {{one}}{HERE} or not{END}",
]
DESCRIBE = [
    f"{OPEN}what [can be seen|can you see|do you see|is there|is visible|is {DRAWN}|has been {DRAWN}|do we have|are you looking at]{HERE}{END}", f"{ASK} what [is {DRAWN}|you see|there is|this {PICTURE} contains|is there]{HERE}[.|]", f"[describe|explain|list|name|report|summarise] [everything|what is there|what you see|all {{nouns}}|the {{nouns}}|all that is {DRAWN}]{HERE}[, please|.|]",
    f"[what|which] {{nouns}} [are|were|have been] {DRAWN}{HERE}{END}", f"[what|which] {{nouns}} [are there|can you see|do you see|do we have|does the {PICTURE} show|does this {PICTURE} contain]{HERE}{END}", f"what does [the|this|that] {PICTURE} [show|contain|have|depict|display]{END}", f"what[ is|'s] [on|in] [the|this|that] {PICTURE}{END}", f"[describe|explain] [the|this] {PICTURE}[ to me| for me| in words|][, please|.|]",
]
WORD = [
    f"{OPEN}[what|which] [word|text] [is|was|has been] [written|printed|shown|displayed|noted]{HERE}{END}", f"{OPEN}what does [the|this|that] [text|word|writing|sign|label|caption|note|sheet|paper|lettering] [say|read|tell us]{HERE}{END}", f"{ASK} what [is written|it says|the text says|the word is|the writing says|stands there]{HERE}[.|]",
    f"[read|read out|type out|transcribe|spell|recite] [the|this] [text|word|writing|sign|label|caption|note|lettering]{HERE}[ to me| for me|][, please|.|]", f"what[ is|'s] [written|printed|the text|the word|the writing|the caption]{HERE}{END}", f"what [stands|is to be read|can be read|can you read|do the letters say]{HERE}{END}",
]
NUMBER = [
    f"{OPEN}[what|which] [number|digit] [is|was|has been] [written|printed|shown|displayed]{HERE}{END}", f"{ASK} [what|which] [number|digit] [it is|is written|is shown|you see|that is]{HERE}[.|]", f"what[ is|'s] the [number|digit]{HERE}{END}", f"[read|tell me|name|type out|report] the [number|digit]{HERE}[, please|.|]", f"[what|which] [number|digit] [can you see|do you read|do we have|is there]{HERE}{END}",
]
CHART = "[chart|graph|diagram|bar chart|picture|image|plot]"


def superlative(words):
    return [
        f"{OPEN}[which|what] bar [is|looks] the [{words}]{END}", f"{ASK} which bar is the [{words}][ in the {CHART}|][.|]", f"[find|name|identify|show me|pick] the [{words}] bar[ in the {CHART}|][, please|.|]",
        f"what {COLOUR} [is|does] the [{words}] bar{END}".replace("[is|does]", "is"), f"the [{words}] bar[ in the {CHART}| here|][,|:] which [one|is it|{COLOUR}]{END}", f"which of [the|these|all the] bars [is|looks] [{words}][ in the {CHART}|]{END}",
    ]


BARS = [f"{OPEN}how many bars [are {DRAWN}|are there|can you see|can you count|do we have|are in the {CHART}|are in this {CHART}]{HERE}{END}", f"{ASK} how many bars [there are|the {CHART} has|you see|are {DRAWN}][.|]", f"[count|add up] [all bars|all the bars|the bars|every bar] [in|of] [the|this] {CHART}[, please|.|]", f"what[ is|'s] the [number|amount|total] of bars[ in the {CHART}| in this {CHART}| here]{END}", f"[number|amount] of bars[ in the {CHART}| here|]{END}"]
THING = "[one|one|thing|thing|object|figure|shape|item|symbol|form|element|drawing]"
IS_COLOUR = [f"{OPEN}[is|was] the {{shape}} {{colour}}{HERE}{END}", f"{ASK} [if|whether] the {{shape}} is {{colour}}{HERE}[.|]", f"the {{shape}} is {{colour}}[, right|, isn't it|, correct|, yes or no|, true or false]?", f"is it true that the {{shape}} is {{colour}}{END}", f"is the {COLOUR} of the {{shape}} {{colour}}{END}", f"do you see a {{colour}} or another {COLOUR} on the {{shape}}{END}".replace("a {colour}", "{colour}")]
IS_SHAPE = [f"{OPEN}[is|was] the {{colour}} {THING} a {{one}}{HERE}{END}", f"{ASK} [if|whether] the {{colour}} {THING} is a {{one}}{HERE}[.|]", f"the {{colour}} {THING} is a {{one}}[, right|, isn't it|, correct|, yes or no|, true or false]?", f"is it true that the {{colour}} {THING} is a {{one}}{END}", f"does the {{colour}} {THING} have the [shape|form] of a {{one}}{END}"]


def about(patterns, *names):
    """The patterns with these names in the place of `{one}`."""
    return [pattern.replace("{one}", name) for pattern in patterns for name in names]


ALONE = ("the {noun}", "the {noun}", "this {noun}", "that {noun}", "it", "the only {noun}", "the {noun} that you see", "what you see")
WIDENED = {
    "colour": about(COLOUR_OF, "the {shape}", "this {shape}", "that {shape}"),
    "shape": about(SHAPE_OF, f"the {{colour}} {THING}", f"this {{colour}} {THING}", f"the {THING} in {{colour}}", f"the {THING} that is {{colour}}"),
    "where": about(WHERE, "the {one}", "this {one}"), "count": COUNT, "exists": EXISTS, "describe": DESCRIBE, "word": WORD, "number": NUMBER,
    "tallest": superlative("tallest|highest|biggest|longest|largest"), "shortest": superlative("shortest|lowest|smallest|least high|tiniest"), "bars": BARS,
    "alone, colour": about(COLOUR_OF, *ALONE), "alone, shape": ALONE_SHAPE + about(SHAPE_OF, *ALONE[:4]), "alone, where": about(WHERE, *ALONE),
    "things": COUNT, "is it, colour": IS_COLOUR, "is it, shape": IS_SHAPE,
}
