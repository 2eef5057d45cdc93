"""Metrics that compare texts: BLEU, chrF, ROUGE, F1 of words, SQuAD and ANLS."""

import logging
import unicodedata

import regex
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

from . import definitions
from .program import Failed, metric, scoring
from .results import agreement, is_close, several
from .texts import pairs

BLEU_FORMS = {
    "13a": ({}, {}),
    "zh": ({"tokenize": "zh"}, {"tokenize": "zh"}),
    "char": ({"tokenize": "char"}, {"tokenize": "char"}),
    "intl, lower case": ({"tokenize": "intl", "lowercase": True},) * 2,
    "without effective order": ({"effective_order": False},) * 2,
    "floor": ({"smooth_method": "floor"},) * 2,
    "add-k": ({"smooth_method": "add-k"},) * 2,
}
CHRF_FORMS = {
    "chrF": {},
    "chrF++": {"word_order": 2},
    "white space, lower case": {"whitespace": True, "lowercase": True},
}
ROUGE_VALUES = {"rouge1": "rouge1", "rouge2": "rouge2", "rougeL": "rouge_l", "rougeLsum": "rouge_lsum"}
# Of these parameters, those of `corpus_bleu`.
SMOOTHING = ("smooth_method", "smooth_value")
OTHER_SCRIPTS = "rouge-score has no words outside of ASCII letters and digits; gage-host reads every script."
NO_WORDS = "Neither text has a word: gage-host takes them for equal, and rouge-score gives 0."
LENGTHS = "The script divides by the length before white space is removed; gage-host by the length of what it compares."


class EveryScript:
    """A tokenizer for rouge-score: words of every script, and Chinese and Japanese characters one by one."""

    CHARACTER = r"[\p{Han}\p{Hiragana}\p{Katakana}]\p{M}*"
    WORD = regex.compile(CHARACTER + r"|[\p{L}\p{N}][\p{L}\p{N}\p{M}--\p{Han}]*", regex.V1)

    def tokenize(self, text):
        """Returns the words of a text."""
        text = unicodedata.normalize("NFC", text).lower()
        return self.WORD.findall(text)


def metrics():
    """Returns the metrics of the suite."""
    found = []
    for name, (params, _) in BLEU_FORMS.items():
        smoothing = {key: params[key] for key in SMOOTHING if key in params}
        found.append(metric(f"bleu {name}", "bleu", {"corpus_bleu": smoothing}, **params))
    for name, params in CHRF_FORMS.items():
        found.append(metric(f"chrf {name}", "chrf", "corpus_chrf", **params))
    for stems in (False, True):
        params = {"tokenizer": "rouge_score", "use_stemmer": stems}
        found.append(metric(f"rouge_l {stems}", "rouge_l", **params))
        found.append(metric(f"reference_rouge {stems}", "reference_rouge", decimals=15, **params))
    found.append(metric("token_f1", "token_f1"))
    found.append(metric("token_f1 ascii", "token_f1", tokenizer="rouge_score"))
    found.append(metric("squad 1.1", "squad", version="1.1"))
    found.append(metric("squad 2.0", "squad", version="2.0"))
    found.append(metric("docvqa_anls", "docvqa_anls"))
    return found


def figures(program):
    """Returns the rows of the table."""
    given = pairs()
    rows = [{"id": str(at), "question": f"pair {at}", "references": each.references} for at, each in enumerate(given)]
    answers = [[each.answer] for each in given]
    run = program.answer("overlap", rows, answers, {"pairs": scoring(metrics())})["pairs"]
    for each, answer in zip(given, run.outputs("answer"), strict=True):
        if each.answer != answer:
            raise Failed(f"the answer {each.answer!r} was recorded as {answer!r}")
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    return [*translation(run, given), *rouge(run, given), *words(run, given)]


def streams(given):
    """Returns the references as sacreBLEU wants them: the first of each pair, the second of each, and so on."""
    most = max(len(each.references) for each in given)
    return [[each.references[at] if at < len(each.references) else None for each in given] for at in range(most)]


def translation(run, given):
    """Compares BLEU and chrF with sacreBLEU."""
    answers, references = [each.answer for each in given], streams(given)
    for name, (_, params) in BLEU_FORMS.items():
        sentence = BLEU(**{"effective_order": True} | params)
        theirs = [sentence.sentence_score(each.answer, each.references).score for each in given]
        yield agreement(f"`bleu`, {name}", "sacreBLEU", run.scores(f"bleu {name}"), theirs, given)
    forms = {name: BLEU(**{"effective_order": False} | params) for name, (_, params) in BLEU_FORMS.items()}
    yield several(
        "`corpus_bleu` of these forms",
        "sacreBLEU",
        {name: run.figure(f"bleu {name}") for name in BLEU_FORMS},
        {name: form.corpus_score(answers, references).score for name, form in forms.items()},
    )
    for name, params in CHRF_FORMS.items():
        sentence = CHRF(**params)
        theirs = [sentence.sentence_score(each.answer, each.references).score for each in given]
        yield agreement(f"`chrf`, {name}", "sacreBLEU", run.scores(f"chrf {name}"), theirs, given)
    yield several(
        "`corpus_chrf` of these forms",
        "sacreBLEU",
        {name: run.figure(f"chrf {name}") for name in CHRF_FORMS},
        {name: CHRF(**each).corpus_score(answers, references).score for name, each in CHRF_FORMS.items()},
    )


def rouge(run, given):
    """Compares ROUGE with rouge-score."""
    for stems in (False, True):
        scorer = RougeScorer(list(ROUGE_VALUES), use_stemmer=stems)
        theirs = [scorer.score_multi(each.references, each.answer) for each in given]
        of = {name: [score[name].fmeasure for score in theirs] for name in ROUGE_VALUES}
        suffix = ", stems" if stems else ""
        lsum = run.scores(f"rouge_l {stems}", "rouge_lsum")
        yield agreement(f"`rouge_l`{suffix}", "rouge-score", run.scores(f"rouge_l {stems}"), of["rougeL"], given)
        yield agreement(f"`rouge_l`, Lsum{suffix}", "rouge-score", lsum, of["rougeLsum"], given)
        for name, value in ROUGE_VALUES.items():
            ours = [score_of(card, value) for card in run.cards(f"reference_rouge {stems}")]
            yield agreement(f"`reference_rouge`, {value}{suffix}", "rouge-score", ours, of[name], given)


def score_of(card, value):
    """Returns a value of a card by its name: the first value is the primary score."""
    return card["primary_score"] if value == "rouge1" else card["sub_scores"][value]


def words(run, given):
    """Compares F1 of words with rouge-score, and SQuAD and ANLS with their scripts."""
    ascii, every = RougeScorer(["rouge1"]), RougeScorer(["rouge1"], tokenizer=EveryScript())
    unigrams = {
        scorer: [scorer.score_multi(each.references, each.answer)["rouge1"].fmeasure for each in given]
        for scorer in (ascii, every)
    }
    for name, reference, scorer, known in (
        ("token_f1", "ROUGE-1 of rouge-score", ascii, other_scripts),
        ("token_f1", "rouge-score, given words of every script", every, without_words("[\\p{L}\\p{N}]")),
        ("token_f1 ascii", "ROUGE-1 of rouge-score", ascii, without_words("[a-z0-9]")),
    ):
        label = "`token_f1`, `tokenizer: rouge_score`" if name.endswith("ascii") else "`token_f1`"
        yield agreement(label, reference, run.scores(name), unigrams[scorer], given, known)
    for version in ("1.1", "2.0"):
        script = definitions.Squad(version)
        f1 = [script.f1(each.answer, each.references) for each in given]
        exact = [script.exact(each.answer, each.references) for each in given]
        name = f"squad {version}"
        yield agreement(f"`squad` {version}, F1", "definition of the script", run.scores(name), f1, given)
        ours = run.scores(name, "exact_match")
        yield agreement(f"`squad` {version}, exact match", "definition of the script", ours, exact, given)
    ours = run.scores("docvqa_anls")
    for is_script, source in ((False, "article"), (True, "script")):
        theirs = [definitions.anls(each.answer, each.references, is_script) for each in given]
        yield agreement("`docvqa_anls`", f"definition of the {source}", ours, theirs, given, anls_difference)


def other_scripts(pair, ours):
    """Explains a difference by letters that rouge-score does not read."""
    texts = [pair.answer, *pair.references]
    if any(one.isalnum() and not one.isascii() for text in texts for one in text):
        return OTHER_SCRIPTS
    return without_words("[a-z0-9]")(pair, ours)


def without_words(character):
    """Returns a function that explains a difference by texts without words, of which this is a character."""

    def explain(pair, ours):
        has_words = [regex.search(character, text.lower()) for text in (pair.answer, *pair.references)]
        return NO_WORDS if ours == 1 and not has_words[0] and not all(has_words[1:]) else None

    return explain


def anls_difference(pair, ours):
    """Explains a difference from the script of DocVQA."""
    return LENGTHS if is_close(ours, definitions.anls(pair.answer, pair.references, is_script=False)) else None
