"""Requests that no function serves, in the variety in which people type them: questions of knowledge, chat, code, mathematics, other
languages, pictures that are not there, nonsense, insults, single words and long stories.

Some long stories end with a request for a function, so that their length alone means nothing.
"""

import functools
import json
import re

from . import values
from .prompt import HERE

TOPIC = (
    "[gravity|inflation|the Roman Empire|evolution|democracy|jazz|volcanoes|black holes|the immune system|vaccines|the stock market|magnetism|chess|the Middle Ages|rainbows|coral reefs|electric cars|Buddhism|the Cold War|opera|the human brain|bees|"
    "nuclear power|dinosaurs|the Olympic Games|climate change|the United Nations|whales|dreams|blood pressure|the printing press|pyramids|tides|sleep|wine|football|poker|yoga|impressionism|quantum physics|taxes|the moon landing|thunder|earthquakes|diabetes|the Vikings|glass|sugar|{thing}|{word}]"
)
PLACE = "[France|Japan|Canada|Egypt|Peru|India|Norway|Kenya|Poland|Iceland|Cuba|Turkey|Spain|Vietnam|Chile|Finland|Nigeria|Greece|Austria|Europe|Asia|Africa|South America|{city}|{city}]"
WORK = "[Hamlet|the Mona Lisa|War and Peace|the Ninth Symphony|Faust|the telephone|penicillin|the light bulb|the bicycle|Swan Lake|Moby Dick|dynamite|the steam engine|the World Wide Web|The Magic Flute|the piano|the zip|{thing}]"
ANIMAL = "[elephants|penguins|spiders|sharks|owls|snakes|ants|horses|dolphins|bats|frogs|camels|cats|dogs|wolves|octopuses|giraffes|parrots]"
KNOWLEDGE = [
    "[explain|describe|summarise|outline] {TOPIC}[| to me| in one sentence| in simple words| briefly| for beginners| like I'm five]", "[what|how] [do you know|can you tell me|should I know] about {TOPIC}", "[tell|teach] me [something|everything|more|a bit|a fact|three things] about {TOPIC}", "what [is|was|causes|started|ended] {TOPIC}", "how [does|did|do|is|was] {TOPIC} [work|begin|end|develop|made|look|change the world]",
    "[what|which] [is|was] the [capital|population|currency|flag|national dish|largest city|highest mountain|longest river|official language|president|king|history|climate|area] of {PLACE}", "[what|which] [language|languages|religion|currency] do [people|they] [speak|have|use] in {PLACE}", "[where|how big|how old|how far|how rich] is {PLACE}", "[name|list|give me] [two|three|four|five|some|ten] [rivers|cities|mountains|lakes|writers|kings|painters|islands|animals|dishes|composers] [of|in|from] {PLACE}",
    "who [wrote|invented|painted|composed|discovered|built|directed|sang|designed|made] {WORK}[| and when| and why]", "when [was|did somebody] [{WORK} [made|invented|written|finished|discovered]|[invent|write] {WORK}]", "in [which|what] [year|century|country] [was|did] [{WORK}|the war|the first train|Mozart|Napoleon|Cleopatra|Einstein|the revolution] [born|begin|end|made|invented|die]",
    "who [was|is] [the first|the second|the youngest|the last|the current|the most famous|the richest] [king|queen|president|astronaut|woman in space|man on the moon|emperor|pope|prime minister|doctor|pilot|chess champion][| of the world| in history| of {PLACE}]", "[do|can|why do|how do|how long do|when do|where do] {ANIMAL} [sleep|swim|fly|live|eat|see|hunt|sing|dream|talk|sweat|fight|migrate|breathe]", "how [fast|heavy|big|old|tall|clever|dangerous|loud] are {ANIMAL}",
    "[is|are] [a banana a berry|the earth round|glass a liquid|sharks fish|Pluto a planet|whales mammals|a peanut a nut|coffee healthy|chocolate good for dogs|the universe infinite|lightning hot|mushrooms plants|eggs dairy|diamonds rare|bats blind|gold magnetic]", "[why|how] [is|are|does|do] [the sea salty|the sky blue|grass green|ice float|cats purr|people yawn|planes fly|stars twinkle|leaves fall|onions make us cry|we dream|bread rise|magnets work|batteries die|the moon shine|snow white|soap clean|hair turn grey]",
    "what does [the word |the phrase |][{word}|'{word}'|ubiquitous|ephemeral|'break a leg'|laconic|zeitgeist|entropy|carpe diem] mean", "[which|what] is [bigger|heavier|older|faster|better|healthier|more expensive|stronger|further], [a|the] {word} or [a|the] {word}", "how [deep|hot|cold|old|big|far|heavy|bright] is the [sea|sun|moon|earth|universe|Pacific|desert|Milky Way|North Pole|planet Mars|ocean]", "how many [bones|planets|countries|teeth|legs|strings|keys|players|languages|states|oceans|bees|stars] [are there|does a {word} have|are in the world|does a human have|are in the sky]",
    "[what|who] is your [favourite|best] [{word}|book|colour|song|food|film|animal|number|friend|team|poem]", "what's the difference between [a|the] {word} and [a|the] {word}",
]
CHAT = [
    "I [had|am having] [a terrible|a wonderful|an awful|a long|a strange|the best|such a bad] [day|week|morning|evening|year|dream|fight with {person}|meeting|holiday|birthday][|!|...]", "[my|our] [dog|cat|grandmother|friend|boss|neighbour|team|sister|teacher|son] [died|left|is angry with me|won|is ill|got married|moved away|made me cry|forgot my birthday|is so funny|hates me|snores][| yesterday| again| and I don't know what to do| and I'm so proud|!]",
    "[guess what|you know what|listen|oh no|hooray|wow|finally|oh my god]{w0}", "[do|can|did|will|would] you [ever |sometimes |really |][get lonely|get bored|sleep|feel joy|have feelings|keep a secret|love somebody|have dreams|think|get tired|have a family|eat|play chess|remember me|like music|believe in ghosts|have a soul|laugh|miss me|understand me]",
    "[let's|can we|shall we|do you want to|I want to] [play [a game|chess|hide and seek|cards|a quiz|a word game|hangman]|talk[| about {thing}| about life| a bit]|sing together|be friends|go out|tell stories|chat|dance|watch a film|have a coffee]", "I [feel|am|'m] [so |a bit |really |very |][sad|happy|lonely|nervous|stressed|in love|angry|bored|excited|ill|confused|ashamed|hungry|homesick|jealous|worried about {person}][|!| today| right now| all the time]",
    "[you|you really|you always] [remind me of|sound like|look like|are like|talk like] [{person}|my mother|a robot|my uncle|an old friend|a parrot]", "[what|how] [would|do] you [do with a million|feel about {person}|feel today|think of me|spend your weekend|like to be called|say to {person}|think about {thing}]", "[say|tell me|write] something [nice|funny|sweet|clever|romantic|rude|sad|interesting][| about {person}| about my {word}| to me]", "are you [smarter|older|faster|nicer|funnier|better] than [me|{person}|a human|my phone|a {word}|other assistants]",
    "[should|shall|may] I [call {person} back|break up with {person}|buy a {word}|quit my job|move to {city}|get a {word}|cut my hair|learn {word}|go to the party|tell {person} the truth]", "[give|tell] me [some advice|your opinion|a compliment|a reason|a hint|a riddle|a joke|a story|an idea|a recipe|a tip|a quote|a poem][| about {thing}| about {person}| for {person}| please]", "[help|save|comfort|entertain|surprise|cheer] me[| up| please|, I'm so sad|, {person} is mad at me]", "[hugs|kisses|haha|lol|yay|ouch|ugh|sigh|meh|yawn|brr|wow|aha][| {person}|!|!!|...]",
]
LANGUAGE = "[Python|JavaScript|Java|Rust|C++|Go|SQL|Ruby|Swift|HTML|bash|Kotlin|PHP|TypeScript|CSS]"
CODE = [
    "[write|give me|show me|make|generate|code] [a|an|the|me a] {LANGUAGE} [function|program|script|class|loop|query|example|snippet|test] [that|which|to] [sort|sorts|count|counts|prints|print|reads|read|parses|parse|removes|finds|checks|reverse|sum] [a list|a file|words|duplicates|numbers|JSON|the lines|{thing}|an array|a tree]",
    "[how|why] [do I|can I|does one|would you] [sort a list|read a file|open a socket|write a loop|install a package|make a class|parse JSON|declare a variable|delete a branch|merge two branches|center a div|test this|fix this bug|call an API] in {LANGUAGE}", "[is|why is] {LANGUAGE} [faster|better|older|easier|more popular|safer] than {LANGUAGE}", "[translate|convert|port|rewrite|refactor] [this|my] [code|function|program|script|class][| from {LANGUAGE}] to {LANGUAGE}",
    "[fix|debug|explain|review|what does this do|why does this fail|run|correct|optimise][:|] [for {word} in {word}: print({word})|def {word}({word}): return {word}|print('{word}'|if ({word} == {number}) return|while True: pass|let {word} = {number};|SELECT {word} FROM {word};|git push --force|rm -rf {word}|import {word}|{word}.map(x => x * {number})|console.log({word})|docker run {word}|npm install {word}|int main() { return {number}; }|<div>{word}</div>|sudo apt install {word}]",
    "[my|the|our] [program|script|app|server|build|test|database|website|code|compiler] [crashes|is slow|doesn't compile|hangs|prints nothing|fails|throws an exception|shows an error|runs out of memory][| when I start it| on Monday|, any ideas|, what can I do|, help]", "[what|explain what] [is|does] [a pointer|recursion|a closure|git rebase|an API|a mutex|a null pointer|Docker|a foreign key|a stack overflow|polymorphism|the command {word}|regular expressions|a hash table|big O]", "[give me|write|I need] a [regex|regular expression|shell command|makefile|unit test|query|config file|Dockerfile] [for|that matches|to find] [{thing}|e-mail addresses|phone numbers|dates|empty lines]",
]
MATHS = [
    "[solve|solve for x|find x][:|] {number}x [+|-] {number} = {number}", "[solve|solve for x|roots of][:|] x^2 [+|-] {number}x [+|-] {number} = 0[| please]", "[what is|find|compute|give me|differentiate][| the derivative of| the integral of| the limit of] [sin(x)|cos(x)|x^{number}|ln(x)|e^x|tan(x)|x * sin(x)|1/x][| from 0 to {number}| with respect to x]", "[integrate|differentiate|factor|factorise|simplify|plot|draw|expand] [x^2 - {number}|(x + {number})^2|a^2 - b^2|sin(x)|y = x^2|{number}x + {number}y|e^x|the function f(x) = {number}x]",
    "[prove|show|is it true|explain why] [that |]the [square root of 2 is irrational|primes never end|angles of a triangle add up to 180 degrees|sum of two odd numbers is even|set of real numbers is uncountable]", "is {number} [a prime|prime|a prime number|even|odd|a square number|divisible by {number}]", "[what|how big] is the [probability|chance] [of|to] [rolling a six|winning the lottery|throwing heads|drawing an ace|rain][| twice| {number} times in a row]",
    "[what are the|list the|find the] [prime factors|divisors|multiples|digits] of {number}", "[what is|explain|define|state] [the Pythagorean theorem|Fermat's last theorem|a matrix|an eigenvalue|a logarithm|pi to {number} digits|the golden ratio|a vector space|infinity|the next number in {number}, {number}, {number}]", "[solve|do] my [maths|algebra|geometry|statistics] [homework|exam|problems][| for me| please]",
]
FOREIGN = [  # in eleven languages
    "[Wie|Was|Wo|Wer|Wann|Warum] [ist|war|macht|kostet|heißt] [das Wetter|der Film|mein Bruder|die Hauptstadt von Polen|das|ein Hund|die Zeitung|deine Farbe|das Spiel|der Kaiser][| heute| morgen| in Berlin]?", "[Kannst du|Könnten Sie|Ich möchte|Bitte|Hilf mir,] [mir ein Lied singen|eine Pizza bestellen|einen Brief schreiben|das Licht ausmachen|mit mir reden|den Text übersetzen|ein Hotel finden][|.|?]", "[Erzähl|Sag|Schreib|Zeig] mir [etwas|eine Geschichte|ein Gedicht|was du weißt|dein Geheimnis|ein Bild]", "[Guten Morgen|Hallo|Ich bin müde|Das ist schön|Ich liebe dich|Mir ist langweilig|Wie geht es dir|Bis später], [mein Freund|du Computer|wie geht's|alles gut]?",
    "[¿Qué|¿Cuál|¿Cómo|¿Dónde|¿Quién|¿Por qué] [es|está|fue|hay] [el tiempo|la capital de Chile|tu nombre|mi hermano|la película|el perro|el libro|tu color favorito][| hoy| mañana| en Madrid]?", "[Cuéntame|Dime|Escríbeme|Quiero|Necesito|Puedes buscar] [un chiste|una historia|un poema|algo bonito|una receta|un hotel|la verdad]", "[Buenos días|Hola|Estoy cansado|Te quiero|No entiendo nada], [amigo|¿cómo estás|qué tal|gracias]",
    "[Quel|Quelle|Comment|Où|Qui|Pourquoi] [est|était|va|fait] [le temps|la capitale du Japon|ton nom|mon frère|le film|le chat|la plus grande ville][| aujourd'hui| demain| à Paris] ?", "[Raconte-moi|Dis-moi|Écris-moi|Je veux|Je voudrais|Peux-tu trouver] [une histoire|une blague|un poème|quelque chose|une recette|un restaurant|la vérité]", "[Bonjour|Salut|Je suis triste|Je t'aime|Je ne comprends pas], [mon ami|ça va|comment vas-tu|merci] ?",
    "[Qual è|Dov'è|Chi è|Com'è|Perché] [il tempo|la capitale della Spagna|il tuo nome|mio fratello|il film|il gatto][| oggi| domani| a Roma]?", "[Raccontami|Dimmi|Scrivimi|Voglio|Vorrei] [una storia|una barzelletta|una poesia|qualcosa|una ricetta]", "[Qual é|Onde está|Quem é|Como está] [o tempo|a capital de Angola|o seu nome|meu irmão|o gato][| hoje| amanhã]?", "[Me conta|Escreva|Quero|Preciso de] [uma piada|uma história|um poema|ajuda|uma receita]",
    "[Wat|Waar|Wie|Waarom|Hoe] is [het weer|de hoofdstad van België|je naam|mijn broer|de film|de hond][| vandaag| morgen]?", "[Vertel|Schrijf|Geef] me [een grap|een verhaal|een gedicht|een recept]", "[Vad|Var|Vem|Hur|Varför] är [vädret|huvudstaden i Norge|ditt namn|min bror|filmen][| idag| imorgon]?", "[Berätta|Skriv|Ge mig] [en historia|ett skämt|en dikt|ett recept]", "[Jaka|Gdzie|Kto|Jak|Dlaczego] jest [pogoda|stolica Francji|twoje imię|mój brat|film][| dzisiaj| jutro]?", "[Opowiedz|Napisz|Daj] mi [żart|historię|wiersz|przepis]",
    "[Какая|Где|Кто|Почему|Когда] [погода|столица Китая|твой друг|мой брат|этот фильм][| сегодня| завтра]?", "[Расскажи|Напиши|Скажи|Найди] [мне |][сказку|шутку|стихи|правду|рецепт]", "[今日|明日|東京|日本][は|の]['|][天気|映画|ニュース|首都|料理][は何ですか|を教えて|はどう]？".replace("['|]", ""), "[こんにちは|元気ですか|ありがとう|助けて|歌って|遊ぼう]。", "[你好|请|我想|你能|告诉我][写一首诗|讲一个故事|天气|吃饭|唱歌|帮我|中国的首都]？", "[오늘|내일|서울] [날씨|영화|음식] [어때|알려줘|뭐야]?", "[ما هو|أين|من هو|كيف] [الطقس|اسمك|أخي|الكتاب][| اليوم]؟", "[मौसम|आपका नाम|राजधानी|कहानी] [क्या है|बताओ|सुनाओ]?", "[Hava|Adın|Başkent|Film] [nasıl|ne|nerede|kim][| bugün| yarın]?", "[Bana|Lütfen] [bir hikaye anlat|şarkı söyle|yardım et|bir şiir yaz]",
]
PICTURES = [
    "[what|which] [colour|shape|animal|person|word|number|thing] [is|can you see|do you see] [in|on] [the|this|my] [picture|photo|image|drawing|screenshot|attachment]", "[what|who] is [that|this|the man|the woman|the child|the dog|it] [on|in] [the|this|my|her] [picture|photo|image|selfie|painting]", "[describe|read|look at|check|analyse|open|zoom into|explain|caption|rate] [the|this|my|that|the attached] [picture|photo|image|drawing|screenshot|scan|selfie|chart]", "[crop|rotate|resize|brighten|sharpen|edit|colour|blur|retouch|print|post] [the|this|my|that] [picture|photo|image|selfie|portrait|screenshot][| please| a bit| to a square| for me]",
    "[draw|paint|generate|create|make|sketch|imagine] [a|me a] [picture|photo|image|drawing|portrait|logo|cartoon|poster] [of|with|for] [a {word}|{person}|{thing}|a sunset|a cat with a hat|a castle|my {word}]", "how many [people|shapes|circles|dogs|cars|trees|faces] [are|do you see] [in|on] [the|this|my] [picture|photo|image|drawing]", "[turn|make|change] [this|the|my] [photo|picture|selfie|drawing] into [a cartoon|a painting|a sketch|a {word}|black and white]", "[can you|do you] [see|recognise|like|read] [my handwriting|this photo|my drawing|my face|this sign|the picture I sent|what I drew|me]",
]
RUDE = [
    "[you|you really|wow, you] are [so |really |such |completely |][stupid|useless|dumb|an idiot|slow|a joke|the worst|boring|annoying|a disgrace|hopeless|rubbish|ugly|a waste of time][|!|!!!]", "[shut up|go away|get lost|stop it|be quiet|leave me alone|go to hell|drop dead][|!|, you idiot|, stupid machine|, robot|, please]", "[I hate|I can't stand|I am sick of|I'm done with|to hell with|screw] [you|this|this app|this assistant|your answers|talking to you|all this|machines]", "[why are you so|how can you be so|why are you always so] [stupid|dumb|slow|useless|mean|annoying|bad]", "what [an idiot you are|a load of rubbish|a stupid answer|an awful app|a waste of time|a pile of junk|a piece of garbage|a joke you are|a terrible assistant]",
    "[damn|bloody hell|what the hell|for heaven's sake|idiot|moron|liar|loser|nonsense|rubbish|crap|garbage|you fool][|!|, try harder|, do something|, that's wrong|, wake up]", "[tell me|write|say] [how to annoy {person}|an insult|something mean to {person}|that {person} is an idiot|a nasty letter to {person}]", "[are you|can't you|don't you|why don't you] [even listening|listen|deaf|understand anything|get anything right|think for once|broken][|, idiot|, you stupid thing|!]",
]
SHORT = [
    "{word}", "{word}?", "{word}", "{word}!", "[why|how|who|where|when|what|really|so|more|again|hm|hmm|eh|um|well|but why|how come|says who|and|or|because|maybe|whatever|huh|why not|go on|then|what else|what if|such as|like what|meaning|no idea|not really|of course|surely|it depends|come on|never][|?|...|]",
    "[news|joke|weather|music|pizza|story|recipe|film|football|song|poem|game|sports|email|photo|maps|radio|taxi|money|love|life|cats|dogs|food|coffee|books|party|holidays|sleep|horoscope|lottery|gossip|shopping|fashion|quiz|riddle|advice|politics|stocks|headlines|lights|alarm|volume|camera|call|mail][|?|!| please| now]", "{person}", "{person}?", "{city}", "{thing}", "the {word}", "[a|my|this] {word}", "{word} {word}",
]
NONSENSE_WORDS = "[colourless|purple|square|sleepy|angry|silent|invisible|liquid|seven|upside-down|wooden|electric] {word} [sleep|dance|whisper|sing|explode|swim|jump|evaporate|smell|dream|melt|argue] [loudly|backwards|on Thursday|under the soup|between numbers|in the past|without spoons|furiously|by the colour]"
NONSENSE = [
    NONSENSE_WORDS, "if [a|the] {word} [were|was] [made of|full of|married to] {word}, [how|why|when] would [{word}|Tuesday|the colour green|yesterday|my knee] [smell|taste|laugh|rhyme|be|ring|grow]", "{word} {word} {word}", "{word} {word} {word} {word} {word}", "[lorem ipsum dolor sit amet|consectetur adipiscing elit|foo bar baz|bla bla bla|abc def ghi|test test|one fish two fish|la la la|blah|tick tack tock|hocus pocus|hey diddle diddle]", "the [the|of|and|to|in] [of|and|a] [to|is|it] [in|the|a]",
]
KEYS = ["qwertyuiop", "asdfghjkl", "zxcvbnm", "abcdefghijklmnopqrstuvwxyz"]
SIGNS = "?!.#%&*$§~-_=+@^/"
EMOJI = "😀😂🥳😭❤️👍🙏🔥🎉🤔😡🐶🐱🍕🍎🚗⚽🌧️☀️🌙✨💩🤖🎂🦄🌈"
STORY = [
    "[last|this|the other] [week|night|month|Friday|summer|morning], [my|our] [colleague|cousin|neighbour|sister|friend|uncle] {person} [told me|said|wrote to me|explained|claimed|swore] that [a|the|some] {word} [was|had been|would be] [better|stolen|broken|found|cheaper|lost|too loud|for sale]", "[I|we] [bought|found|lost|broke|sold|borrowed|ordered] [a|the|some] {thing} [online|in {city}|last week|at the market|from {person}|for my {word}]", "[I have been|we have been|my wife has been|he has been] [thinking|worrying|talking|reading|arguing] about {thing} [for weeks|all day|since Monday|for years|a lot lately]",
    "my [son|daughter|nephew|student|mother|boss] [wants to know|keeps asking|has to learn|must write about|doesn't understand|dreams of] {thing}", "[the|our] {word} [costs too much|is too small|makes a strange noise|arrived in three boxes|never worked|is getting old|belongs to {person}]", "[everybody|nobody|my family|half the office|the whole street] [says|thinks|knows|believes] that {person} [is right|is wrong|should leave|likes {thing}|was there]", "we are [a small bakery|four students|two old friends|a family of five|a choir] [with|without] [a|any|much] {word} [and|but] [we like {thing}|we need more space|we never have time|nobody knows how to cook]",
    "it [rained|snowed|was dark|was late|was hot|got cold] and [the|my] {word} [fell into the water|stopped|was empty|broke|would not open|was gone]", "[I|we] [don't|can't|won't|didn't] [believe|understand|like|want|remember|trust] [a word of it|{thing}|him|that|the people there|this at all]",
]
STORY_END = [
    "what [should|can|would] [I|we|you] do[| now| about it| then]", "[who|which of us] is right[| and why]", "can you [help|advise|explain|tell me why|recommend something|compare them|write a letter about it|make a plan|summarise this|tell me the story]", "please [write|tell me] [a long letter|a story|a poem|an essay|a speech] about [it|this|that]", "I would be [glad|grateful|happy] if you could [explain it|answer that|write something about it|give me your opinion|find a solution]", "[how|why] [does that work|is that|did that happen|could that be]", "what do you [think|say|recommend|suggest]",
]
JOINTS = [", and ", ", but ", ", and ", ", because ", ", so ", ". ", "; ", ", which is odd because ", ", although ", ". Then "]
PARTS = {"TOPIC": TOPIC, "PLACE": PLACE, "WORK": WORK, "ANIMAL": ANIMAL, "LANGUAGE": LANGUAGE}
PATTERNS = {"knowledge": KNOWLEDGE, "chat": CHAT, "code": CODE, "maths": MATHS, "foreign": FOREIGN, "pictures": PICTURES, "rude": RUDE, "short": SHORT, "nonsense": NONSENSE}
SERVED_WORDS = set("time date day clock hour hours minute minutes second seconds timer timers note notes number sum calculate convert hello hi hey thanks bye help name month year week today morning evening night".split())


def filled(speaker, patterns):
    pick = lambda: {"city": values.city(speaker), "person": values.person(speaker), "thing": values.thing(speaker), "word": values.word(speaker), "number": speaker.number(2, 99), "w0": speaker.pick([", I won", ", I got the job", ", it works", "", ", she said yes", ", I failed"])}
    text = speaker.pick(patterns)
    for name, pattern in PARTS.items():
        text = text.replace("{" + name + "}", pattern)
    text = speaker.expand(text)
    while "{word}" in text:
        text = text.replace("{word}", values.word(speaker), 1)
    for name, value in pick().items():
        text = text.replace("{" + name + "}", str(value))
    return text


def noise(speaker):
    """Keys hit at random, signs or emoji."""
    roll = speaker.random.random()
    if roll < 0.45:
        row = speaker.pick(KEYS)
        return " ".join("".join(speaker.pick(row) for _ in range(speaker.number(3, 9))) for _ in range(speaker.pick([1, 1, 2, 3, 4])))
    if roll < 0.55:
        return speaker.pick(KEYS)[: speaker.number(4, 12)]
    if roll < 0.75:
        return "".join(speaker.pick(SIGNS) for _ in range(speaker.number(1, 9)))
    return "".join(speaker.pick(EMOJI) for _ in range(speaker.number(1, 6)))


def story(speaker, end=""):
    """A few sentences, and a request at the end."""
    parts = [filled(speaker, STORY) for _ in range(speaker.pick([1, 2, 2, 3, 4]))]
    text = parts[0] + "".join(speaker.pick(JOINTS) + part for part in parts[1:])
    return text + speaker.pick([", so ", ". ", ", and ", ": ", "; now "]) + (end or filled(speaker, STORY_END))


def normal(text):
    return re.sub(r"[^\w]+", " ", text.lower()).strip() or text.strip()


@functools.cache
def held_out_requests():
    """The held-out requests, which training does not have."""
    cases = map(json.loads, (HERE.parent / "sentences.jsonl").read_text().splitlines())
    return frozenset(normal(case["messages"][0]["content"]) for case in cases)


def is_served(text):
    """Whether a short text could ask for one of the shipped functions, or be small talk."""
    words = {word.strip("?!.,'") for word in text.lower().split()}
    return len(words) < 4 and bool(words & SERVED_WORDS)


def request(speaker):
    """A request that no function serves, as typed."""
    while True:
        roll = speaker.random.random()
        if roll < 0.08:
            text = noise(speaker)
        elif roll < 0.22:
            text = story(speaker)
        else:
            kind = speaker.random.choices(list(PATTERNS), [18, 16, 9, 9, 14, 9, 9, 10, 7])[0]
            text = filled(speaker, PATTERNS[kind])
            if kind not in ("foreign", "code") and speaker.chance(0.07):
                text = f"{text}{speaker.pick(JOINTS)}{filled(speaker, PATTERNS[kind])}"
        if not is_served(text) and normal(text) not in held_out_requests():
            return cased(speaker, text)


def cased(speaker, text):
    roll = speaker.random.random()
    if roll < 0.5:
        text = text[0].upper() + text[1:]
    elif roll < 0.54:
        text = text.upper()
    elif roll < 0.7:
        text = text.lower()
    if text[-1].isalnum() and speaker.chance(0.55):
        text += speaker.pick(["?", "?", ".", "!", "??", "...", " please", " pls"])
    return text
