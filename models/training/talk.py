"""Small talk, and requests that no function serves."""

from . import composed, values
from .exchange import NO_FUNCTION, Exchange, courteous

ABILITIES = "I can tell the time, calculate, set timers, convert units and keep notes."
GREETING, WELCOME, FAREWELL = "Hello! What can I do for you?", "You're welcome.", "Goodbye!"
SMALL_TALK = [
    ("[hi|hello|hey|hello there|hi there|good morning|good evening|good afternoon|hiya|greetings|howdy|hey there|hello causerie|hi causerie|morning|good day|hello again|hi, how are you|hello you|hi friend|hey, causerie|good to meet you|nice to see you|pleased to meet you]", GREETING),
    ("[thanks|thank you|thanks a lot|thank you very much|many thanks|cheers|thx|great, thanks|ok thanks|perfect, thank you|thanks so much|thank you so much|nice, thanks|thanks for your help|thank you for that|thank you, bye|that's it, thanks|thanks again|much appreciated|I thank you|thanks, friend|[thanks|thank you], [that's|that was|it's|you are|this is] [good|fine|great|perfect|nice|enough|what I wanted|very kind|wonderful|lovely|so helpful]|[thanks|thank you] for [the help|your time|everything|this|doing that|the answer]|thank you, causerie]", WELCOME),
    ("[bye|goodbye|see you|see you later|good night|bye bye|that's all|that is all|farewell|see you tomorrow|ok bye|until later|see you on Monday|have a nice day|take care|have a good day|sleep well|talk soon|until tomorrow|speak later]", FAREWELL),
    ("[how are you|how are you doing|how is it going|how's it going|are you well|how do you do|all good|are you ok|how do you feel]", "I am well, thank you. What can I do for you?"),
    ("[ok|okay|great|good|nice|perfect|cool|fine|super|wonderful|excellent|very good|all right|good job|well done|you are great|I like you|awesome|that's good|well then|lovely|sounds good|got it|I see|very helpful|that helped|helpful, great]", "Glad to help."),
    ("[sorry|oops|my mistake|never mind|forget it|no|nothing|no thanks|cancel that|not now]", "No problem."),
]
WHO = "[who are you|what are you|what's your name|what is your name|are you a robot|are you human|do you have a name|tell me about yourself|who am I talking to|introduce yourself|are you a computer|are you an assistant|who is this|your name|who created you|who built you|what kind of assistant are you|what are you called|so what are you|what exactly is this|say who you are]"
WHAT = (
    "[what can you do|what do you do|help|help me|how can you help me|what are you able to do|what are you good at|what can I ask you|what can I ask|how do I use you|what are your functions|"
    "which functions do you have|what else can you do|can you help me|what things can you do|tell me what you can do|what do you know|how could you help|what are your abilities|in what ways can you help|what sort of things do you do|what could you do for me|what is possible here]"
)
UNSERVED = [  # requests that none of the shipped functions serves
    "[what's|what is|how is] the weather [today|tomorrow|like|in {city}|like in {city}|in {city} tomorrow]", "will it [rain|snow|be sunny|be cold|be windy] [today|tomorrow|in {city}|{moment}]", "[do I need|should I take] an umbrella[| today| tomorrow]",
    "[is it|how] [hot|cold|warm|sunny|windy] in {city}", "[show|give|tell] me the [weather|forecast] [for|in] {city}",
    "[play|start|put on|stop|pause] [some |the |]music", "play [some |]{word}[| music]", "play [a song|something] by {person}", "[skip this song|next song|play the next song|turn up the volume|louder|turn the volume down]",
    "[call|phone|ring|dial] {person}", "[send|write] [an email|a message|a text|a letter] to {person}", "[email|text|message] {person}[| about the {thing}| that I am late]", "[read|check|open|show] my [emails|mail|messages|inbox]",
    "[translate|say] {word} [to|into|in] [French|German|Spanish|Italian|Japanese|Chinese]", "how do you say {word} in [French|German|Spanish|Italian|Greek]", "what does {word} mean[| in English]",
    "[book|reserve|find|get me] [a|me a] [table|hotel|flight|taxi|room|ticket|train|car] [in|to|for|near] {city}", "[order|buy|get me|deliver] [a|some|the|two] {thing}", "[find|show me] [a|the nearest|a good] [restaurant|hotel|pharmacy|bank|cafe] in {city}",
    "[turn on|turn off|switch on|switch off|dim] the [lights|light|heating|{word}|tv|radio|lamp]", "[lock|unlock|open|close] the [door|{word}|window|garage]", "set the [temperature|thermostat|heating] to {number}[| degrees]",
    "[tell|give] me [a|another] [joke|story|riddle|poem|fact|secret]", "[write|sing|compose] [me a|a] [song|poem|story|essay|letter|speech][| about {word}| about {thing}]", "[make me laugh|sing something|tell me something funny|say something nice]",
    "who [is|was] [the president|{person}|the king|the author] of {city}", "who [wrote|invented|discovered|painted|won] [the |]{thing}", "what is the [capital|population|currency|language] of {city}", "how [far|big|old|tall] is {city}", "where is {city}",
    "[what is|what's] [a|the] {word}", "what is the [price|meaning|colour|history|name] of [the |]{thing}", "how much [does|is] [a|the] {thing} cost", "why is the [sky|{word}] [blue|green|cold|so big]", "how does [a|the] {word} work", "explain {thing}[| to me]", "define {word}",
    "[take|show|send|find|delete|edit] [a|the|my|this] [photo|picture|selfie|video|screenshot|file][| of {thing}| of {person}]", "[navigate|drive|directions|show the way|how do I get] to {city}", "[open|start|launch|close] the [{word}|camera|browser|calendar|map] app",
    "[what's|what is] [on my calendar|my schedule|the news|the score|in the news][| today| {moment}]", "add [a|the] [meeting|appointment|event] [with {person}|to my calendar|on my calendar|{moment}]", "[who won|what's the score of] the [game|match|{word} game]",
    "[search|google|look up|browse] [the web|the internet|online][| for {thing}]", "search for {thing}", "what's the [stock price|share price|exchange rate] of {word}", "[transfer|send|pay|lend] {number} [euros|dollars|pounds] to {person}", "what's my [balance|password|address|heart rate|location]",
    "[delete|remove|cancel|stop|erase|clear] [the|my|all|all my] [{word} timer|timers|timer|notes|last note|note about {thing}]", "[pause|resume|extend] the [timer|{word} timer]", "[wake me up|set an alarm] at {number}[| o'clock| in the morning]", "[where is|find] my [phone|car|{word}|keys]",
    "[share|print|download|upload|install|scan|encrypt] [the|this|my|a] {thing}", "[recommend|suggest] [a|me a] [film|book|recipe|{word}|present]", "[how do I|how can I] [cook|make|bake|fix|clean|build|draw] [a|the|some] {thing}", "[a recipe|give me a recipe] for {thing}",
    "[water|feed|clean|wash|paint|repair|move] the {thing}", "[summarise|summarize|correct|rewrite] [this|the] [text|article|{word}]", "[tell|ask] {person} [to come home|about the {thing}|that dinner is ready]", "[like|post|tweet|comment on] [this|the] {word}", "[vote for|follow] {person}",
    "[I am|I'm] [hungry|tired|bored|sad|sick|cold|lost]", "[do you|can you] [dance|swim|cook|drive|fly|see me|hear music]", "[roll|throw] [a|the] dice", "flip a coin", "pick a random [number|card|{word}]", "[draw|paint] [a|me a] {thing}", "what should I [eat|wear|do|read|cook|buy][| today| {moment}]",
]
UNSERVED += composed.UNSERVED * 2
GENERAL = [  # questions and remarks to decline, with any functions
    "[why|how] [is|are|does|do|did] [the sky|the moon|the sun|people|cats|dogs|birds|trees|stars|the sea|{word}|{person}] [blue|cold|so big|sleep|sing|shine|dream|fly|grow|move|laugh|different|sad]", "[who|what] [invented|discovered|wrote|painted|built|founded|caused|destroyed|won] [the |]{thing}",
    "[what|which] [is|was] [the biggest|the oldest|the best|the smallest|your favourite|the first|the most famous|the deepest] [{word}|animal|city|book|lake|colour|planet|tower|song]", "[explain|describe] [to me |][love|gravity|time|democracy|the internet|how {thing} works]",
    "[what do you think|tell me more|talk to me|tell me everything|what do you know] about [{thing}|{person}|love|life|{city}]", "[do|did|can|could|will|would] you [dance|swim|dream|sleep|eat|see me|feel pain|drive|lie|love me|have friends|like {thing}|remember {person}|know {person}]",
    "[I am|I'm|we are|she is|he is] [so |very |a bit |][hungry|tired|bored|sad|sick|lost|happy|angry|lonely|proud|afraid of {thing}|in love with {person}]", "[how old|how tall|how rich|how clever|how fast|how dangerous] [is|was|are] [{person}|the pope|a {word}|the universe|lions|the president]",
    "[write|make up|tell me|read me] [a|another] [poem|story|tale|haiku|fable|speech][| about {thing}| about {person}| for {person}]", "[give me|suggest|have you] [an idea|ideas|a tip|some advice] for [a {thing}|my {word}|{person}|a new {word}|tonight]",
    "[how|where] [do|can|could|should] I [learn to {word}|make friends|get rich|lose weight|stop smoking|find happiness|grow {word}|repair {thing}|get rid of {thing}]", "[should|may|must] I [buy|eat|trust|marry|keep|leave|believe] [{thing}|{person}|a {word}]",
    "[is|was|are] [{person}|{thing}|{word}|{city}|that] [dangerous|expensive|real|alive|dead|true|beautiful|older than {person}|bigger than {city}|poisonous]", "[it is|it's|today is] [cold|my birthday|boring|wonderful|a lovely day|so quiet here|Monday again]",
]
SYSTEM_NAMES = "You are {name}, [a|a small|a helpful|a friendly|a brief] assistant[| on this device| for {word}| of {person}]."


def small_talk(speaker, name="causerie", offered=()):
    roll = speaker.random.random()
    if roll < 0.2:
        return Exchange(courteous(speaker, speaker.expand(WHO), True), f"I am {name}, a small assistant on this device.")
    if roll < 0.4:
        abilities = ABILITIES if 7 == len(offered) and name == "causerie" else "I can call the functions I was given."
        return Exchange(courteous(speaker, speaker.expand(WHAT), True), abilities)
    pattern, reply = speaker.pick(SMALL_TALK)
    text = speaker.expand(pattern)
    if speaker.chance(0.5):
        text = text[0].upper() + text[1:] + speaker.pick(["", "", "!", "."])
    return Exchange(text, reply)


def unserved(speaker, patterns=UNSERVED):
    request = speaker.phrase(
        patterns, city=values.city(speaker), person=values.person(speaker), thing=values.thing(speaker), word=values.word(speaker),
        number=speaker.number(1, 100), moment=speaker.value(values.MOMENTS),
    )
    question = request.split()[0] in ("what", "what's", "who", "why", "how", "where", "will", "is", "do", "should")
    return Exchange(courteous(speaker, request, question), NO_FUNCTION)
