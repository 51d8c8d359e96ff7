"""Phrasings of questions about pictures that only `held_out.py --blind` uses. They were written before those of `widened.py`.

`alone` are questions about the only thing of a picture, or about all things if they have the same colour or shape.
"""

BLIND = {
    "count": [
        "how many {these} did you spot?", "What's the {these} count?", "Tally the {these} for me", "Are there few or many {these}? Give me the number.",
        "I see some {these} here; how many are they in total?", "Can you work out the number of {these} on this sheet?",
        "number of {these} in the drawing, please", "How many {these} would you say there are?",
    ],
    "colour": [
        "What colour has the {shape} got?", "The {shape} - which colour?", "Which color did they use for the {shape}?", "Is the {shape} red, blue or something else?",
        "Do you know the colour of the {shape}?", "I can't tell what colour the {shape} is", "tell me what color that {shape} is",
        "Please give me the colour of the {shape} you see",
    ],
    "shape": [
        "What is the {colour} symbol?", "Which figure is {colour}?", "What sort of form is the {colour} one?", "the {colour} drawing is a what?",
        "Tell me what the {colour} item is", "What kind of object is {colour}?", "What's that {colour} thing?", "which symbol did they draw in {colour}?",
    ],
    "exists": [
        "Have you found a {one}?", "Does a {one} appear in this drawing?", "Am I right that there is a {one}?", "Are {these} shown?",
        "Would you check if a {one} is there?", "can a {one} be seen?", "Tell me: is a {one} drawn on it?",
    ],
    "where": [
        "At which spot is the {one}?", "Where did they put the {one}?", "Where exactly is the {one}?", "In what place do you find the {one}?",
        "Where has the {one} been drawn?", "whereabouts is the {one}?", "Tell me the place of the {one}",
    ],
    "describe": [
        "What has been drawn?", "Which objects can you make out?", "What figures are on it?", "Tell me about this picture", "What do we have here?",
        "Which forms and colours do you see?", "Say what is shown on the picture",
    ],
    "word": [
        "What's the text?", "Which letters are written there?", "Can you tell me what's written?", "What do you read here?", "Please tell me the word on it",
        "What is printed here?", "how does the text go?",
    ],
    "number": ["What figure is written here?", "Which numeral do you see?", "Tell me what number this is", "What's the number shown in the picture?", "what digits are these?"],
    "tallest": ["Which bar comes out on top?", "What's the colour of the tallest bar?", "Name the bar with the greatest height", "Which bar is the largest of all?"],
    "shortest": ["Which bar is the least tall?", "What's the colour of the lowest bar?", "Name the bar with the smallest height", "Which bar is the smallest of all?"],
    "bars": ["How many bars has the chart got?", "What's the bar count?", "How many bars were drawn?", "Tell me the number of bars here"],
    "note": ["Can you note down what it says?", "Save that text to my notes please", "Put this note into my list of notes", "Write the text of this picture down for me"],
    "alone, colour": [
        "And the colour of the shape is?", "What color is this figure?", "Which colour does the object have?", "What colour is that symbol?", "tell me the colour of the form",
        "In what colour was the shape drawn?", "The thing in the picture: what colour is it?", "Which color is it?", "what is its colour", "Can you name the colour of the drawing?",
        "What's the colour of what you see?", "Please say what colour the drawn object is", "What colour is the item shown?", "which colour was used here?",
    ],
    "alone, shape": [
        "Which shape did they draw?", "What shape is this?", "What figure do you see?", "Which symbol is shown?", "what form does the thing have", "What kind of shape has been drawn?",
        "Name the figure in the picture", "Which geometric shape is it?", "What is the object's shape?", "Tell me which form this is", "Can you say what symbol this is?",
        "What sort of thing is drawn here?", "what's the shape in the image", "Which figure is depicted?",
    ],
    "alone, where": ["Where is the shape?", "In which part of the picture is the figure?", "Where was the object drawn?", "where can I find the symbol?", "Tell me where the thing is", "What's the position of the form?"],
    "things": [
        "How many shapes are there?", "How many figures do you see?", "Count the objects", "What is the number of symbols?", "how many things are drawn", "How many items does the picture show?",
        "Tell me how many forms there are", "How many drawings are on the sheet?",
    ],
    "is it, colour": ["Is the {shape} {colour}?", "Would you call the {shape} {colour}?", "Is {colour} the colour of the {shape}?", "Does the {shape} look {colour}?"],
    "is it, shape": ["Is the {colour} shape a {one}?", "Is the {colour} figure a {one}?", "Is it a {one} that is {colour}?", "Would you say the {colour} object is a {one}?"],
}
