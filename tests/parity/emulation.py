"""A suite with local rows in place of its dataset, and with the keys that gage-host lacks carried out here.

`fields` and `few_shot` become fields of the rows. Each function says exactly what the host is to do.
"""

import json
import re
from copy import deepcopy
from random import Random

import jinja2

from rows import DATASETS, rows_of

ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined)
ENVIRONMENT.filters["shuffle"] = lambda items, seed=0: sorted(items, key=lambda item: digest(f"{seed}\0{item}"))
ENVIRONMENT.filters["regex_replace"] = lambda text, pattern, replacement: re.sub(pattern, replacement, text)
SEED = 1234


def digest(text):
    """Returns the FNV-1a hash of a text, mixed so that each bit depends on all others."""
    mask, value = (1 << 64) - 1, 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & mask
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & mask
    return value ^ value >> 33


def computed(row, fields):
    """Adds fields, each the value of an expression that sees the row and the fields before it."""
    for name, expression in (fields or {}).items():
        row = row | {name: ENVIRONMENT.compile_expression(expression, undefined_to_none=False)(**row, row=row)}
    return row


def examples(rows, pool, few_shot, same_split):
    """Returns for each row its examples: the first of the pool, or some by the generator of CPython.

    With `pick: random`, one generator, seeded once, draws for one row after the other, as `random.sample`. If the pool
    is the split of the rows, one more is drawn, and the row itself is left out.
    """
    count, by = few_shot["count"], few_shot.get("by")
    random = Random(few_shot.get("seed", SEED))
    for row in rows:
        own = [example for example in pool if not by or example[by] == row[by]]
        if few_shot.get("pick", "first") == "first":
            yield [example for example in own if not same_split or example != row][:count]
        else:
            drawn = random.sample(own, count + same_split)
            yield [example for example in drawn if not same_split or example != row][:count]


def subsets_of(params):
    """Returns the local subsets of a dataset: those of the suite, or all if it names the subset `all`."""
    subset = params.get("subset")
    hub_id = params["hub_id"]
    if (hub_id, None) in DATASETS:
        return [None]
    if isinstance(subset, list):
        return [known for known in subset if (hub_id, known) in DATASETS]
    if (hub_id, subset) in DATASETS:
        return [subset]
    return [known for dataset, known in DATASETS if dataset == hub_id]


def local_rows(params):
    """Returns the rows of a dataset with all their fields."""
    found = []
    for subset in subsets_of(params):
        rows = rows_of(params["hub_id"], subset, params["split"])
        few_shot = params.get("few_shot")
        if isinstance(params.get("subset"), list) or few_shot:
            rows = [row | {"subset": subset} for row in rows]
        rows = [computed(row, params.get("fields")) for row in rows]
        if few_shot:
            pool = rows_of(params["hub_id"], subset, few_shot["split"])
            pool = [computed(row | {"subset": subset}, params.get("fields")) for row in pool]
            shots = examples(rows, pool, few_shot, few_shot["split"] == params["split"])
            rows = [row | {"few_shot": shown} for row, shown in zip(rows, shots)]
        found += rows
    return found


HUB_KEYS = ("hub_id", "revision", "subset", "split", "data_files", "fields", "few_shot", "token")


def emulated_keys(suite):
    """Returns the keys of a suite that are carried out here, because the program lacks them."""
    found = [key for key in ("fields", "few_shot") for dataset in suite["datasets"] if key in dataset["params"]]
    if any(isinstance(dataset["params"].get("subset"), list) for dataset in suite["datasets"]):
        found.append("subset")
    return found


def local_suite(suite, folder, address):
    """Returns the suite over local files, for a mock server, and the rows of its first dataset."""
    suite = deepcopy(suite)
    all_rows = []
    for dataset in suite["datasets"]:
        params = dataset["params"]
        rows = local_rows(params)
        path = folder / f"{dataset['dataset_id']}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for key in HUB_KEYS:
            params.pop(key, None)
        params["path"] = str(path)
        dataset["loader"] = "jsonl"
        all_rows.append(rows)
    requests = [step.get("request") for step in suite.get("custom", {}).get("steps", [])]
    model = {"name": f"openai:mock@{address}"}
    if "loglikelihood" in requests:
        model["loglikelihood"] = "echo"
    suite["model"] = model
    if "rolling_loglikelihood" in requests:
        # The texts are compared: they are sent as questions.
        suite["custom"]["steps"] = [{"step": "inference"}, {"step": "auto_eval"}]
    return suite, all_rows[0]
