"""Generates pairs of answers and references in many scripts, always the same ones."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

CORPORA = Path(__file__).parents[1] / "corpora"
SEED = 20240229
PAIRS_PER_LANGUAGE = 32
# Lengths of texts in words. The last ones are long: up to some thousand characters.
LENGTHS = (1, 2, 3, 4, 5, 8, 12, 20, 40)
LONG = 700

SPECIAL_PAIRS = [
    ("", ["cat"]),
    (" \n", ["cat sat"]),
    ("...", ["?!"]),
    ("the", ["a"]),
    ("", ["the", "an"]),
    # A similarity of exactly 0.5.
    ("abcd", ["abxy"]),
    # White space that does not count.
    ("  Paris\n", ["paris"]),
    ("12   March", ["12 May"]),
]


@dataclass
class Pair:
    """An answer and the references that it is compared with."""

    answer: str
    references: list[str]


def rows(name):
    """Returns the rows of a corpus."""
    return [json.loads(line) for line in (CORPORA / name).read_text(encoding="utf-8").split("\n") if line]


def changed(words, all_words, chance):
    """Returns words of which some are dropped, repeated, replaced or moved."""
    words = list(words)
    for _ in range(max(1, len(words) // 4)):
        at = chance.randrange(len(words))
        match chance.randrange(6):
            case 0 if len(words) > 1:
                del words[at]
            case 1:
                words.insert(at, words[at])
            case 2:
                words[at] = chance.choice(all_words)
            case 3:
                words.insert(chance.randrange(len(words)), words.pop(at))
            case 4:
                words[at] = words[at].upper()
            case _:
                words[at] = words[at].lower()
    return words


def text(words, language, chance):
    """Joins words to sentences, some of which begin a new line."""
    sentences = []
    while words:
        length = chance.choice((3, 6, 10))
        sentences.append(language["blank"].join(words[:length]) + chance.choice((language["end"], "", ",")))
        words = words[length:]
    return chance.choice((" ", " ", "\n")).join(sentences)


def pair(language, length, chance):
    """Returns one pair in a language: its references are changed forms of one text, and so is its answer."""
    words = chance.choices(language["words"], k=length)
    count = chance.choice((1, 1, 1, 2, 3))
    references = [text(words, language, chance)]
    references += [text(changed(words, language["words"], chance), language, chance) for _ in range(count - 1)]
    match chance.randrange(8):
        case 0:
            answer = references[0]
        case 1:
            answer = text(chance.choices(language["words"], k=length), language, chance)
        case _:
            answer = text(changed(words, language["words"], chance), language, chance)
    return Pair(answer, references)


def pairs():
    """Returns about 600 pairs."""
    chance = random.Random(SEED)
    languages = rows("words.jsonl")
    found = [Pair(answer, references) for answer, references in SPECIAL_PAIRS]
    for language in languages:
        # English has many more rules of its own: articles, stems, contractions.
        for _ in range(PAIRS_PER_LANGUAGE * (3 if language["language"] == "en" else 1)):
            found.append(pair(language, chance.choice(LENGTHS), chance))
    for language in languages[:2] + languages[11:13]:
        found.append(pair(language, LONG, chance))
    mixed = {"blank": " ", "end": ".", "words": [word for language in languages for word in language["words"]]}
    found += [pair(mixed, chance.choice(LENGTHS), chance) for _ in range(24)]
    return found
