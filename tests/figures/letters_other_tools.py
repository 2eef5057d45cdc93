"""Reads letters.jsonl by the rules of other tools, and counts right and wrong answers.

    python3 tests/figures/letters_other_tools.py

`run.py` prints the counts beside those of gage-host. The rules are regular expressions, written again here; no package
of the tools is needed.
"""

import json
import pathlib
import re

CORPUS = pathlib.Path(__file__).parent / "corpora" / "letters.jsonl"

# TIGER-AI-Lab/MMLU-Pro, compute_accuracy.py and evaluate_from_local.py: extract_answer, extract_again and
# extract_final, one after the other. The last one was changed; the earlier form is ANY_LETTER.
ANSWER_IS = re.compile(r"answer is \(?([A-J])\)?")
ANSWER_COLON = re.compile(r".*[aA]nswer:\s*([A-J])")
LAST_LETTER = re.compile(r"\b([A-J])\b(?!.*\b[A-J]\b)", re.DOTALL)
ANY_LETTER = re.compile(r"([A-J])(?=[^A-J]*$)")

# EleutherAI/lm-evaluation-harness 0.4.13, lm_eval/tasks/mmlu_pro/_default_template_yaml: the filter custom-extract,
# whose first match counts.
MMLU_PRO_FILTER = re.compile(r"answer is \(?([ABCDEFGHIJ])\)?")


def first_of(*patterns):
    """Returns a reader that tries each pattern in turn."""

    def read(text):
        found = (pattern.search(text) for pattern in patterns)
        return next((match.group(1) for match in found if match), None)

    return read


TOOLS = {
    "MMLU-Pro, three stages": first_of(ANSWER_IS, ANSWER_COLON, LAST_LETTER),
    "MMLU-Pro, earlier third stage": first_of(ANSWER_IS, ANSWER_COLON, ANY_LETTER),
    "lm-evaluation-harness, mmlu_pro": first_of(MMLU_PRO_FILTER),
}


def main():
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    print(f"{'tool':34} {'right':>6} {'wrongly named':>14} {'wrongly none':>13}")
    for name, read in TOOLS.items():
        pairs = [(read(row["answer"]), row["expected"]) for row in rows]
        right = sum(found == expected for found, expected in pairs)
        none = sum(found is None and expected is not None for found, expected in pairs)
        print(f"{name:34} {right:6} {len(rows) - right - none:14} {none:13}")


if __name__ == "__main__":
    main()
