#!/usr/bin/env python3
"""Answers the same prompts with gage-host and with other programs that run llama.cpp, in turns.

    make peers

64 prompts of about 120 tokens, greedy, at most 32 new tokens each, 8 sequences at a time, 2 threads. Each program is a
process of its own. The clock runs from the first request to the last answer: loading the model is not in it, nor is a
first request that each program is asked before. Prints a line for each program with the median, and its ratio to gage-host.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEQUENCES, THREADS, CELLS, NEW_TOKENS = 8, 2, 512, 32

SUBJECTS = "the river,a baker,the old library,our neighbour,a small engine,the night train,a violin,the harbour".split(",")
VERBS = "remembers,carries,repairs,describes,follows,measures,forgets,paints".split(",")
OBJECTS = "a letter from the coast,two copper coins,the names of seven birds,an unfinished bridge,the colour of rain,a map without roads".split(",")


def prompts(count: int) -> list[str]:
    """Texts that have nothing in common from their first word on, so that no prefix is shared."""
    choose = random.Random(7)
    texts = []
    for number in range(count):
        sentences = [
            f"{choose.choice(SUBJECTS)} {choose.choice(VERBS)} {choose.choice(OBJECTS)}" for _ in range(12)
        ]
        texts.append(f"{number + 1}. " + ". Then ".join(sentences) + ". After that")
    return texts


def gage_host(
    program: str, model: str, texts: list[str], folder: Path, kernels: str, slots: int = SEQUENCES, new_tokens: int = NEW_TOKENS
) -> dict:
    """A run without chat template; its own clock of the requests."""
    with open(folder / "prompts.jsonl", "w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": str(number), "messages": [{"role": "user", "content": text}]}) + "\n")
    suite = {
        "api_version": "gage/v1alpha1",
        "kind": "PipelineConfig",
        "metadata": {"name": "peers"},
        "datasets": [{"dataset_id": "prompts", "loader": "jsonl", "params": {"path": str(folder / "prompts.jsonl")}}],
        "backends": [
            {
                "backend_id": "model",
                "type": "llama_cpp",
                "config": {
                    "model_path": model, "slots": slots, "threads": THREADS, "context_length": CELLS,
                    "chat_template": "none", "kernels": kernels,
                },
            }
        ],
        "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "model"}],
        "custom": {"score_outcomes": ["truncated", "empty_output"], "steps": [{"step": "inference"}, {"step": "auto_eval"}], "sampling_params": {"temperature": 0, "max_new_tokens": new_tokens}},
        "metrics": ["text_length"],
        "tasks": [{"task_id": "prompts", "dataset_id": "prompts"}],
    }
    (folder / "suite.yaml").write_text(json.dumps(suite), encoding="utf-8")
    shutil.rmtree(folder / "runs", ignore_errors=True)
    command = [program, "run", "suite.yaml", "--run-id", "r", "--quiet", "--concurrency", str(2 * slots)]
    subprocess.run(command, cwd=folder, check=True)
    timings = json.loads((folder / "runs/r/timings.json").read_text())
    return {
        "seconds": timings["inference_s"],
        "prompt_tokens": timings["prompt_tokens"],
        "new_tokens": timings["completion_tokens"],
    }


def peer(command: list[str], model: str, texts: list[str]) -> dict:
    task = {
        "model": model, "prompts": texts, "sequences": SEQUENCES, "threads": THREADS, "cells": CELLS,
        "new_tokens": NEW_TOKENS,
    }
    ended = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{ended.stderr[-2000:]}")
    return json.loads(ended.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--gage-host", default="target/release/gage-host", help="the program; default: %(default)s")
    parser.add_argument("--node", type=Path, help="a folder with node_answers.mjs and node-llama-cpp in it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=64)
    arguments = parser.parse_args()
    model, program = str(Path(arguments.model).resolve()), str(Path(arguments.gage_host).resolve())
    texts = prompts(arguments.prompts)
    with tempfile.TemporaryDirectory() as folder:
        contestants = {
            "gage-host": lambda: gage_host(program, model, texts, Path(folder), "auto"),
            "gage-host, baseline kernels": lambda: gage_host(program, model, texts, Path(folder), "baseline"),
            "xllamacpp": lambda: peer([sys.executable, str(HERE / "xllamacpp_answers.py")], model, texts),
        }
        if arguments.node and (arguments.node / "node_modules/node-llama-cpp").is_dir():
            contestants["node-llama-cpp"] = lambda: peer(["node", str(arguments.node / "node_answers.mjs")], model, texts)
        rounds: dict[str, list[dict]] = {name: [] for name in contestants}
        for number in range(arguments.rounds):
            for name, contest in contestants.items():
                rounds[name].append(contest())
                print(f"round {number + 1}: {name}: {rounds[name][-1]}", file=sys.stderr, flush=True)
    own = statistics.median(one["seconds"] for one in rounds["gage-host"])
    print("| program | seconds, median | prompt tokens | new tokens | seconds of gage-host's |\n| --- | ---: | ---: | ---: | ---: |")
    for name, found in rounds.items():
        seconds = statistics.median(one["seconds"] for one in found)
        print(f"| {name} | {seconds:.1f} | {found[0]['prompt_tokens']:,} | {found[0]['new_tokens']:,} | {seconds / own:.2f} |")


if __name__ == "__main__":
    main()
