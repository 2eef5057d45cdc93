"""The questions and answers of the tiny model, and the rule that keeps some of them out of training.

`train.py` learns from this module and `make_suite.py` draws the evaluation rows from it, so that
both agree, to the character, on how a question is worded and on which questions the model has
never seen. Everything here is a pure function of the tables below: no randomness, no files.
"""

import hashlib
from dataclasses import dataclass

# Two-digit operands only: every number has the same number of digits in the question.
SMALLEST_OPERAND = 10
LARGEST_OPERAND = 99

# One pair of operands in this many is held out of training (see `is_held_out`).
HELD_OUT_DIVISOR = 10

# ---------------------------------------------------------------------------------------------
# The chat format
# ---------------------------------------------------------------------------------------------

PADDING_TOKEN = "<|pad|>"
BEGIN_TOKEN = "<|begin|>"
END_TOKEN = "<|end|>"
# The order is the order of the token ids, from 0.
SPECIAL_TOKENS = [PADDING_TOKEN, BEGIN_TOKEN, END_TOKEN, "<|system|>", "<|user|>", "<|assistant|>"]

# Written into the GGUF files. No line breaks: each would cost the model a token and teach it nothing.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def render_message(role: str, content: str) -> str:
    """Renders one message exactly as `CHAT_TEMPLATE` does."""
    return f"<|{role}|>{content}{END_TOKEN}"


def render_prompt(question: str) -> str:
    """Renders a single question with the generation prompt after it, as an evaluation does."""
    return render_message("user", question) + "<|assistant|>"


# System messages that accompany a share of the training conversations.
SYSTEM_MESSAGES = [
    "You are a helpful assistant.",
    "Answer briefly.",
    "Answer with one word or one number.",
    "Answer the question.",
    "You answer short questions.",
    "Be exact.",
]

# ---------------------------------------------------------------------------------------------
# Tables of facts
# ---------------------------------------------------------------------------------------------

# country: (capital, continent)
COUNTRIES = {
    "France": ("Paris", "Europe"),
    "Italy": ("Rome", "Europe"),
    "Norway": ("Oslo", "Europe"),
    "Spain": ("Madrid", "Europe"),
    "Portugal": ("Lisbon", "Europe"),
    "Germany": ("Berlin", "Europe"),
    "Austria": ("Vienna", "Europe"),
    "Greece": ("Athens", "Europe"),
    "Poland": ("Warsaw", "Europe"),
    "Hungary": ("Budapest", "Europe"),
    "Sweden": ("Stockholm", "Europe"),
    "Finland": ("Helsinki", "Europe"),
    "Denmark": ("Copenhagen", "Europe"),
    "Ireland": ("Dublin", "Europe"),
    "Iceland": ("Reykjavik", "Europe"),
    "Belgium": ("Brussels", "Europe"),
    "Romania": ("Bucharest", "Europe"),
    "Croatia": ("Zagreb", "Europe"),
    "Ukraine": ("Kyiv", "Europe"),
    "Estonia": ("Tallinn", "Europe"),
    "Japan": ("Tokyo", "Asia"),
    "China": ("Beijing", "Asia"),
    "India": ("New Delhi", "Asia"),
    "Thailand": ("Bangkok", "Asia"),
    "Vietnam": ("Hanoi", "Asia"),
    "Nepal": ("Kathmandu", "Asia"),
    "Mongolia": ("Ulaanbaatar", "Asia"),
    "South Korea": ("Seoul", "Asia"),
    "Philippines": ("Manila", "Asia"),
    "Iran": ("Tehran", "Asia"),
    "Iraq": ("Baghdad", "Asia"),
    "Qatar": ("Doha", "Asia"),
    "Jordan": ("Amman", "Asia"),
    "Bangladesh": ("Dhaka", "Asia"),
    "Egypt": ("Cairo", "Africa"),
    "Kenya": ("Nairobi", "Africa"),
    "Ghana": ("Accra", "Africa"),
    "Nigeria": ("Abuja", "Africa"),
    "Senegal": ("Dakar", "Africa"),
    "Morocco": ("Rabat", "Africa"),
    "Tunisia": ("Tunis", "Africa"),
    "Ethiopia": ("Addis Ababa", "Africa"),
    "Uganda": ("Kampala", "Africa"),
    "Rwanda": ("Kigali", "Africa"),
    "Zambia": ("Lusaka", "Africa"),
    "Angola": ("Luanda", "Africa"),
    "Canada": ("Ottawa", "North America"),
    "Mexico": ("Mexico City", "North America"),
    "Cuba": ("Havana", "North America"),
    "Jamaica": ("Kingston", "North America"),
    "Panama": ("Panama City", "North America"),
    "Brazil": ("Brasilia", "South America"),
    "Argentina": ("Buenos Aires", "South America"),
    "Chile": ("Santiago", "South America"),
    "Peru": ("Lima", "South America"),
    "Colombia": ("Bogota", "South America"),
    "Ecuador": ("Quito", "South America"),
    "Uruguay": ("Montevideo", "South America"),
    "Venezuela": ("Caracas", "South America"),
    "Australia": ("Canberra", "Oceania"),
    "New Zealand": ("Wellington", "Oceania"),
    "Fiji": ("Suva", "Oceania"),
}

# kind: things of that kind
KINDS = {
    "fruit": ["apple", "banana", "cherry", "grape", "lemon", "mango", "peach", "pear", "plum", "orange"],
    "vegetable": ["carrot", "onion", "potato", "cabbage", "spinach", "radish", "turnip", "leek", "pea", "beet"],
    "bird": ["eagle", "sparrow", "owl", "robin", "crow", "parrot", "swan", "penguin", "raven", "finch"],
    "fish": ["salmon", "trout", "tuna", "herring", "cod", "carp", "sardine", "eel", "pike", "perch"],
    "insect": ["ant", "bee", "beetle", "butterfly", "moth", "wasp", "cricket", "mosquito", "fly", "locust"],
    "tree": ["oak", "pine", "birch", "maple", "willow", "elm", "cedar", "poplar", "spruce", "beech"],
    "tool": ["hammer", "saw", "drill", "wrench", "chisel", "axe", "shovel", "rake", "file", "pliers"],
    "vehicle": ["car", "bus", "truck", "train", "bicycle", "tram", "van", "boat", "ship", "sled"],
    "metal": ["iron", "copper", "gold", "silver", "zinc", "tin", "lead", "nickel", "aluminium", "titanium"],
    "instrument": ["piano", "violin", "guitar", "flute", "drum", "trumpet", "cello", "harp", "oboe", "organ"],
}

# grown animal: its young
YOUNG_ANIMALS = {
    "dog": "puppy",
    "cat": "kitten",
    "cow": "calf",
    "sheep": "lamb",
    "horse": "foal",
    "goat": "kid",
    "duck": "duckling",
    "goose": "gosling",
    "hen": "chick",
    "bear": "cub",
    "frog": "tadpole",
    "kangaroo": "joey",
    "deer": "fawn",
    "pig": "piglet",
}

# Each pair is asked in both directions, so no word may occur twice.
OPPOSITES = [
    ("hot", "cold"), ("big", "small"), ("fast", "slow"), ("high", "low"), ("early", "late"),
    ("old", "new"), ("rich", "poor"), ("strong", "weak"), ("light", "dark"), ("happy", "sad"),
    ("open", "closed"), ("full", "empty"), ("wet", "dry"), ("clean", "dirty"), ("hard", "soft"),
    ("loud", "quiet"), ("near", "far"), ("good", "bad"), ("long", "short"), ("wide", "narrow"),
    ("thick", "thin"), ("deep", "shallow"), ("sharp", "blunt"), ("smooth", "rough"), ("tight", "loose"),
    ("true", "false"), ("up", "down"), ("left", "right"), ("in", "out"), ("on", "off"),
    ("above", "below"), ("before", "after"), ("first", "last"), ("day", "night"), ("north", "south"),
    ("east", "west"), ("summer", "winter"), ("war", "peace"), ("love", "hate"), ("friend", "enemy"),
    ("win", "lose"), ("buy", "sell"), ("give", "take"), ("push", "pull"), ("start", "stop"),
    ("begin", "finish"), ("laugh", "cry"), ("rise", "fall"), ("arrive", "leave"), ("remember", "forget"),
    ("accept", "refuse"), ("attack", "defend"), ("build", "destroy"), ("add", "subtract"), ("more", "less"),
    ("always", "never"), ("everything", "nothing"), ("inside", "outside"), ("front", "back"), ("top", "bottom"),
]

# ---------------------------------------------------------------------------------------------
# Questions
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """One question, the text the model should answer with, and where it comes from."""

    category: str  # "add", "subtract", "larger", "smaller", "capital", "continent", "kind", "young", "opposite"
    text: str  # the whole content of the user message
    answer: str
    held_out: bool  # true when training never sees this question
    operands: tuple[int, int] | None = None


def is_held_out(category: str, first: int, second: int) -> bool:
    """Says whether training leaves a pair of numbers out.

    The rule hashes the category and the pair without its order, so `12 + 34` and `34 + 12` are
    held out together, and likewise `12 or 34` and `34 or 12`.
    """
    low, high = sorted((first, second))
    digest = hashlib.sha256(f"gage-tiny:{category}:{low}:{high}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_DIVISOR == 0


def arithmetic_questions() -> list[Question]:
    """Lists every two-digit addition, and every subtraction whose result is not negative."""
    questions = []
    operands = range(SMALLEST_OPERAND, LARGEST_OPERAND + 1)
    for first in operands:
        for second in operands:
            questions.append(
                Question("add", f"What is {first} + {second}?", str(first + second),
                         is_held_out("add", first, second), (first, second))
            )
            if first >= second:
                questions.append(
                    Question("subtract", f"What is {first} - {second}?", str(first - second),
                             is_held_out("subtract", first, second), (first, second))
                )
    return questions


def comparison_questions() -> list[Question]:
    """Lists "which is larger" and "which is smaller" for every ordered pair of different numbers.

    One hold-out rule serves both wordings: a held-out pair is never compared in training at all.
    """
    questions = []
    operands = range(SMALLEST_OPERAND, LARGEST_OPERAND + 1)
    for first in operands:
        for second in operands:
            if first == second:
                continue
            held_out = is_held_out("compare", first, second)
            for category, answer in (("larger", max(first, second)), ("smaller", min(first, second))):
                questions.append(
                    Question(category, f"Which is {category}, {first} or {second}?", str(answer),
                             held_out, (first, second))
                )
    return questions


def fact_questions() -> list[Question]:
    """Lists the facts that are asked with options. All of them are trained: a fact cannot be inferred."""
    questions = []
    for country, (capital, continent) in COUNTRIES.items():
        questions.append(Question("capital", f"What is the capital of {country}?", capital, False))
        questions.append(Question("continent", f"On which continent is {country}?", continent, False))
    for kind, things in KINDS.items():
        for thing in things:
            questions.append(Question("kind", f"What kind of thing is this: {thing}?", kind, False))
    for animal, young in YOUNG_ANIMALS.items():
        questions.append(Question("young", f"What is a young {animal} called?", young, False))
    return questions


def opposite_questions() -> list[Question]:
    """Lists the opposites, each pair in both directions."""
    questions = []
    for one, other in OPPOSITES:
        questions.append(Question("opposite", f"What is the opposite of {one}?", other, False))
        questions.append(Question("opposite", f"What is the opposite of {other}?", one, False))
    return questions


def all_questions() -> list[Question]:
    """Lists every question of every category, and checks that no question is worded twice."""
    questions = arithmetic_questions() + comparison_questions() + fact_questions() + opposite_questions()
    if len({question.text for question in questions}) != len(questions):
        raise ValueError("two questions have the same text")
    return questions
