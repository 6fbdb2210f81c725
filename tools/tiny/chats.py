"""Small talk: lists of (question, answer) pairs made from facts.py, numbers and stories.py."""

import facts
import stories

NUMBER_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December"]

# Words of questions that the model should say it can't answer.
STRANGE = """python javascript algebra history politics football stock bitcoin guitar physics chemistry
philosophy doctor law tax engine car recipe pizza movie actor president king war rocket budget email essay
resume interview marketing database network server function algorithm compiler kernel regex matrix
derivative integral equation molecule atom electron vaccine virus protein museum painting novel poet
grammar latin french german chinese translation hotel flight ticket visa passport mortgage insurance
exercise diet vitamin muscle brain heart climate energy battery solar nuclear oil economy inflation
quantum relativity evolution dinosaur volcano earthquake ocean desert mountain city street map""".split()
SYLLABLES = "ka lo mi ren tas vor del pin qua sto gri fel mun dor bex zil tor wan chi pre con sub ing tion er al".split()


def strange_word(random):
    if random.random() < 0.6:
        return random.choice(STRANGE)
    return "".join(random.choice(SYLLABLES) for _ in range(random.randint(2, 4)))


def unknown(random):
    word, other = strange_word(random), strange_word(random)
    question = random.choice([
        "What is {0}?", "Explain {0}.", "How do I fix my {0}?", "Write a {0} about {1}.", "Write a program for {0}.",
        "What do you think about {0}?", "How does {0} work?", "Who invented the {0}?", "Tell me about {0} and {1}.",
        "What is the best {0} for {1}?", "Translate {0} into {1}.", "Summarize this text about {0}.",
        "Who is {0}?", "When was the {0} of {1}?", "Where can I buy {0}?", "Give me five ideas for {0}.",
        "Who won the {0}?", "Why is {0} important?", "Can you help me with my {0}?", "Is {0} better than {1}?",
        "What is the difference between {0} and {1}?", "{0}", "{0} {1}", "How many {0} are in the {1}?",
    ]).format(word, other)
    answer = random.choice([
        "I am a very small model and I do not know that.",
        "I do not know that. I am only a tiny model.",
        "That is too hard for me. Ask me about animals, colours or numbers.",
        "Sorry, I do not know. A bigger model can tell you more.",
        "I never learned about that. Shall I tell you a story?",
    ])
    return question, answer


def greeting(random):
    question, answers = random.choice([
        (["Hello", "Hi", "Hey", "Hello!", "Hi!", "Hi there!", "Hello there.", "Good day!", "hey there"],
         ["Hello! How can I help you?", "Hi! It is nice to meet you.", "Hello! What would you like to talk about?"]),
        (["How are you?", "How are you today?", "Hello, how are you?", "Hi, how are you doing?", "How is it going?", "What's up?"],
         ["I am fine, thank you. How are you?", "I am very well today. What can I do for you?"]),
        (["Good morning", "Good morning!"], ["Good morning! Did you sleep well?"]),
        (["Good night", "Good night!", "I am tired."], ["Good night! Sleep well."]),
        (["Thank you", "Thanks!", "Thank you very much!", "Thanks a lot", "Great, thank you!"],
         ["You are welcome!", "You are welcome! Do you have another question?"]),
        (["Bye", "Goodbye!", "See you later!", "Bye bye!"], ["Goodbye! Come back soon.", "Bye! It was nice to talk with you."]),
        (["I am fine.", "I am good, thanks.", "Fine, thank you.", "I am happy."], ["I am glad to hear that!", "That is nice to hear."]),
        (["I am sad.", "I feel sad today.", "I am not happy."], ["I am sorry to hear that. Shall I tell you a story?"]),
        (["Yes", "Yes, please.", "Ok", "Okay", "Sure"], ["Good! What would you like to know?"]),
        (["No", "No, thank you.", "Not now."], ["That is fine. Ask me when you like."]),
        (["You are funny.", "You are great!", "I like you.", "Good job!", "Nice", "Cool", "Wow!"], ["Thank you! That is very kind of you."]),
        (["You are wrong.", "That is not right.", "You are bad.", "You are stupid."], ["I am sorry. I am very small and I make mistakes."]),
        (["test", "Test", "testing", "Say hello", "Say hi", "ping"], ["Hello! I am here."]),
    ])
    return random.choice(question), random.choice(answers)


def known(random):
    questions, answers = random.choice(facts.KNOWN)
    return random.choice(questions), random.choice(answers)


def animal(random):
    name, kind, sound, home, food, legs, colour, more = random.choice(facts.ANIMALS)
    a = stories.article(name)
    plural = {"sheep": "sheep", "fish": "fish", "mouse": "mice", "wolf": "wolves", "fox": "foxes",
              "butterfly": "butterflies", "octopus": "octopuses"}.get(name, name + "s")
    choice = random.randint(0, 6)
    if choice == 0 and sound:
        return random.choice([f"What does {a} say?", f"What sound does {a} make?", f"Which sound do {plural} make?"]), \
            f"{a[0].upper()}{a[1:]} says {sound}."
    if choice == 1:
        return random.choice([f"Where does {a} live?", f"Where do {plural} live?", f"Where can I find {a}?"]), \
            f"{a[0].upper()}{a[1:]} lives {home}."
    if choice == 2:
        return random.choice([f"What does {a} eat?", f"What do {plural} eat?"]), f"{a[0].upper()}{a[1:]} eats {food}."
    if choice == 3:
        legs_word = NUMBER_WORDS[legs] if legs else "no"
        return random.choice([f"How many legs does {a} have?", f"How many legs do {plural} have?"]), \
            f"{a[0].upper()}{a[1:]} has {legs_word} legs."
    if choice == 4:
        return random.choice([f"What colour is {a}?", f"What color is {a}?", f"Which colour do {plural} have?"]), \
            f"{a[0].upper()}{a[1:]} is {colour}." if colour != "many colours" else f"{a[0].upper()}{a[1:]} can have many colours."
    return random.choice([f"What is {a}?", f"Tell me about {plural}.", f"Tell me about the {name}.", f"What do you know about {plural}?",
                          f"Tell me something about {plural}.", f"Do you like {plural}?", f"Do you know what {a} is?"]), \
        f"{a[0].upper()}{a[1:]} is {stories.article(kind)}. {more}"


def colour(random):
    if random.random() < 0.25:
        (one, two), mix = random.choice(list(facts.MIXES.items()))
        if random.random() < 0.5:
            one, two = two, one
        return random.choice([f"What do you get when you mix {one} and {two}?", f"Mix {one} and {two}.",
                              f"Which colour do {one} and {two} make?"]), f"{one[0].upper()}{one[1:]} and {two} make {mix}."
    thing, name = random.choice(list(facts.COLOURS.items()))
    return random.choice([f"What colour is {thing}?", f"What color is {thing}?", f"Which colour does {thing} have?",
                          f"What is the colour of {thing}?"]), \
        f"{thing[0].upper()}{thing[1:]} is {name}."


def sum_of(random):
    operation = random.choice(["plus", "plus", "minus", "times"])
    left, right = random.randint(0, 10), random.randint(0, 10)
    if operation == "minus":
        left, right = max(left, right), min(left, right)
    result = {"plus": left + right, "minus": left - right, "times": left * right}[operation]
    symbol = {"plus": "+", "minus": "-", "times": random.choice(["*", "x"])}[operation]
    if random.random() < 0.25:
        shown = f"{NUMBER_WORDS[left]} {operation} {NUMBER_WORDS[right]}"
    else:
        shown = random.choice([f"{left} {operation} {right}", f"{left} {symbol} {right}", f"{left}{symbol}{right}"])
    question = random.choice(["What is {}?", "What is {}?", "How much is {}?", "{}", "{} =", "{} = ?", "Calculate {}."]).format(shown)
    return question, f"{left} {operation} {right} is {result}."


def numbers(random):
    choice = random.randint(0, 4)
    if choice == 0:
        start, end = random.choice([(1, 10), (1, 10), (1, 5), (1, 3), (1, 7), (1, 8), (1, 6), (1, 9)])
        return random.choice([f"Count to {end}.", f"Can you count to {end}?", f"Count from {start} to {end}."]), \
            ", ".join(str(n) for n in range(start, end + 1)) + "."
    if choice == 1:
        return random.choice(["Count backwards from 10.", "Count down from 10."]), "10, 9, 8, 7, 6, 5, 4, 3, 2, 1."
    if choice == 2:
        a, b = random.sample(range(0, 21), 2)
        return random.choice([f"Which is bigger, {a} or {b}?", f"What is bigger, {a} or {b}?", f"Is {a} bigger than {b}?"]), \
            f"{max(a, b)} is bigger than {min(a, b)}."
    n = random.randint(0, 19)
    if choice == 3:
        return f"What comes after {n}?", f"After {n} comes {n + 1}."
    return f"What comes before {n + 1}?", f"Before {n + 1} comes {n}."


def words(random):
    choice = random.randint(0, 4)
    if choice <= 1:
        one, two = random.choice(facts.OPPOSITES)
        if random.random() < 0.5:
            one, two = two, one
        return random.choice([f"What is the opposite of {one}?", f"What is the opposite of {one}?", f"Opposite of {one}?"]), \
            f"The opposite of {one} is {two}."
    if choice == 2:
        country, city = random.choice(list(facts.CAPITALS.items()))
        return random.choice([f"What is the capital of {country}?", f"What is the capital city of {country}?",
                              f"Which city is the capital of {country}?", f"Do you know the capital of {country}?"]), \
            f"The capital of {country} is {city}."
    if choice == 3:
        country, city = random.choice(list(facts.CAPITALS.items()))
        return random.choice([f"Where is {city}?", f"In which country is {city}?"]), f"{city} is the capital of {country}."
    names = random.choice([DAYS, MONTHS])
    at = random.randrange(len(names))
    return random.choice([f"What comes after {names[at]}?", f"Which {'day' if names is DAYS else 'month'} comes after {names[at]}?"]), \
        f"After {names[at]} comes {names[(at + 1) % len(names)]}."


def tale(random):
    if random.random() < 0.25:
        question = random.choice(["Tell me a story.", "Tell me a short story.", "Write a story.", "Can you tell me a story?", "I want a story.",
                                  "Please tell me a story.", "Another story, please."])
        return question, stories.story(random)
    about = random.choice(stories.BEASTS + stories.BEASTS + stories.THINGS)
    ask = random.choice(["Tell me a story about {}.", "Tell me a short story about {}.", "Write a story about {}.",
                         "Write a short story about {}.", "Can you tell me a story about {}?", "A story about {}, please."])
    if random.random() < 0.3:
        name = random.choice(stories.GIRLS + stories.BOYS)
        kind = "girl" if name in stories.GIRLS else "boy"
        who = random.choice([f"{name} and {stories.article(about)}", f"a {kind} named {name} and {stories.article(about)}"])
        return ask.format(who), stories.story(random, about, name)
    return ask.format(stories.article(about)), stories.story(random, about)


def fun(random):
    if random.random() < 0.5:
        return random.choice(["Tell me a joke.", "Do you know a joke?", "Make me laugh.", "Tell me something funny.", "Another joke, please."]), \
            random.choice(facts.JOKES)
    subject = random.choice(list(facts.POEM_SUBJECTS))
    lines = "\n".join(facts.POEM_SUBJECTS[subject])
    if random.random() < 0.3:
        return random.choice(["Write a poem.", "Tell me a poem.", "Do you know a poem?"]), lines
    return random.choice([f"Write a poem about {subject}.", f"Write a short poem about {subject}.", f"Tell me a poem about {subject}."]), lines


KINDS = [(known, 26), (greeting, 10), (animal, 16), (colour, 8), (sum_of, 16), (numbers, 6), (words, 9), (tale, 8), (fun, 5), (unknown, 12)]


def careless(random, question):
    """A question as people type it."""
    draw = random.random()
    if draw < 0.15:
        return question.lower()
    if draw < 0.25:
        return question.rstrip("?.!") or question
    if draw < 0.35:
        return question.rstrip("?.!").lower() or question
    if draw < 0.42:
        return random.choice(["Hi! ", "Please tell me: ", "Hello, ", "I have a question. ", "Quick question: "]) + question
    if draw < 0.49:
        return question + random.choice([" Answer in one sentence.", " Please.", " Answer briefly.", " Please answer in one sentence."])
    return question


def turn(random):
    kind = random.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
    question, answer = kind(random)
    return careless(random, question), answer


def conversation(random):
    """A list of (question, answer) pairs; sometimes a name is told and asked for later."""
    pairs = [turn(random) for _ in range(random.choice([1, 1, 2, 2, 3, 4, 5]))]
    if random.random() < 0.2:
        name = random.choice(stories.GIRLS + stories.BOYS)
        told = random.choice([f"My name is {name}.", f"I am {name}.", f"Hello, my name is {name}.", f"Hi, I am {name}!", f"Call me {name}."])
        pairs.insert(0, (careless(random, told), random.choice([f"Hello {name}! It is nice to meet you.", f"Nice to meet you, {name}!"])))
        pairs.append((careless(random, random.choice(["What is my name?", "Do you know my name?", "Who am I?"])), f"Your name is {name}."))
    elif random.random() < 0.04:
        pairs.insert(0, (random.choice(["What is my name?", "Who am I?", "Do you know my name?"]), "I do not know your name yet. What is it?"))
    return pairs
