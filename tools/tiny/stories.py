"""A grammar of small stories. Every story has a hero, a wish or a trouble, a helper and an end."""

GIRLS = ["Mia", "Lily", "Anna", "Zoe", "Ella", "Nora", "Ruby", "Ada", "Grace", "Lucy", "Emma", "Sara"]
BOYS = ["Tom", "Ben", "Max", "Leo", "Sam", "Tim", "Finn", "Jack", "Noah", "Oscar", "Hugo", "Paul"]
BEASTS = ["cat", "dog", "mouse", "fox", "bear", "rabbit", "owl", "frog", "duck", "dragon", "robot", "turtle",
          "horse", "pig", "penguin", "lion", "elephant", "monkey", "bird", "fish"]
PET_NAMES = ["Pip", "Momo", "Bella", "Rex", "Coco", "Dot", "Biscuit", "Pepper", "Toby", "Luna"]
PLACES = ["in a small village", "by the sea", "near a big forest", "on a green hill", "in a tall house",
          "at the end of a long road", "in a quiet valley", "next to a blue lake", "on a farm"]
TRAITS = ["kind", "brave", "curious", "shy", "funny", "clever", "little", "happy"]
THINGS = ["ball", "kite", "book", "hat", "key", "boat", "lamp", "drum", "cake", "flower", "stone", "bell"]
LOOKS = ["red", "blue", "yellow", "green", "shiny", "old", "golden", "tiny", "white"]
FINDS = ["under a tree", "behind a big rock", "in the tall grass", "by the river", "in the snow", "under the bed",
         "on top of the hill", "inside an old box", "near the bridge"]
MORALS = ["{S} learned that it is good to share.", "{S} learned that friends help each other.",
          "{S} learned that it is fine to ask for help.", "{S} learned to be patient.",
          "From that day on, {S} was never lonely again.", "And they lived happily ever after.",
          "That night {S} slept very well.", "{S} never forgot that day."]


def article(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


class Story:
    """One story; about: a BEASTS or THINGS word that must play a part, or None; name: the hero's."""

    def __init__(self, random, about=None, name=None):
        self.random = random
        pick = random.choice
        girl = random.random() < 0.5
        self.name = name or pick(GIRLS if girl else BOYS)
        if name:
            girl = name in GIRLS
        self.she, self.her, self.hers = ("she", "her", "her") if girl else ("he", "him", "his")
        self.beast = about if about in BEASTS else pick(BEASTS)
        self.thing = about if about in THINGS else pick(THINGS)
        self.look = pick(LOOKS)
        self.place = pick(PLACES)
        self.trait = pick(TRAITS)
        self.find = pick(FINDS)
        self.pet = pick(PET_NAMES)
        if about in BEASTS:
            plots = [self.beast_is_hero, self.beast_is_friend, self.beast_needs_help]
        elif about in THINGS:
            plots = [self.lost, self.found, self.wish]
        else:
            plots = [self.lost, self.found, self.wish, self.beast_is_hero, self.beast_is_friend,
                     self.beast_needs_help, self.rain]
        self.plot = pick(plots)

    def text(self):
        self.hero = self.name
        sentences = self.plot()
        if self.random.random() < 0.8:
            sentences.append(self.random.choice(MORALS).format(S=self.hero))
        return " ".join(sentences)

    def opening(self):
        kind = "girl" if self.she == "she" else "boy"
        return self.random.choice([
            f"Once upon a time, there was {article(self.trait)} {kind} named {self.name}.",
            f"Once upon a time, {article(self.trait)} {kind} named {self.name} lived {self.place}.",
            f"One day, {self.name} went for a walk.",
            f"There was once {article(self.trait)} {kind} named {self.name}, who lived {self.place}.",
        ])

    def lost(self):
        she, hers = self.she, self.hers
        pick = self.random.choice
        return [
            self.opening(),
            f"{self.name} had {article(self.look)} {self.thing} and loved it very much.",
            f"One morning the {self.thing} was gone.",
            pick([f"{self.name} was very sad.", f"{self.name} looked everywhere, but {she} could not find it."]),
            pick([f"Then {article(self.beast)} came by and said, \"I will help you.\"",
                  f"\"Do not cry,\" said {article(self.beast)}. \"Let us look together.\""]),
            f"They looked and looked, and at last they found the {self.thing} {self.find}.",
            pick([f"{self.name} was so happy that {she} gave the {self.beast} a big hug.",
                  f"\"Thank you!\" said {self.name}, and {hers} face was full of joy."]),
        ]

    def found(self):
        she = self.she
        pick = self.random.choice
        secret = pick(["It began to glow.", "It could talk!", "It played a soft song.", "It was warm like the sun."])
        return [
            self.opening(),
            f"{self.name} found {article(self.look)} {self.thing} {self.find}.",
            secret,
            pick([f"\"Who are you?\" asked {self.name}.", f"{self.name} was surprised, but {she} was not afraid."]),
            f"{self.name} took the {self.thing} home and showed it to {self.hers} {pick(['mother', 'father', 'sister', 'brother', 'friend'])}.",
            pick([f"They put it in the window, and it gave light every night.",
                  f"They played with it until the sun went down.",
                  f"The next day they gave it back to {article(self.beast)}, who had lost it."]),
        ]

    def wish(self):
        she = self.she
        pick = self.random.choice
        return [
            self.opening(),
            f"{self.name} wanted {article(self.look)} {self.thing} more than anything.",
            f"But {she} had no money, so {she} {pick(['worked', 'helped'])} {pick(['in the garden', 'at the shop', 'on the farm'])} every day.",
            f"{pick(['It was hard', 'It took a long time'])}, but {self.name} did not give up.",
            f"At last {self.name} got the {self.thing}.",
            pick([f"It was the best {self.thing} in the world.", f"{self.name} shared it with {self.hers} friends."]),
        ]

    def beast_is_hero(self):
        pick = self.random.choice
        self.hero = self.pet
        fear = pick(["the dark", "the water", "loud sounds", "the big wind"])
        return [
            pick([f"Once upon a time, there was {article(self.trait)} {self.beast} named {self.pet}.",
                  f"Once upon a time, {article(self.trait)} {self.beast} named {self.pet} lived {self.place}."]),
            f"{self.pet} was afraid of {fear}.",
            f"All the other animals {pick(['laughed', 'were not afraid'])}, and {self.pet} felt very small.",
            f"One day {self.pet} heard a cry for help. It was {self.name}, who was lost {self.find}.",
            f"{self.pet} was afraid, but went to help all the same.",
            pick([f"\"You are so brave,\" said {self.name}.", f"\"Thank you, {self.pet},\" said {self.name}."]),
            f"After that, {self.pet} was not afraid of {fear} any more.",
        ]

    def beast_is_friend(self):
        she = self.she
        pick = self.random.choice
        return [
            self.opening(),
            f"One day {self.name} met {article(self.look)} {self.beast} {self.find}.",
            f"The {self.beast} was named {self.pet}.",
            pick([f"\"Will you play with me?\" asked {self.pet}.", f"\"Hello, {self.name},\" said {self.pet}. \"Do you want to be my friend?\""]),
            pick([f"\"Yes!\" said {self.name}.", f"\"I would love to,\" said {self.name}."]),
            f"They {pick(['ran up the hill', 'swam in the lake', 'built a little house', 'danced in the rain', 'looked at the stars'])} and {pick(['laughed', 'sang songs', 'ate cake'])} all day.",
            pick([f"When the sun went down, {self.name} went home, but {she} came back the next day.",
                  f"{self.name} and {self.pet} became best friends."]),
        ]

    def beast_needs_help(self):
        she = self.she
        pick = self.random.choice
        trouble, cure = pick([("had hurt its foot", "put a soft cloth around it"), ("was very hungry", "gave it some bread and milk"),
                              ("was cold and wet", "took it home to the warm fire"), ("could not find its mother", "went to look for her")])
        return [
            self.opening(),
            f"{self.find[0].upper()}{self.find[1:]} {she} saw a small {self.beast}.",
            f"The {self.beast} {trouble}.",
            f"{self.name} was {pick(['kind', 'gentle'])} and {cure}.",
            f"Soon the {self.beast} felt much better.",
            pick([f"\"Thank you,\" said the {self.beast}. \"I will never forget you.\"",
                  f"The {self.beast} gave {self.name} {article(self.look)} {self.thing} to say thank you."]),
        ]

    def rain(self):
        pick = self.random.choice
        friend = pick([n for n in GIRLS + BOYS if n != self.name])
        return [
            self.opening(),
            f"{self.name} wanted to play outside with {friend}, but it began to rain.",
            f"\"What can we do now?\" asked {friend}.",
            pick([f"They found {article(self.look)} {self.thing} and made up a game.",
                  f"They told each other stories about {article(self.beast)} and {article(self.thing)}.",
                  f"They put on big boots and jumped in the water."]),
            f"It was so much fun that they did not see the sun come out again.",
        ]


def story(random, about=None, name=None):
    return Story(random, about, name).text()
