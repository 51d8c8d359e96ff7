"""The texts of decision_questions.py that are written by hand, with what is true of them."""

# A text; choices: question, right label, wrong labels; questions answered by yes or no.
STORIES = [
    (
        "The kettle boils on the stove. Anna is outside and waters the roses.",
        [
            ("Where is Anna?", "in the garden", ["in the kitchen", "in the cellar", "in the car"]),
            ("What is Anna doing?", "watering flowers", ["cooking", "sleeping", "reading"]),
        ],
        [("Is the water in the kettle hot?", True), ("Is Anna in the kitchen?", False)],
    ),
    (
        "Customer: My invoice of May lists the premium plan twice. Please refund one of them.",
        [
            ("Which team should answer?", "billing", ["shipping", "technical support", "recruiting"]),
            ("What does the customer ask for?", "a refund", ["a new password", "a later delivery", "a demonstration"]),
        ],
        [("Does the customer want money back?", True), ("Does the customer report that the app crashes?", False)],
    ),
    (
        "The train to Lyon leaves at 9:40 from platform 3. It is 9:55 now, and there is no delay.",
        [
            ("Where does the train go?", "Lyon", ["Paris", "Nice", "Lille"]),
            ("From which platform does it leave?", "3", ["1", "2", "4"]),
        ],
        [("Has the train to Lyon left?", True), ("Does the train leave from platform 5?", False)],
    ),
    (
        "Subject: Lunch? Hi Tom, are you free on Thursday at noon? I know a good noodle place near the office. Mei",
        [
            ("On which day is the lunch?", "Thursday", ["Monday", "Tuesday", "Wednesday"]),
            ("What kind of food does Mei suggest?", "noodles", ["pizza", "burgers", "salad"]),
        ],
        [("Is this message an invitation?", True), ("Is this message written by Tom?", False)],
    ),
    (
        "Log: 02:14 disk usage 97 percent. 02:15 write failed: no space left on device. 02:16 service stopped.",
        [
            ("What was the cause of the failure?", "a full disk", ["no memory", "a lost connection", "a wrong password"]),
            ("What happened last?", "the service stopped", ["the disk was cleaned", "a write failed", "a user logged in"]),
        ],
        [("Did the service stop?", True), ("Was the network the cause of the failure?", False)],
    ),
    (
        "The recipe needs 200 g of flour, two eggs and a pinch of salt. There is no milk in it.",
        [
            ("How many eggs are needed?", "two", ["none", "one", "three"]),
            ("Which of these is in the recipe?", "flour", ["sugar", "milk", "butter"]),
        ],
        [("Does the recipe need eggs?", True), ("Does the recipe need milk?", False)],
    ),
    (
        "Review: The phone is light and its battery lasts two days, but the camera is poor in the dark.",
        [
            ("What does the reviewer criticise?", "the camera", ["the weight", "the battery", "the price"]),
            ("How long does the battery last?", "two days", ["two hours", "one day", "a week"]),
        ],
        [("Does the reviewer like the battery?", True), ("Does the reviewer praise pictures taken at night?", False)],
    ),
    (
        "Weather for tomorrow: heavy rain in the morning, dry from noon on, wind from the west, 12 degrees.",
        [
            ("From where does the wind come?", "west", ["north", "east", "south"]),
            ("When is it dry?", "in the afternoon", ["in the early morning", "in the late morning", "never"]),
        ],
        [("Will it rain tomorrow morning?", True), ("Will it be warmer than 20 degrees?", False)],
    ),
    (
        "Paul parked his red bicycle in front of the library. When he came back, it was gone, and the lock lay on the ground.",
        [
            ("Where had Paul left the bicycle?", "at the library", ["at the station", "at home", "at school"]),
            ("What lay on the ground?", "the lock", ["a key", "a wheel", "a book"]),
        ],
        [("Was the bicycle probably stolen?", True), ("Was the bicycle blue?", False)],
    ),
    (
        "The meeting was moved from Monday to Wednesday because the director is ill. It still begins at ten.",
        [
            ("Why was the meeting moved?", "an illness", ["a holiday", "a strike", "a lack of rooms"]),
            ("When does the meeting begin?", "at ten", ["at nine", "at eleven", "at noon"]),
        ],
        [("Is the meeting on Wednesday?", True), ("Was the hour of the meeting changed?", False)],
    ),
    (
        "User: I forgot my password and the reset mail never arrives, not even in the spam folder.",
        [
            ("What is the problem?", "a password", ["a wrong invoice", "a lost parcel", "a broken screen"]),
            ("Where has the user looked?", "in the spam folder", ["in the cellar", "in the manual", "in the shop"]),
        ],
        [("Does the user have a problem with signing in?", True), ("Has the user received the reset mail?", False)],
    ),
    (
        "The museum is open from Tuesday to Sunday, 10 to 18 o'clock. On Mondays it is closed. Children pay nothing.",
        [
            ("On which day is the museum closed?", "Monday", ["Tuesday", "Saturday", "Sunday"]),
            ("When does the museum close?", "at 18", ["at 16", "at 17", "at 20"]),
        ],
        [("Is the museum open on Sunday?", True), ("Do children have to buy a ticket?", False)],
    ),
    (
        "Patient reports a sore throat for three days and a fever of 38.9 since yesterday. No cough, no allergies.",
        [
            ("For how long has the throat been sore?", "three days", ["one day", "a week", "a month"]),
            ("Which symptom is reported?", "a fever", ["a rash", "a cough", "a broken arm"]),
        ],
        [("Does the patient have a fever?", True), ("Does the patient cough?", False)],
    ),
    (
        "The parcel left Rotterdam on the 3rd and is held at customs in Oslo because the declaration is missing.",
        [
            ("Where is the parcel now?", "Oslo", ["Rotterdam", "Hamburg", "London"]),
            ("Why is it held?", "a missing declaration", ["bad weather", "a wrong address", "damage"]),
        ],
        [("Is a document missing?", True), ("Has the parcel been delivered?", False)],
    ),
    (
        "Lena plays the violin in the city orchestra. Her brother Max repairs ships in the harbour.",
        [
            ("What does Max repair?", "ships", ["cars", "violins", "watches"]),
            ("Which instrument does Lena play?", "violin", ["piano", "flute", "drums"]),
        ],
        [("Is Lena a musician?", True), ("Does Max work in an orchestra?", False)],
    ),
    (
        "The tenant writes that the heating has been cold since Friday and that the flat has only 14 degrees.",
        [
            ("What is broken?", "the heating", ["the lift", "the window", "the oven"]),
            ("Since when?", "Friday", ["Monday", "Wednesday", "Sunday"]),
        ],
        [("Is the tenant complaining?", True), ("Is the flat too hot?", False)],
    ),
    (
        "Commit: rename function load_user to read_user in three files; no change of behaviour; all tests pass.",
        [
            ("What was changed?", "a name", ["an algorithm", "a colour", "a licence"]),
            ("How many files were touched?", "three", ["one", "two", "four"]),
        ],
        [("Is this a refactoring?", True), ("Do tests fail?", False)],
    ),
    (
        "The ferry carries 80 cars. Today 80 cars are on board, and five more wait on the quay for the next one.",
        [
            ("How many cars wait?", "five", ["none", "eight", "eighty"]),
            ("What are the cars waiting for?", "the next ferry", ["a train", "a mechanic", "fuel"]),
        ],
        [("Is the ferry full?", True), ("Is the quay empty?", False)],
    ),
    (
        "Headline: City council votes 12 to 7 to plant 500 trees along the river instead of building a car park.",
        [
            ("Who decided?", "the city council", ["a court", "a school", "a company"]),
            ("What will be planted?", "trees", ["flowers", "grass", "vegetables"]),
        ],
        [("Will trees be planted?", True), ("Will a car park be built along the river?", False)],
    ),
    (
        "The hikers turned back at the hut because fog came up and the path to the summit was not visible.",
        [
            ("Why did the hikers turn back?", "fog", ["hunger", "an injury", "a storm warning"]),
            ("Where did they turn back?", "at the hut", ["at the lake", "at the summit", "at the car"]),
        ],
        [("Did the hikers turn back?", True), ("Did the hikers reach the summit?", False)],
    ),
]

# A message; the team that should answer; what is asked for; how urgent it is: 0 weeks, 1 this week, 2 today; questions.
MESSAGES = [
    ("You charged my card twice for the same order. Please return one payment when you find the time.", "billing", "money back", 0,
     [("Was the customer charged more than once?", True), ("Did the customer receive a damaged parcel?", False)]),
    ("The wedding is tomorrow and the dress has still not arrived! Where is it?", "shipping", "news of a delivery", 2,
     [("Has the dress arrived?", False), ("Is the wedding tomorrow?", True)]),
    ("Since the update the app closes as soon as I open a photo. I need it for a talk this afternoon.", "technical support", "a repair of the app", 2,
     [("Did the problem begin with an update?", True), ("Does the customer want to cancel a subscription?", False)]),
    ("Do you offer a discount for schools? We plan to buy 40 licences next year.", "sales", "a price for many licences", 0,
     [("Does the customer write for a school?", True), ("Does the customer complain about a fault?", False)]),
    ("I saw your notice and would like to work with you as a nurse. My papers are attached. When will you decide?", "recruiting", "a job", 1,
     [("Does the writer look for a job?", True), ("Is the writer a teacher?", False)]),
    ("The printer says that a paper is stuck, but there is none. It is not urgent, we have a second printer.", "technical support", "help with a printer", 0,
     [("Is there a second printer?", True), ("Is the printer out of ink?", False)]),
    ("Please send the invoice again this week, with our new address on it.", "billing", "a corrected invoice", 1,
     [("Has the customer's address changed?", True), ("Does the customer return goods?", False)]),
    ("My parcel was delivered to the neighbour, who is away until Sunday. Could you collect it before the food in it spoils today?", "shipping", "a parcel to be collected", 2,
     [("Did the neighbour receive the parcel?", True), ("Is the neighbour at home?", False)]),
    ("I would like to see your scanner in use before we decide. Next month would be fine.", "sales", "a demonstration", 0,
     [("Has the customer already bought the scanner?", False), ("Does the customer want to see the scanner?", True)]),
    ("Nobody in our office can sign in, and 30 people cannot work.", "technical support", "access to the system", 2,
     [("Can the people in the office work?", False), ("Is more than one person affected?", True)]),
    ("I gave the wrong house number. Please change it before the parcel leaves on Friday.", "shipping", "a change of address", 1,
     [("Was the house number right?", False), ("Is the parcel still to leave?", True)]),
    ("May I apply for the summer internship although my term ends only in July?", "recruiting", "an internship", 0,
     [("Does the term end in July?", True), ("Does the writer offer to sell something?", False)]),
]

# A review; what is reviewed; its rating from 0 to 4; questions.
REVIEWS = [
    ("Broken after one day, and nobody answers my letters. Never again.", "a shop's goods and service", 0, [("Did the thing last for a year?", False), ("Would the reviewer buy there again?", False)]),
    ("The best pizza in town, and the friendliest waiters. We will be back every week!", "a restaurant", 4, [("Does the reviewer like the waiters?", True), ("Is the food cold?", False)]),
    ("A fine hotel in a perfect place; only the breakfast could begin earlier.", "a hotel", 3, [("Is the breakfast criticised?", True), ("Does the reviewer dislike the place?", False)]),
    ("The story is gripping, but the language is dull. I was half delighted and half bored.", "a book", 2, [("Is the language praised?", False), ("Is the story praised?", True)]),
    ("The vacuum cleaner is loud, heavy and weak. At least it was cheap.", "a household appliance", 1, [("Was it cheap?", True), ("Is it quiet?", False)]),
    ("A film to fall in love with: brilliant actors, wonderful music, a perfect ending.", "a film", 4, [("Is the music praised?", True), ("Is the ending criticised?", False)]),
    ("The course was useless. The teacher read from a book and knew nothing. A waste of money.", "a course", 0, [("Did the teacher know much?", False), ("Does the reviewer regret the money?", True)]),
    ("The shoes look nice but hurt after an hour. I rather regret that I bought them.", "a pair of shoes", 1, [("Are the shoes comfortable?", False), ("Do the shoes look nice?", True)]),
    ("Good sound and a sturdy case. The cable is a little short, otherwise I am content.", "a pair of headphones", 3, [("Is the cable too long?", False), ("Is the sound good?", True)]),
    ("The museum's new wing is splendid, the old one shabby. For each good hour there was a bad one.", "a museum", 2, [("Is the old wing praised?", False), ("Is the new wing praised?", True)]),
    ("I have never slept so well! This mattress is worth every cent.", "a mattress", 4, [("Does the reviewer sleep badly?", False), ("Is the mattress worth its price?", True)]),
    ("The flight was three hours late, my suitcase was lost, and the staff shouted at us. Terrible.", "an airline", 0, [("Was the flight on time?", False), ("Was the suitcase lost?", True)]),
    ("The dentist was careful and explained everything. I waited a bit long, but I can recommend her.", "a dentist", 3, [("Was the dentist careful?", True), ("Did the dentist explain nothing?", False)]),
    ("The game has pretty pictures, but it stops every few minutes and the levels repeat. Disappointing.", "a video game", 1, [("Are the pictures ugly?", False), ("Do the levels repeat?", True)]),
    ("The bike is fast. The brakes are weak. The price is fair, the lights are missing. All in all so-so.", "a bicycle", 2, [("Are the brakes strong?", False), ("Is the bike fast?", True)]),
    ("Superb coffee, superb cake, superb view. Ten out of ten.", "a café", 4, [("Does the reviewer like the cake?", True), ("Is the view poor?", False)]),
]

# A city, its country, its continent.
PLACES = [
    ("Lisbon", "Portugal", "Europe"), ("Nairobi", "Kenya", "Africa"), ("Osaka", "Japan", "Asia"), ("Lima", "Peru", "South America"),
    ("Toronto", "Canada", "North America"), ("Cairo", "Egypt", "Africa"), ("Mumbai", "India", "Asia"), ("Oslo", "Norway", "Europe"),
    ("Chicago", "the United States", "North America"), ("Vienna", "Austria", "Europe"), ("Hanoi", "Vietnam", "Asia"),
    ("Bogotá", "Colombia", "South America"), ("Athens", "Greece", "Europe"), ("Lagos", "Nigeria", "Africa"),
]

# A text and its language.
TEXTS = [
    ("Wir haben gestern den ganzen Tag im Garten gearbeitet.", "German"), ("Je voudrais un café et un croissant, s'il vous plaît.", "French"),
    ("Mañana vamos a visitar a nuestra abuela en el pueblo.", "Spanish"), ("Il treno per Milano parte tra dieci minuti.", "Italian"),
    ("O menino perdeu a chave da casa na praia.", "Portuguese"), ("De kinderen spelen buiten met de hond.", "Dutch"),
    ("Завтра мы поедем на поезде к морю.", "Russian"), ("今日は天気がいいので、散歩に行きます。", "Japanese"),
    ("Yarın sabah erkenden işe gitmem gerekiyor.", "Turkish"), ("Jutro rano idziemy na targ po jabłka.", "Polish"),
]

# A program, its language, what it prints, and what it does not.
PROGRAMS = [
    ("words = ['tea', 'milk', 'salt']\nprint(len(words))", "Python", "3", ["2", "4", "tea", "milk"]),
    ("fn main() {\n    let n = 4;\n    println!(\"{}\", n * n);\n}", "Rust", "16", ["4", "8", "44", "n * n"]),
    ("const names = ['Ada', 'Bo'];\nconsole.log(names[1]);", "JavaScript", "Bo", ["Ada", "1", "2", "undefined"]),
    ("#include <stdio.h>\nint main(void) {\n    printf(\"%d\\n\", 17 % 5);\n}", "C", "2", ["3", "5", "12", "17"]),
    ("puts 'stone'.upcase", "Ruby", "STONE", ["stone", "Stone", "upcase", "5"]),
    ("package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"a\" + \"b\")\n}", "Go", "ab", ["a", "b", "a b", "a + b"]),
]
