"""Makes the tiny language models that the tests and the quick start run: gage-tiny and gage-tiny-early.

    python train.py                      # writes config/models/*.gguf and SHA256SUMS

From nothing but `tiny_data`: trains a byte-level BPE tokenizer, trains a Llama-architecture model on
the questions that are not held out, and exports two checkpoints of that one training as Q8_0 GGUF
files. Every source of chance is seeded and XLA is kept to one thread, so a second run on the same
kind of machine with the pinned packages gives the same files.
"""

import argparse
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# Read when jax is imported: one thread, so that sums are always taken in the same order.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import gguf
import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

import tiny_data

REPOSITORY = Path(__file__).resolve().parents[2]
SEED = 20260

# ---------------------------------------------------------------------------------------------
# Shape of the model and course of the training
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """The model's dimensions. Every row of a quantised matrix must be a multiple of 32 long."""

    vocabulary: int = 640
    width: int = 128
    layers: int = 4
    heads: int = 4
    feed_forward: int = 352
    context: int = 256
    rope_base: float = 10000.0
    norm_epsilon: float = 1e-5

    @property
    def head_width(self) -> int:
        return self.width // self.heads


SHAPE = Shape()

STEPS = 1600
EARLY_STEP = 300
SINGLE_ROWS = 96
SINGLE_LENGTH = 21  # tokens of a row with one question
SINGLE_TARGETS = 8  # tokens of the longest answer, the end token with it
CONVERSATION_ROWS = 24
CONVERSATION_LENGTH = 96  # tokens of a row with several questions
CONVERSATION_TARGETS = 24
CONVERSATION_EVERY = 8  # every eighth batch is made of conversations
SYSTEM_MESSAGE_SHARE = 0.3  # of the conversations
PEAK_LEARNING_RATE = 3e-3
WARM_UP_STEPS = 100
WEIGHT_DECAY = 0.1

# How often each group of categories is drawn.
MIXTURE = {
    ("add",): 0.36,
    ("subtract",): 0.28,
    ("larger", "smaller"): 0.16,
    ("capital", "continent", "kind", "young"): 0.13,
    ("opposite",): 0.07,
}

# ---------------------------------------------------------------------------------------------
# Tokenizer
# ---------------------------------------------------------------------------------------------

# The pattern that llama.cpp uses for `tokenizer.ggml.pre = qwen2`: each digit is a token of its own.
QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train_tokenizer(texts: list[str]) -> tokenizers.Tokenizer:
    """Trains the byte-level BPE vocabulary; the special tokens take the first ids."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(QWEN2_PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SHAPE.vocabulary,
        special_tokens=tiny_data.SPECIAL_TOKENS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != SHAPE.vocabulary:
        raise ValueError(f"the tokenizer has {tokenizer.get_vocab_size()} tokens, not {SHAPE.vocabulary}")
    return tokenizer


def tokenizer_texts(questions: list[tiny_data.Question]) -> list[str]:
    """Lists the texts that the tokenizer learns its merges from: words, since digits never merge."""
    texts = list(tiny_data.SYSTEM_MESSAGES)
    for question in questions:
        if question.operands is None:
            texts += [question.text, question.answer]
    texts += ["What is 10 + 10?", "What is 10 - 10?", "Which is larger, 10 or 11?", "Which is smaller, 10 or 11?"] * 20
    return texts


# ---------------------------------------------------------------------------------------------
# Batches
# ---------------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Token ids, and which of their positions predict a token of an answer."""

    ids: np.ndarray  # (rows, length)
    positions: np.ndarray  # (rows, targets): where the prediction is made
    targets: np.ndarray  # (rows, targets): the token that should be predicted there
    weights: np.ndarray  # (rows, targets): 1, or 0 for an unused place


class Batches:
    """Makes batches of questions with their answers.

    The model learns the answer and the end token after it, never the question: capacity is scarce.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, questions: list[tiny_data.Question], seed: int):
        self.generator = np.random.default_rng(seed)
        self.padding = tokenizer.token_to_id(tiny_data.PADDING_TOKEN)
        self.turns = []  # of each question: (token ids, where the answer begins)
        for question in questions:
            prompt = tokenizer.encode(tiny_data.render_prompt(question.text)).ids
            answer = tokenizer.encode(question.answer + tiny_data.END_TOKEN).ids
            if len(prompt) + len(answer) > SINGLE_LENGTH + 1 or len(answer) > SINGLE_TARGETS:
                raise ValueError(f"too many tokens: {question.text} {question.answer}")
            self.turns.append((prompt + answer, len(prompt)))
        self.system = [
            tokenizer.encode(tiny_data.render_message("system", text)).ids for text in tiny_data.SYSTEM_MESSAGES
        ]
        self.groups = [
            np.array([index for index, question in enumerate(questions) if question.category in categories])
            for categories in MIXTURE
        ]
        self.shares = np.array(list(MIXTURE.values()))

    def draw(self, count: int) -> list[int]:
        """Draws the indices of `count` questions, by the mixture's shares."""
        groups = self.generator.choice(len(self.groups), size=count, p=self.shares)
        return [self.generator.choice(self.groups[group]) for group in groups]

    def assemble(self, rows: list[tuple[list[int], list[int]]], length: int, targets: int) -> Batch:
        """Lays rows of (token ids before, questions after them) into arrays of a fixed shape.

        Questions that do not fit into a row are left out.
        """
        batch = Batch(
            np.full((len(rows), length), self.padding, dtype=np.int32),
            np.zeros((len(rows), targets), dtype=np.int32),
            np.zeros((len(rows), targets), dtype=np.int32),
            np.zeros((len(rows), targets), dtype=np.float32),
        )
        for row, (ids, indices) in enumerate(rows):
            ids, predicted = list(ids), []
            for index in indices:
                turn, answer_start = self.turns[index]
                places = range(len(ids) + answer_start, len(ids) + len(turn))
                if len(ids) + len(turn) > length + 1 or len(predicted) + len(places) > targets:
                    break
                ids += turn
                predicted += places
            batch.targets[row, : len(predicted)] = [ids[place] for place in predicted]
            batch.positions[row, : len(predicted)] = [place - 1 for place in predicted]
            batch.weights[row, : len(predicted)] = 1.0
            batch.ids[row, : min(len(ids), length)] = ids[:length]
        return batch

    def questions(self, indices: list[int]) -> Batch:
        """Makes a batch of the given questions, each in a row of its own."""
        return self.assemble([([], [index]) for index in indices], SINGLE_LENGTH, SINGLE_TARGETS)

    def single(self) -> Batch:
        """Draws a batch whose rows hold one question each, as most evaluations ask them."""
        return self.questions(self.draw(SINGLE_ROWS))

    def conversation(self) -> Batch:
        """Draws a batch of rows with several questions, some after a system message (few-shot prompts)."""
        rows = []
        for _ in range(CONVERSATION_ROWS):
            before = []
            if self.generator.random() < SYSTEM_MESSAGE_SHARE:
                before = self.system[self.generator.integers(len(self.system))]
            rows.append((before, self.draw(8)))
        return self.assemble(rows, CONVERSATION_LENGTH, CONVERSATION_TARGETS)


# ---------------------------------------------------------------------------------------------
# Model
# ---------------------------------------------------------------------------------------------


def initial_weights(seed: int) -> dict:
    """Draws the first weights. Matrices are (inputs, outputs); the embedding is (tokens, width)."""
    generator = np.random.default_rng(seed)

    def matrix(inputs: int, outputs: int, scale: float = 1.0) -> jnp.ndarray:
        return jnp.asarray(generator.normal(0.0, scale / math.sqrt(inputs), (inputs, outputs)), dtype=jnp.float32)

    residual_scale = 1.0 / math.sqrt(2 * SHAPE.layers)
    layers = [
        {
            "attn_norm": jnp.ones(SHAPE.width),
            "attn_q": matrix(SHAPE.width, SHAPE.width),
            "attn_k": matrix(SHAPE.width, SHAPE.width),
            "attn_v": matrix(SHAPE.width, SHAPE.width),
            "attn_output": matrix(SHAPE.width, SHAPE.width, residual_scale),
            "ffn_norm": jnp.ones(SHAPE.width),
            "ffn_gate": matrix(SHAPE.width, SHAPE.feed_forward),
            "ffn_up": matrix(SHAPE.width, SHAPE.feed_forward),
            "ffn_down": matrix(SHAPE.feed_forward, SHAPE.width, residual_scale),
        }
        for _ in range(SHAPE.layers)
    ]
    return {
        "token_embd": matrix(SHAPE.width, SHAPE.vocabulary).T,
        "layers": layers,
        "output_norm": jnp.ones(SHAPE.width),
    }


def root_mean_square_norm(values: jnp.ndarray, weight: jnp.ndarray) -> jnp.ndarray:
    return values * jax.lax.rsqrt(jnp.mean(values**2, axis=-1, keepdims=True) + SHAPE.norm_epsilon) * weight


def rotate(values: jnp.ndarray, positions: jnp.ndarray) -> jnp.ndarray:
    """Applies rotary positions to (rows, length, heads, head width), pairing neighbours (interleaved).

    llama.cpp rotates the `llama` architecture the same way, so Q and K need no permutation.
    """
    frequencies = SHAPE.rope_base ** (-np.arange(0, SHAPE.head_width, 2, dtype=np.float32) / SHAPE.head_width)
    angles = positions[:, :, None, None] * frequencies
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    even, odd = values[..., 0::2], values[..., 1::2]
    return jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1).reshape(values.shape)


def logits_at(weights: dict, ids: jnp.ndarray, positions: jnp.ndarray) -> jnp.ndarray:
    """Computes the logits at the asked positions of each row; padding only follows a row, so causality hides it.

    The last layer is computed at the asked positions alone: nothing reads the others.
    """
    everywhere = jnp.arange(ids.shape[1])[None, :]
    hidden = weights["token_embd"][ids]

    def heads(values: jnp.ndarray) -> jnp.ndarray:
        return values.reshape(*values.shape[:2], SHAPE.heads, SHAPE.head_width)

    for number, layer in enumerate(weights["layers"]):
        normed = root_mean_square_norm(hidden, layer["attn_norm"])
        key = rotate(heads(normed @ layer["attn_k"]), everywhere)
        value = heads(normed @ layer["attn_v"])
        query_positions = everywhere
        if number == SHAPE.layers - 1:
            query_positions = positions
            hidden = jnp.take_along_axis(hidden, positions[:, :, None], axis=1)
            normed = jnp.take_along_axis(normed, positions[:, :, None], axis=1)
        query = rotate(heads(normed @ layer["attn_q"]), query_positions)
        scores = jnp.einsum("rqhd,rkhd->rhqk", query, key) / math.sqrt(SHAPE.head_width)
        visible = (everywhere[:, None, :] <= query_positions[:, :, None])[:, None]
        attention = jax.nn.softmax(jnp.where(visible, scores, -1e9), axis=-1)
        mixed = jnp.einsum("rhqk,rkhd->rqhd", attention, value).reshape(hidden.shape)
        hidden = hidden + mixed @ layer["attn_output"]
        normed = root_mean_square_norm(hidden, layer["ffn_norm"])
        hidden = hidden + (jax.nn.silu(normed @ layer["ffn_gate"]) * (normed @ layer["ffn_up"])) @ layer["ffn_down"]
    return root_mean_square_norm(hidden, weights["output_norm"]) @ weights["token_embd"].T


def answer_loss(weights: dict, batch: Batch) -> jnp.ndarray:
    """Computes the mean cross-entropy of the answers' tokens."""
    logits = logits_at(weights, batch.ids, batch.positions)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.targets)
    return jnp.sum(losses * batch.weights) / jnp.sum(batch.weights)


@jax.jit
def teacher_forced_accuracy(weights: dict, batch: Batch) -> jnp.ndarray:
    """Computes the share of rows whose every answer token is the likeliest, the right ones before it given."""
    predicted = jnp.argmax(logits_at(weights, batch.ids, batch.positions), axis=-1)
    return jnp.mean(jnp.all((predicted == batch.targets) | (batch.weights == 0), axis=1))


# ---------------------------------------------------------------------------------------------
# Training
# ---------------------------------------------------------------------------------------------


def make_probes(tokenizer: tokenizers.Tokenizer, questions: list[tiny_data.Question]) -> dict[str, Batch]:
    """Draws up to 100 questions of several categories, seen and held out, to report progress on."""
    batches = Batches(tokenizer, questions, SEED)
    generator = np.random.default_rng(SEED)
    probes = {}
    for category in ("add", "subtract", "larger", "capital", "opposite"):
        for held_out in (False, True):
            pool = [
                index for index, question in enumerate(questions)
                if (question.category, question.held_out) == (category, held_out)
            ]
            if pool:
                drawn = generator.choice(pool, min(len(pool), 100), replace=False)
                probes[f"{category} held out" if held_out else category] = batches.questions(drawn)
    return probes


def make_optimizer(weights: dict, steps: int) -> optax.GradientTransformation:
    """Makes the optimizer: Muon for the matrices of the layers, Adam for the embedding and the norms."""
    schedule = optax.join_schedules(
        [
            optax.linear_schedule(0.0, PEAK_LEARNING_RATE, WARM_UP_STEPS),
            optax.linear_schedule(PEAK_LEARNING_RATE, 0.0, steps - WARM_UP_STEPS),
        ],
        [WARM_UP_STEPS],
    )
    matrix = optax.contrib.MuonDimensionNumbers()
    dimensions = jax.tree.map(lambda array: matrix if array.ndim == 2 else None, weights)
    dimensions["token_embd"] = None
    return optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.contrib.muon(
            schedule,
            weight_decay=WEIGHT_DECAY,
            consistent_rms=0.2,
            adam_b2=0.98,
            muon_weight_dimension_numbers=dimensions,
        ),
    )


def train(
    tokenizer: tokenizers.Tokenizer, questions: list[tiny_data.Question], steps: int, report_every: int
) -> Iterator[tuple[int, dict]]:
    """Trains on the questions that are not held out.

    Yields (step, weights) at every report, at the early step and at the end.
    """
    seen = [question for question in questions if not question.held_out]
    batches = Batches(tokenizer, seen, SEED)
    probes = make_probes(tokenizer, questions)
    weights = initial_weights(SEED)
    optimizer = make_optimizer(weights, steps)

    @jax.jit
    def update(weights, state, batch):
        loss, gradients = jax.value_and_grad(answer_loss)(weights, batch)
        changes, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, changes), state, loss

    state = optimizer.init(weights)
    print(f"{sum(array.size for array in jax.tree.leaves(weights))} parameters, {len(seen)} questions", flush=True)
    for step in range(1, steps + 1):
        batch = batches.conversation() if step % CONVERSATION_EVERY == 0 else batches.single()
        weights, state, loss = update(weights, state, batch)
        if step % report_every == 0 or step in (EARLY_STEP, steps):
            figures = {name: float(teacher_forced_accuracy(weights, probe)) for name, probe in probes.items()}
            line = "  ".join(f"{name} {value:.2f}" for name, value in figures.items())
            print(f"step {step}  cpu {time.process_time():.0f} s  loss {float(loss):.4f}  {line}", flush=True)
            yield step, weights


# ---------------------------------------------------------------------------------------------
# Export
# ---------------------------------------------------------------------------------------------


def tokenizer_parts(tokenizer: tokenizers.Tokenizer) -> dict:
    """Takes the tokenizer apart into what GGUF stores: tokens by id, their types, merges in order."""
    model = json.loads(tokenizer.to_str())["model"]
    tokens = [token for token, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    special = set(tiny_data.SPECIAL_TOKENS)
    types = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens]
    merges = [" ".join(merge) for merge in model["merges"]]
    return {"tokens": tokens, "types": types, "merges": merges}


def export(path: Path, name: str, description: str, tokenizer: tokenizers.Tokenizer, weights: dict) -> None:
    """Writes one model as a GGUF file, matrices in Q8_0 and norms in F32."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_description(description)
    writer.add_license("apache-2.0")
    writer.add_context_length(SHAPE.context)
    writer.add_embedding_length(SHAPE.width)
    writer.add_block_count(SHAPE.layers)
    writer.add_feed_forward_length(SHAPE.feed_forward)
    writer.add_head_count(SHAPE.heads)
    writer.add_head_count_kv(SHAPE.heads)
    writer.add_rope_dimension_count(SHAPE.head_width)
    writer.add_rope_freq_base(SHAPE.rope_base)
    writer.add_layer_norm_rms_eps(SHAPE.norm_epsilon)
    writer.add_vocab_size(SHAPE.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)

    vocabulary = tokenizer_parts(tokenizer)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(vocabulary["tokens"])
    writer.add_token_types(vocabulary["types"])
    writer.add_token_merges(vocabulary["merges"])
    end = tokenizer.token_to_id(tiny_data.END_TOKEN)
    writer.add_bos_token_id(tokenizer.token_to_id(tiny_data.BEGIN_TOKEN))
    writer.add_eos_token_id(end)
    writer.add_eot_token_id(end)
    writer.add_pad_token_id(tokenizer.token_to_id(tiny_data.PADDING_TOKEN))
    # The chat format begins with the role's own token; training never saw a begin token.
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(tiny_data.CHAT_TEMPLATE)

    def add_matrix(tensor_name: str, array) -> None:
        kind = gguf.GGMLQuantizationType.Q8_0
        quantised = gguf.quants.quantize(np.asarray(array, dtype=np.float32), kind)
        writer.add_tensor(tensor_name, quantised, raw_dtype=kind)

    def add_vector(tensor_name: str, array) -> None:
        writer.add_tensor(tensor_name, np.asarray(array, dtype=np.float32))

    # No `output.weight`: llama.cpp then uses the embedding for the output as well.
    add_matrix("token_embd.weight", weights["token_embd"])
    for number, layer in enumerate(weights["layers"]):
        for part, array in layer.items():
            if part.endswith("norm"):
                add_vector(f"blk.{number}.{part}.weight", array)
            else:
                # GGUF's matrices are (outputs, inputs).
                add_matrix(f"blk.{number}.{part}.weight", np.asarray(array).T)
    add_vector("output_norm.weight", weights["output_norm"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_digests(folder: Path) -> None:
    """Writes SHA256SUMS over the model files, in the form that `sha256sum --check` reads."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.glob("*.gguf"))]
    (folder / "SHA256SUMS").write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=REPOSITORY / "config/models", help="folder for the GGUF files")
    parser.add_argument("--steps", type=int, default=STEPS, help="training steps (another number gives other models)")
    parser.add_argument("--report-every", type=int, default=250, help="steps between two lines of progress")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    questions = tiny_data.all_questions()
    tokenizer = train_tokenizer(tokenizer_texts(questions))
    for step, weights in train(tokenizer, questions, options.steps, options.report_every):
        description = f"A test fixture for evaluation hosts, trained for {step} of {options.steps} steps."
        if step == EARLY_STEP:
            export(options.output / "gage-tiny-early.gguf", "gage-tiny-early", description, tokenizer, weights)
        if step == options.steps:
            export(options.output / "gage-tiny.gguf", "gage-tiny", description, tokenizer, weights)
    write_digests(options.output)


if __name__ == "__main__":
    main()
