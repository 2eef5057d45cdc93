#!/usr/bin/env python3
"""Generates with gage-host and with llama-batched-bench, in turns: the same kernels, 2 threads, 1, 8 and 32 answers at once.

    make peers

Each answer has 64 tokens after a prompt of about 16. llama-batched-bench decodes random tokens in a bare loop: it neither
looks at logits nor starts one answer when another ends. Prints a line for each number of answers, with medians.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from compare import THREADS, gage_host

AT_ONCE, PROMPT_TOKENS, NEW_TOKENS = [1, 8, 32], 16, 64


def batched_bench(program: str, model: str, at_once: int) -> float:
    """Tokens a second, prompts included."""
    cells = at_once * (PROMPT_TOKENS + NEW_TOKENS)
    command = [program, "-m", model, "-c", str(cells), "-b", "512", "-ub", "512", "-t", str(THREADS)]
    command += ["-npp", str(PROMPT_TOKENS), "-ntg", str(NEW_TOKENS), "-npl", str(at_once), "--output-format", "jsonl"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    [found] = [line for line in lines if line.get("pl") == at_once]
    return at_once * NEW_TOKENS / (found["t_pp"] + found["t_tg"])


def generated(program: str, model: str, at_once: int, folder: Path) -> float:
    """Tokens a second, prompts included."""
    texts = [f"Story {number + 1} of {at_once}, told by the river: once there was a baker who" for number in range(at_once)]
    run = gage_host(program, model, texts, folder, "baseline", at_once, NEW_TOKENS)
    return run["new_tokens"] / run["seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("batched_bench", help="llama-batched-bench")
    parser.add_argument("--gage-host", default="target/release/gage-host", help="the program; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    model, program = str(Path(arguments.model).resolve()), str(Path(arguments.gage_host).resolve())
    print("| answers at once | llama-batched-bench, tokens/s | gage-host, tokens/s | of it |\n| ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for at_once in AT_ONCE:
            rounds = [
                (batched_bench(arguments.batched_bench, model, at_once), generated(program, model, at_once, Path(folder)))
                for _ in range(arguments.rounds)
            ]
            bare, own = (statistics.median(rates) for rates in zip(*rounds))
            print(f"| {at_once} | {bare:.1f} | {own:.1f} | {own / bare:.2f} |", flush=True)


if __name__ == "__main__":
    main()
