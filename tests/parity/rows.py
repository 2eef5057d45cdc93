"""Own rows in the documented shape of each dataset, the same at every call.

The texts are nonsense with the marks that change prompts: double and trailing blanks, brackets, quotes, dollars,
characters outside of ASCII, and empty lines. No row comes from a dataset.
"""

import json
import os
from pathlib import Path
from random import Random

import yaml

from instructions import INSTRUCTIONS

SUITES = Path(__file__).resolve().parents[2] / "config" / "suites"
ROWS = 20
ROWS_OF_SUBSET = 5
REAL_ROWS = 200
SHOTS = 12

# A white picture of 8 by 8 pixels.
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSnc"
    "AAAAD0lEQVR42mP4jwMwDC0JALoev0GJ6La7AAAAAElFTkSuQmCC"
)

NOUNS = "river lamp baker hill engine paper window garden stone rope sailor cloud market bridge violin".split()
VERBS = "holds moves paints finds breaks carries follows lifts sees turns opens closes".split()
MARKS = [
    "",
    "",
    "",
    " (twice)",
    " – “so-called”",
    " at $3.50",
    " naïve",
    " 日本",
    " [title] Next",
    " [step]",
    ' "quoted"',
]


def words(random, least, most):
    return " ".join(random.choice(NOUNS + VERBS) for _ in range(random.randint(least, most)))


def sentence(random):
    text = f"The {random.choice(NOUNS)} {random.choice(VERBS)} the {words(random, 1, 4)}{random.choice(MARKS)}"
    return text + random.choice([".", ".", "!", ",  and waits."])


def question(random):
    return f"Which {words(random, 2, 5)} {random.choice(VERBS)} the {random.choice(NOUNS)}{random.choice(MARKS)}?"


def options(random, count):
    found = []
    while len(found) < count:
        text = words(random, 1, 4) + random.choice(["", "", " ", "é", "."])
        if text not in found:
            found.append(text)
    return found


def arc(random, index):
    count = 4 if index % 5 else 3 + 2 * (index % 2)
    labels = list("ABCDE"[:count]) if index % 4 else list("12345"[:count])
    return {
        "id": f"Mercury_{index}",
        "question": question(random),
        "choices": {"text": options(random, count), "label": labels},
        "answerKey": random.choice(labels),
    }


def openbookqa(random, index):
    row = arc(random, 1 + 4 * index)
    labels = list("ABCD")
    choices = {"text": options(random, 4), "label": labels}
    stem = sentence(random).rstrip(".") + (" " if index % 7 == 3 else "")
    return {"id": row["id"], "question_stem": stem, "choices": choices, "answerKey": random.choice(labels)}


def commonsense_qa(random, index):
    labels = list("ABCDE")
    return {
        "id": f"q{index}",
        "question": question(random) + (" " if index % 3 == 0 else ""),
        "question_concept": random.choice(NOUNS),
        "choices": {"label": labels, "text": options(random, 5)},
        "answerKey": random.choice(labels),
    }


def hellaswag(random, index):
    first, second = sentence(random), random.choice(["the " + words(random, 1, 3), "ÉTÉ " + words(random, 1, 2), ""])
    return {
        "ind": index,
        "activity_label": words(random, 1, 3).capitalize(),
        "ctx_a": first,
        "ctx_b": second,
        "ctx": f"{first} {second}",
        "endings": [sentence(random) + random.choice(["", " ", "  [substeps] more"]) for _ in range(4)],
        "source_id": f"activitynet~v_{index}",
        "split": "val",
        "split_type": "indomain",
        "label": str(random.randrange(4)),
    }


def piqa(random, index):
    first, second = options(random, 2)
    return {"goal": sentence(random), "sol1": first, "sol2": second, "label": random.randrange(2)}


def winogrande(random, index):
    first, second = random.sample(NOUNS, 2)
    text = f"The {first} met the {second}{random.choice(MARKS)} because the _ {words(random, 2, 4)}."
    return {"sentence": text, "option1": first, "option2": second, "answer": random.choice("12")}


def boolq(random, index):
    passage = f"{sentence(random)}\n{sentence(random)}"
    return {"question": words(random, 3, 6), "passage": passage, "idx": index, "label": random.randrange(2)}


def truthfulqa(random, index):
    texts = options(random, 5 + index % 4)
    right = 1 + index % 3
    return {
        "question": question(random),
        "mc1_targets": {"choices": texts[:4], "labels": [1, 0, 0, 0]},
        "mc2_targets": {"choices": texts, "labels": [1] * right + [0] * (len(texts) - right)},
    }


def lambada(random, index):
    return {"text": f"{sentence(random)} {sentence(random)} {words(random, 3, 6)}"}


def wikitext(random, index):
    body = f" = {random.choice(NOUNS).title()} = \n \n {sentence(random)} In 19 @-@ 20 , 3 @,@ 000 "
    body += '"  bells " ( of 2 @.@ 5 kg )'
    return {"page": f"{body} rang ; it 's the boys ' [ old ] house . \n = = Next = = \n {sentence(random)} N 3 ° \n"}


def gsm8k(random, index):
    first, second = random.randint(2, 90), random.randint(2, 90)
    total = first * second * (12 if index % 3 else 1)
    shown = f"{total:,}" if index % 2 else str(total)
    steps = (
        f"There are {first}*{second}=<<{first}*{second}={first * second}>>{first * second} of them.\nIn all ${shown}."
    )
    return {
        "question": f"A {random.choice(NOUNS)} has {first} rows of {second}. How many?",
        "answer": f"{steps}\n#### {shown}",
    }


def math500(random, index):
    number = random.randint(2, 99)
    answer = [str(number), f"\\frac{{{number}}}{{7}}", f"\\left( {number}, 3 \\right)", f"{number}\\sqrt{{2}}"][
        index % 4
    ]
    return {
        "problem": f"Find $x$ if ${number}x = {number * 2}$ and {words(random, 2, 4)}.",
        "solution": f"We see that $x = \\boxed{{{answer}}}$.",
        "answer": answer,
        "subject": "Algebra",
        "level": 1 + index % 5,
        "unique_id": f"test/algebra/{index}.json",
    }


def aime(random, index):
    return {
        "ID": f"1990-{index}",
        "Year": 1990,
        "Problem Number": index,
        "Question": f"Find the number of {words(random, 2, 4)} with $n^2 < {index}$.",
        "Answer": str(random.randrange(1000)),
        "Part": None,
    }


def bbh(random, index):
    return {
        "input": f"Item {index}: {words(random, 2, 5)} is\nOptions:\n(A) yes\n(B) no",
        "target": random.choice(["(A)", "(B)", "True"]),
    }


def drop(random, index):
    date = {"day": "", "month": "", "year": ""}
    answers = [
        {"number": str(random.randint(1, 40)), "date": date, "spans": []},
        {"number": "", "date": date, "spans": [random.choice(NOUNS), "the " + random.choice(NOUNS)]},
        {"number": "", "date": {"day": "3", "month": "May", "year": "1990"}, "spans": []},
    ]
    own = answers[index % 3]
    others = [answers[(index + step) % 3] for step in range(1, 3)]
    ids = {"worker_id": "", "hit_id": ""}
    listed = {key: [answer[key] for answer in others] for key in ("number", "date", "spans")}
    listed |= {"worker_id": ["", ""], "hit_id": ["", ""]}
    return {
        "section_id": f"nfl_{index}",
        "query_id": f"{index:04}",
        "passage": f"{sentence(random)} {sentence(random)}",
        "question": question(random),
        "answer": own | ids,
        "validated_answers": listed,
    }


def squad2(random, index):
    context = sentence(random)
    texts = [] if index % 3 == 0 else context.split()[1:3]
    return {
        "id": f"{index:024x}",
        "title": random.choice(NOUNS).title(),
        "context": context,
        "question": question(random),
        "answers": {"text": texts, "answer_start": [context.index(text) for text in texts]},
    }


def triviaqa(random, index):
    aliases = [text.strip() for text in options(random, 1 + index % 4)]
    return {
        "question": question(random).rstrip("?"),
        "question_id": f"tc_{index}",
        "question_source": "",
        "answer": {"value": aliases[0], "aliases": aliases, "normalized_aliases": [text.lower() for text in aliases]},
    }


def nq_open(random, index):
    return {"question": words(random, 4, 8), "answer": [text.strip() for text in options(random, 1 + index % 3)]}


def gpqa(random, index):
    texts = options(random, 4)
    names = ["Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3", "Correct Answer"]
    extra = {
        "Explanation": sentence(random),
        "Subdomain": "Physics",
        "High-level domain": "Physics",
        "Record ID": f"rec{index}",
    }
    return {"Question": question(random) + "\n"} | dict(zip(names, texts)) | extra


def ifeval(random, index):
    names = list(INSTRUCTIONS)
    name = names[index % len(names)]
    return {
        "key": 1000 + index,
        "prompt": f"Write about the {words(random, 2, 4)}. Obey number {index}.",
        "instruction_id_list": [name],
        "kwargs": [INSTRUCTIONS[name][0]],
    }


def humaneval(random, index):
    head = f"from typing import List\n\n\ndef add_{index}(x: int) -> int:\n"
    head += f'    """ Adds {index} to x.\n    >>> add_{index}(1)\n    {1 + index}\n    """\n'
    return {
        "task_id": f"Own/{index}",
        "prompt": head,
        "canonical_solution": f"    return x + {index}\n",
        "test": f"def check(candidate):\n    assert candidate(1) == {1 + index}\n    assert candidate(0) == {index}\n",
        "entry_point": f"add_{index}",
    }


def mbpp(random, index):
    has_setup = index % 4 == 3
    expected = "START + " if has_setup else ""
    tests = [f"assert add_{index}({value}) == {expected}{value + index}" for value in range(3)]
    return {
        "task_id": 11 + index,
        "text": f"Write a function to add {index} to a number.",
        "code": f"def add_{index}(x):\r\n  return x + {index}",
        "test_list": tests,
        "test_setup_code": "START = 0" if has_setup else "",
        "challenge_test_list": [],
    }


def mmlu(subject):
    def row(random, index):
        texts = options(random, 4)
        asked = question(random) + ("\n" if index % 5 == 2 else "")
        return {"question": asked, "subject": subject, "choices": texts, "answer": random.randrange(4)}

    return row


CATEGORIES = [
    *["biology", "business", "chemistry", "computer science", "economics", "engineering", "health", "history"],
    *["law", "math", "other", "philosophy", "physics", "psychology"],
]


def mmlu_pro(random, index):
    category = CATEGORIES[index % len(CATEGORIES)]
    texts = options(random, 3 + index % 8)
    answer = random.randrange(len(texts))
    steps = f"A: Let's think step by step. {sentence(random)} The answer is ({chr(65 + answer)})."
    return {
        "question_id": index,
        "question": question(random),
        "options": texts,
        "answer": chr(65 + answer),
        "answer_index": answer,
        "cot_content": steps,
        "category": category,
        "src": "own",
    }


def mmmu(random, index):
    is_open = index % 4 == 3
    texts = [text.strip() for text in options(random, 4)]
    has_two = index % 3 == 1
    images = {f"image_{place}": PICTURE if place == 1 or place == 2 and has_two else None for place in range(1, 8)}
    shown = question(random)
    if has_two:
        shown = f"{shown} Compare <image 2> with it."
    elif index % 3 == 2:
        texts[1] = "<image 1>"
    number = str(random.randint(1, 99))
    # Some open questions have several answers, printed as a list.
    open_answer = repr([number, f"{number}.0"]) if random.random() < 0.3 else number
    return {
        "id": f"validation_{index}",
        "question": f"<image 1> {shown}",
        "options": "[]" if is_open else repr(texts),
        "explanation": "",
        "img_type": "['Paintings']",
        "answer": open_answer if is_open else random.choice("ABCD"),
        "topic_difficulty": "Easy",
        "question_type": "open" if is_open else "multiple-choice",
        "subfield": "Drawing",
    } | images


def docvqa(random, index):
    return {
        "questionId": str(index),
        "question": question(random),
        "question_types": ["form"],
        "image": PICTURE,
        "docId": index // 2,
        "ucsf_document_id": "a",
        "ucsf_document_page_no": "1",
        "answers": [text.strip() for text in options(random, 1 + index % 2)],
        "data_split": "val",
    }


def mathvista(random, index):
    is_open = index % 2 == 0
    choices = None if is_open else [text.strip() for text in options(random, 4)]
    asked = question(random)
    hint = "Hint: Write a whole number at the end."
    shown = "" if is_open else "\nChoices:\n" + "\n".join(f"({letter}) {text}" for letter, text in zip("ABCD", choices))
    return {
        "pid": str(index),
        "question": asked,
        "image": "images/1.jpg",
        "decoded_image": PICTURE,
        "choices": choices,
        "unit": None,
        "precision": None,
        "answer": str(index) if is_open else choices[index % 4],
        "question_type": "free_form" if is_open else "multi_choice",
        "answer_type": "integer" if is_open else "text",
        "metadata": {"task": "geometry problem solving", "split": "testmini"},
        "query": f"{hint}\nQuestion: {asked}{shown}",
    }


def simpleqa(random, index):
    metadata = "{'topic': 'Art', 'answer_type': 'Person', 'urls': []}"
    return {"metadata": metadata, "problem": question(random), "answer": words(random, 1, 2)}


def mt_bench(random, index):
    reference = [] if index % 2 else [words(random, 2, 4), words(random, 2, 4)]
    return {
        "prompt": [question(random), question(random)],
        "prompt_id": index,
        "category": "math",
        "reference": reference,
    }


def subsets_of(suite):
    """Returns the subsets that a suite lists."""
    return yaml.safe_load((SUITES / f"{suite}.yaml").read_text())["datasets"][0]["params"]["subset"]


SUBJECTS = subsets_of("mmlu_redux")

# Dataset and subset: the maker of a row, and the splits.
DATASETS = {
    ("allenai/ai2_arc", "ARC-Easy"): (arc, ["train", "validation", "test"]),
    ("allenai/ai2_arc", "ARC-Challenge"): (arc, ["train", "validation", "test"]),
    ("Rowan/hellaswag", None): (hellaswag, ["train", "validation"]),
    ("baber/piqa", None): (piqa, ["train", "validation"]),
    ("allenai/winogrande", "winogrande_xl"): (winogrande, ["train", "validation"]),
    ("aps/super_glue", "boolq"): (boolq, ["train", "validation"]),
    ("allenai/openbookqa", "main"): (openbookqa, ["train", "validation", "test"]),
    ("tau/commonsense_qa", None): (commonsense_qa, ["train", "validation"]),
    ("truthfulqa/truthful_qa", "multiple_choice"): (truthfulqa, ["validation"]),
    ("EleutherAI/lambada_openai", "default"): (lambada, ["test"]),
    ("EleutherAI/wikitext_document_level", "wikitext-2-raw-v1"): (wikitext, ["train", "validation", "test"]),
    ("openai/gsm8k", "main"): (gsm8k, ["train", "test"]),
    ("HuggingFaceH4/MATH-500", None): (math500, ["test"]),
    ("gneubig/aime-1983-2024", None): (aime, ["train"]),
    ("EleutherAI/drop", None): (drop, ["train", "validation"]),
    ("lighteval/squad_v2", None): (squad2, ["train", "validation"]),
    ("mandarjoshi/trivia_qa", "rc.nocontext"): (triviaqa, ["train", "validation"]),
    ("google-research-datasets/nq_open", None): (nq_open, ["train", "validation"]),
    ("Idavidrein/gpqa", "gpqa_main"): (gpqa, ["train"]),
    ("google/IFEval", None): (ifeval, ["train"]),
    ("openai/openai_humaneval", None): (humaneval, ["test"]),
    ("google-research-datasets/mbpp", "full"): (mbpp, ["train", "test"]),
    ("TIGER-Lab/MMLU-Pro", None): (mmlu_pro, ["validation", "test"]),
    ("lmms-lab/DocVQA", "DocVQA"): (docvqa, ["validation"]),
    ("AI4Math/MathVista", None): (mathvista, ["testmini"]),
    ("basicv8vc/SimpleQA", None): (simpleqa, ["test"]),
    ("HuggingFaceH4/mt_bench_prompts", None): (mt_bench, ["train"]),
}
DATASETS |= {("SaylorTwift/bbh", task): (bbh, ["test"]) for task in subsets_of("bbh")}
DATASETS |= {("cais/mmlu", subject): (mmlu(subject), ["dev", "test"]) for subject in [*SUBJECTS, "all"]}
DATASETS |= {("fxmarty/mmlu-redux-2.0-ok", subject): (mmlu(subject), ["test"]) for subject in SUBJECTS}
DATASETS |= {("MMMU/MMMU", subject): (mmmu, ["validation"]) for subject in subsets_of("mmmu")}
SPLIT_BY_SUBSET = {"SaylorTwift/bbh", "cais/mmlu", "fxmarty/mmlu-redux-2.0-ok", "MMMU/MMMU"}


def real_rows(dataset, split):
    """Returns the first rows of PIQA and GSM8K, if $LOCAL_DATASETS_ROOT has them."""
    root = Path(os.environ.get("LOCAL_DATASETS_ROOT", "/nowhere"))
    name = {("openai/gsm8k", "test"): "gsm8k/test.jsonl", ("baber/piqa", "validation"): "piqa/valid.jsonl"}.get(
        (dataset, split)
    )
    if name is None or not (root / name).is_file():
        return None
    with open(root / name) as file:
        rows = [json.loads(line) for line, _ in zip(file, range(REAL_ROWS))]
    if dataset == "baber/piqa":
        labels = (root / "piqa/valid-labels.lst").read_text().split()
        rows = [row | {"label": int(label)} for row, label in zip(rows, labels)]
    return rows


def count_of(dataset, is_evaluated):
    """Returns the number of rows of a split."""
    if dataset == "TIGER-Lab/MMLU-Pro":
        return len(CATEGORIES) * ROWS_OF_SUBSET
    if not is_evaluated:
        return SHOTS
    return ROWS_OF_SUBSET if dataset in SPLIT_BY_SUBSET else ROWS


def rows_of(dataset, subset, split):
    """Returns the rows of a split."""
    if rows := real_rows(dataset, split):
        return rows
    if (dataset, subset) == ("cais/mmlu", "all"):
        return [row for subject in SUBJECTS for row in rows_of(dataset, subject, split)]
    maker, splits = DATASETS[dataset, subset]
    if split not in splits:
        raise KeyError(f"{dataset} has no split {split}")
    random = Random(f"{dataset} {subset} {split}")
    return [maker(random, index) for index in range(count_of(dataset, split == splits[-1]))]


def evaluated_rows(params):
    """Returns the rows of a suite's dataset, in the order of its subsets. Each has the field `subset`."""
    name, split, subset = params["hub_id"], params["split"], params.get("subset")
    found = []
    for one in subset if isinstance(subset, list) else [subset]:
        known = one if (name, one) in DATASETS else None
        found += [row | {"subset": one} for row in rows_of(name, known, split)]
    return found
