"""Suites, their tasks of lm-evaluation-harness, the figures to compare, and the key of answers."""

import ast
import re
from dataclasses import dataclass, field

from instructions import INSTRUCTIONS
from rows import CATEGORIES, SUBJECTS, subsets_of


@dataclass
class Pair:
    """A suite and its counterpart."""

    suite: str
    # Each task, with the value of `group` in its rows, or with `None` if it has all rows.
    tasks: dict
    # Field of a row that tells it apart from others, and is found in its prompt.
    key: str
    # Right answer of a row.
    gold: object = None
    # Usual form of an answer.
    form: str = " {}"
    # Wrong answer of a row.
    wrong: object = lambda row: "7777"
    # Whether a text, which is scored, is a row's prompt with the right option.
    is_right: object = None
    # Whether the prompt lacks the text of `key`, so that the row is one of which the text is right.
    is_hidden: bool = False
    # Field of the rows that tells the rows of one task from those of others.
    group: str = "subset"
    num_fewshot: int | None = None
    # Metric of the suite and its sub-score, by the name of the figure and the filter.
    figures: dict = field(default_factory=dict)
    # Further figures of the whole run.
    totals: dict = field(default_factory=dict)
    # Text of the prompt by the source that the card states, if lm-evaluation-harness has no such task.
    source: object = None
    # Reason why a part is not compared, or differs, and the number of prompts and scores that differ.
    reason: str = ""
    prompts_differ: int = 0
    scores_differ: int = 0


ORDER = "lm-eval shuffles the options by a global generator, which is replaced by the order of the suite"
ACC = {("acc", "none"): ("acc", None)}
BOTH = ACC | {("acc_norm", "none"): ("acc_norm", None)}
PERPLEXITIES = {(name, "none"): (name, None) for name in ("word_perplexity", "byte_perplexity", "bits_per_byte")}


def match(filter_name, metric="exact_match"):
    return {("exact_match", filter_name): (metric, None)}


def one(task):
    """Returns the tasks of a suite with one task."""
    return {task: None}


def ends_with(right):
    """Returns a test for texts that end with the text of the right option, which `right` gives for a row."""
    return lambda text, row: text.endswith(right(row))


def text_of_label(row):
    """Returns the text of the right option of a row of ARC or OpenBookQA."""
    return row["choices"]["text"][row["choices"]["label"].index(row["answerKey"])]


def without_marks(text):
    """Returns a text of HellaSwag without the marks of its source."""
    return re.sub(r"\[.*?\]", "", text.strip().replace(" [title]", ". ")).replace("  ", " ")


def is_right_ending(text, row):
    question = f"{row['activity_label']}: {row['ctx_a']} {row['ctx_b'].capitalize()}"
    return text == f"{without_marks(question)} {without_marks(row['endings'][int(row['label'])])}"


def is_right_sentence(text, row):
    return text == row["sentence"].replace("_", row["option" + row["answer"]])


def is_right_truth(name):
    def test(text, row):
        targets = row[name]
        right = [choice for choice, label in zip(targets["choices"], targets["labels"]) if label]
        return any(text.endswith(f"\nA: {choice}") for choice in right)

    return test


def is_right_bracket(text, row):
    shown = row["Correct Answer"].strip().replace(" [title]", ". ").replace("  ", " ")
    letter = re.findall(r"^\((.)\) " + re.escape(shown) + "$", text, re.MULTILINE)[-1]
    return text.endswith(f"Answer: ({letter})")


def other_letter(row):
    """Returns a letter that is not the right one, of rows whose answer is a letter or the place of one."""
    answer = row["answer"]
    place = "ABCDEFGHIJ".index(answer) if isinstance(answer, str) and answer in "ABCDEFGHIJ" else answer
    return "AB"[place == 0] if isinstance(place, int) else "nothing"


def first_answer(row):
    """Returns the answer of a row of MMMU, or the first of several."""
    return ast.literal_eval(row["answer"])[0] if row["answer"].startswith("[") else row["answer"]


def letter_or_number(row):
    """Returns the answer that the prompt of a row of MathVista asks for."""
    return "ABCD"[row["choices"].index(row["answer"])] if row["choices"] else row["answer"]


def follows(row):
    return INSTRUCTIONS[row["instruction_id_list"][0]][1]


def ignores(row):
    return INSTRUCTIONS[row["instruction_id_list"][0]][2]


LIKELIHOODS = [
    Pair("arc_easy", one("arc_easy"), "question", figures=BOTH),
    Pair("arc_challenge", one("arc_challenge"), "question", figures=BOTH),
    Pair("hellaswag", one("hellaswag"), "ctx", is_right=is_right_ending, is_hidden=True, figures=BOTH),
    Pair(
        "piqa",
        one("piqa"),
        "goal",
        is_right=ends_with(lambda row: "\nAnswer: " + row["sol1" if row["label"] == 0 else "sol2"]),
        figures=BOTH,
    ),
    Pair("winogrande", one("winogrande"), "sentence", is_right=is_right_sentence, is_hidden=True, figures=ACC),
    Pair(
        "boolq",
        one("boolq"),
        "passage",
        is_right=ends_with(lambda row: "\nAnswer: " + ["no", "yes"][row["label"]]),
        figures=ACC,
    ),
    Pair(
        "openbookqa",
        one("openbookqa"),
        "question_stem",
        is_right=lambda text, row: text == row["question_stem"] + " " + text_of_label(row),
        figures=BOTH,
    ),
    Pair(
        "commonsenseqa",
        one("commonsense_qa"),
        "question",
        is_right=ends_with(lambda row: "\nAnswer: " + row["answerKey"]),
        figures=ACC,
    ),
    Pair("truthfulqa_mc1", one("truthfulqa_mc1"), "question", is_right=is_right_truth("mc1_targets"), figures=ACC),
    Pair(
        "truthfulqa_mc2",
        one("truthfulqa_mc2"),
        "question",
        is_right=is_right_truth("mc2_targets"),
        figures={("acc", "none"): ("mc2", None)},
    ),
    Pair(
        "lambada",
        one("lambada_openai"),
        "text",
        is_right=lambda text, row: True,
        figures=ACC,
        totals={("perplexity", "none"): ("perplexity", None)},
    ),
    Pair("wikitext", one("wikitext"), "page", is_right=lambda text, row: True, figures=PERPLEXITIES),
    Pair(
        "mmlu",
        {f"mmlu_{subject}": subject for subject in SUBJECTS},
        "question",
        is_right=ends_with(lambda row: "\nAnswer: " + "ABCD"[row["answer"]]),
        group="subject",
        num_fewshot=5,
        figures=ACC,
    ),
    Pair("gpqa", one("gpqa_main_zeroshot"), "Question", is_right=is_right_bracket, figures=BOTH, reason=ORDER),
]
for pair in LIKELIHOODS[:2]:
    pair.is_right = ends_with(lambda row: "\nAnswer: " + text_of_label(row))

ANSWERS = [
    Pair(
        "gsm8k",
        one("gsm8k"),
        "question",
        lambda row: row["answer"].split("#### ")[-1],
        form="Steps.\n#### {}",
        figures=match("strict-match", "strict_match") | match("flexible-extract", "flexible_extract"),
    ),
    Pair(
        "math500",
        one("minerva_math500"),
        "problem",
        lambda row: row["answer"],
        form="So it is $\\boxed{{{0}}}$.\nFinal Answer: The final answer is ${0}$. I hope it is correct.",
        figures={("math_verify", "none"): ("math_equal", None)},
        reason="of answers without dollar signs and box, math_verify takes the formula that it finds, "
        "and math_equal the final answer",
        scores_differ=5,
    ),
    Pair("aime", one("aime"), "Question", lambda row: row["Answer"], figures=match("none", "math_equal")),
    Pair(
        "bbh",
        {f"bbh_cot_fewshot_{task}": task for task in subsets_of("bbh")},
        "input",
        lambda row: row["target"],
        form="So the answer is {}.",
        figures=match("get-answer"),
    ),
    Pair(
        "drop",
        one("drop"),
        "question",
        lambda row: row["answer"]["number"] or "3 May 1990",
        figures={("em", "none"): ("drop", "exact_match"), ("f1", "none"): ("drop", None)},
    ),
    Pair(
        "squad2",
        one("squadv2"),
        "question",
        lambda row: (row["answers"]["text"] or [""])[0],
        figures={("f1", "none"): ("squad", None), ("exact", "none"): ("squad", "exact_match")},
        reason="lm-eval also asks for the likelihood of `unanswerable`, for two figures that are not reported",
        prompts_differ=20,
    ),
    Pair(
        "triviaqa",
        one("triviaqa"),
        "question",
        lambda row: row["answer"]["aliases"][-1].upper(),
        figures=match("remove_whitespace"),
    ),
    Pair("nq_open", one("nq_open"), "question", lambda row: row["answer"][-1], figures=match("remove_whitespace")),
    Pair(
        "ifeval",
        one("ifeval"),
        "prompt",
        follows,
        form="{}",
        wrong=ignores,
        figures={
            ("prompt_level_strict_acc", "none"): ("prompt_level", None),
            ("prompt_level_loose_acc", "none"): ("prompt_level", "loose"),
        },
    ),
    Pair(
        "humaneval",
        one("humaneval"),
        "prompt",
        lambda row: row["canonical_solution"],
        form="{}",
        wrong=lambda row: "    return None\n",
        figures={("pass@1", "create_test"): ("python_tests", None)},
    ),
    Pair(
        "mbpp",
        one("mbpp"),
        "text",
        lambda row: row["code"],
        form="{}\n[DONE]",
        wrong=lambda row: row["code"].split("\r\n")[0] + "\n  return None",
        figures={("pass_at_1", "none"): ("python_tests", None)},
        reason="lm-eval leaves out `test_setup_code`",
        scores_differ=4,
    ),
    Pair(
        "mmlu_pro",
        {f"mmlu_pro_{category.replace(' ', '_')}": category for category in CATEGORIES},
        "question",
        lambda row: row["answer"],
        form="The answer is ({}).",
        wrong=other_letter,
        group="category",
        figures=match("custom-extract"),
    ),
    Pair(
        "mmlu_redux",
        {f"mmlu_redux_{subject}_generative": subject for subject in SUBJECTS},
        "question",
        lambda row: "ABCD"[row["answer"]],
        wrong=other_letter,
        figures=match("default"),
    ),
    Pair(
        "mmmu",
        {f"mmmu_val_{subject.lower()}": subject for subject in subsets_of("mmmu")},
        "question",
        first_answer,
        wrong=other_letter,
        figures={("acc", "none"): ("acc", None)},
        reason="lm-eval takes a random option if no letter is in brackets or between blanks, as in `\\boxed{B}`, "
        "and compares a list of right answers as one text",
        scores_differ=18,
    ),
    Pair(
        "docvqa",
        {},
        "question",
        lambda row: row["answers"][0],
        source=lambda row: f"<image>{row['question']}\nAnswer the question using a single word or phrase.",
    ),
    Pair("mathvista", {}, "question", letter_or_number, source=lambda row: "<image>" + row["query"]),
    Pair("simpleqa", {}, "problem", lambda row: row["answer"], source=lambda row: row["problem"]),
    Pair("mt_bench", {}, "prompt", lambda row: "a better answer", source=lambda row: row["prompt"][0]),
]

PAIRS = LIKELIHOODS + ANSWERS
