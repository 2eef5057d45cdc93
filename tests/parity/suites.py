"""Suites, the tasks of lm-evaluation-harness that they are compared with, and the figures to compare."""

from dataclasses import dataclass, field


@dataclass
class Pair:
    """A suite and its counterpart."""

    suite: str
    tasks: list[str]
    # Field of a row that tells it apart from others, and is found in its prompt.
    key: str
    # Right answer of a row, for the mock server.
    gold: object = None
    # Usual form of an answer.
    form: str = " {}"
    num_fewshot: int | None = None
    # Metric of the suite and its sub-score, by the name of the figure and the filter.
    figures: dict = field(default_factory=dict)
    # Text of the prompt by the source that the card states, if lm-evaluation-harness has no such task.
    source: object = None
    # Reason why a part is not compared, or differs, and the number of prompts and scores that differ.
    reason: str = ""
    prompts_differ: int = 0
    scores_differ: int = 0


ACC = {("acc", "none"): ("acc", None)}
BOTH = ACC | {("acc_norm", "none"): ("acc_norm", None)}


def match(filter_name, metric="exact_match"):
    return {("exact_match", filter_name): (metric, None)}


PAIRS = [
    Pair("arc_easy", ["arc_easy"], "question", figures=BOTH),
    Pair("arc_challenge", ["arc_challenge"], "question", figures=BOTH),
    Pair("hellaswag", ["hellaswag"], "ctx", figures=BOTH),
    Pair("piqa", ["piqa"], "goal", figures=BOTH),
    Pair("winogrande", ["winogrande"], "sentence", figures=ACC),
    Pair("boolq", ["boolq"], "passage", figures=ACC),
    Pair("openbookqa", ["openbookqa"], "question_stem", figures=BOTH),
    Pair("commonsenseqa", ["commonsense_qa"], "question", figures=ACC),
    Pair("truthfulqa_mc1", ["truthfulqa_mc1"], "question", figures=ACC),
    Pair("truthfulqa_mc2", ["truthfulqa_mc2"], "question", figures={("acc", "none"): ("mc2", None)}),
    Pair("lambada", ["lambada_openai"], "text", figures=ACC),
    Pair(
        "wikitext", ["wikitext"], "page", reason="servers do not score whole texts; tests/figures compares the formulas"
    ),
    Pair("mmlu", ["mmlu_anatomy", "mmlu_college_physics"], "question", num_fewshot=5, figures=ACC),
    Pair("gpqa", ["gpqa_main_zeroshot"], "Question", figures=BOTH),
    Pair(
        "gsm8k",
        ["gsm8k"],
        "question",
        lambda row: row["answer"].split("#### ")[-1],
        form="Steps.\n#### {}",
        figures=match("strict-match", "strict_match") | match("flexible-extract", "flexible_extract"),
    ),
    Pair(
        "math500",
        ["minerva_math500"],
        "problem",
        lambda row: row["answer"],
        form="So it is $\\boxed{{{0}}}$.\nFinal Answer: The final answer is ${0}$. I hope it is correct.",
        figures={("math_verify", "none"): ("math_equal", None)},
        reason="math_verify reads formulas in dollar signs or a box only; math_equal reads the final answer",
        scores_differ=1,
    ),
    Pair("aime", ["aime"], "Question", lambda row: row["Answer"], figures=match("none", "math_equal")),
    Pair(
        "bbh",
        ["bbh_cot_fewshot_boolean_expressions", "bbh_cot_fewshot_snarks"],
        "input",
        lambda row: row["target"],
        form="So the answer is {}.",
        figures=match("get-answer"),
    ),
    Pair(
        "drop",
        ["drop"],
        "question",
        lambda row: row["answer"]["number"] or "3 May 1990",
        figures={("em", "none"): ("drop", "exact_match"), ("f1", "none"): ("drop", None)},
    ),
    Pair(
        "squad2",
        ["squadv2"],
        "question",
        lambda row: (row["answers"]["text"] or [""])[0],
        figures={("f1", "none"): ("squad", None), ("exact", "none"): ("squad", "exact_match")},
        reason="lm-eval also asks for the likelihood of `unanswerable`, for two figures that are not reported",
        prompts_differ=20,
    ),
    Pair(
        "triviaqa",
        ["triviaqa"],
        "question",
        lambda row: row["answer"]["aliases"][-1].upper(),
        figures=match("remove_whitespace"),
    ),
    Pair("nq_open", ["nq_open"], "question", lambda row: row["answer"][-1], figures=match("remove_whitespace")),
    Pair(
        "ifeval",
        ["ifeval"],
        "prompt",
        lambda row: "No commas, here." if row["key"] % 2 else "No commas here.",
        figures={
            ("prompt_level_strict_acc", "none"): ("prompt_level", None),
            ("prompt_level_loose_acc", "none"): ("prompt_level", "loose"),
        },
    ),
    Pair(
        "humaneval",
        ["humaneval"],
        "prompt",
        lambda row: row["canonical_solution"],
        figures={("pass@1", "create_test"): ("python_tests", None)},
    ),
    Pair("mbpp", ["mbpp"], "text", lambda row: row["code"], figures={("pass_at_1", "none"): ("python_tests", None)}),
    Pair(
        "mmlu_pro",
        ["mmlu_pro_law", "mmlu_pro_computer_science"],
        "question",
        lambda row: row["answer"],
        form="The answer is ({}).",
        figures=match("custom-extract"),
    ),
    Pair(
        "mmlu_redux",
        ["mmlu_redux_anatomy_generative"],
        "question",
        lambda row: "ABCD"[row["answer"]],
        figures=match("default"),
    ),
    Pair(
        "mmmu",
        ["mmmu_val_art"],
        "question",
        lambda row: row["answer"],
        figures={("acc", "none"): ("acc", None)},
        reason="lm-eval finds the number of an open answer within a sentence",
        scores_differ=1,
    ),
    Pair(
        "docvqa",
        [],
        "question",
        source=lambda row: f"<image>{row['question']}\nAnswer the question using a single word or phrase.",
    ),
    Pair("mathvista", [], "question", source=lambda row: "<image>" + row["query"]),
    Pair("simpleqa", [], "problem", source=lambda row: row["problem"]),
    Pair("mt_bench", [], "question", source=lambda row: row["question"]),
]
