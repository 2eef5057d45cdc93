"""Makes the tiny model see: a file that turns pictures of sums into the tokens that they show.

    python make_vision.py                # writes config/models/gage-tiny-mmproj.gguf, SHA256SUMS and config/data/tiny/pictures*

A picture has four cells, two by two, each with one character: "2", "3" and below them "+" and nothing. An image encoder of
the LLaVA kind cuts it into its cells and gives each the embedding that gage-tiny has for that character, so that the
question "What is [picture]45?" becomes what "What is 23 + 45?" is to it. Nothing is trained: the weights that read a
character are solved for, from the pixels of all of them. Nothing is drawn from chance but which rows become pictures.
"""

import argparse
import hashlib
import json
from pathlib import Path

import gguf
import numpy as np
from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[2]

CELL = 8  # pixels of a character in what the encoder sees
SIDE = 2 * CELL  # of a whole picture there
SCALE = 4  # so many times larger are the pictures
WIDTH = 16  # of the encoder: one number for each character, and some to spare
FEED_FORWARD = 32
BLOCKS = 2  # the last one is not computed: LLaVA takes what comes out of the one before
# GELU gives back what is larger than 10 as it is, so features are lifted above it and lowered again.
LIFT = 16.0
PICTURES = 60

# What each character is to the tokenizer, behind a space where the question has one.
TOKENS = {**{digit: digit for digit in "0123456789"}, "+": "Ġ+", "-": "Ġ-", " ": "Ġ"}

GLYPHS = {
    "0": ["01110", "10001", "10011", "10101", "11001", "10001", "01110"],
    "1": ["00100", "01100", "00100", "00100", "00100", "00100", "01110"],
    "2": ["01110", "10001", "00001", "00010", "00100", "01000", "11111"],
    "3": ["11111", "00010", "00100", "00010", "00001", "10001", "01110"],
    "4": ["00010", "00110", "01010", "10010", "11111", "00010", "00010"],
    "5": ["11111", "10000", "11110", "00001", "00001", "10001", "01110"],
    "6": ["00110", "01000", "10000", "11110", "10001", "10001", "01110"],
    "7": ["11111", "00001", "00010", "00100", "01000", "01000", "01000"],
    "8": ["01110", "10001", "10001", "01110", "10001", "10001", "01110"],
    "9": ["01110", "10001", "10001", "01111", "00001", "00010", "01100"],
    "+": ["00000", "00100", "00100", "11111", "00100", "00100", "00000"],
    "-": ["00000", "00000", "00000", "11111", "00000", "00000", "00000"],
    " ": ["00000"] * 7,
}


def draw(characters: str) -> Image.Image:
    """Draws four characters, black on white, in two rows of two."""
    dots = np.full((SIDE, SIDE), 255, dtype=np.uint8)
    for place, character in enumerate(characters):
        top, left = place // 2 * CELL, place % 2 * CELL + 1
        for row, line in enumerate(GLYPHS[character]):
            for column, dot in enumerate(line):
                if dot == "1":
                    dots[top + row, left + column] = 0
    return Image.fromarray(dots).resize((SIDE * SCALE, SIDE * SCALE), Image.Resampling.NEAREST)


def cells(picture: Image.Image) -> np.ndarray:
    """Gives the pixels of the four cells as the encoder sees them: (cell, colour, row, column), from -1 to 1."""
    small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    values = np.asarray(small, dtype=np.float64) / 255.0 * 2.0 - 1.0
    parts = [values[top : top + CELL, left : left + CELL] for top in (0, CELL) for left in (0, CELL)]
    return np.stack(parts).transpose(0, 3, 1, 2)


def reading_weights() -> tuple[np.ndarray, np.ndarray]:
    """Solves for weights that give 1 for the character of a cell and 0 for all others, and what is to be added."""
    characters = list(TOKENS)
    rows, wanted = [], []
    # Each character in each cell beside each other one, since enlarging and reducing blurs the borders.
    for one in characters:
        for other in characters:
            for first in range(4):
                text = "".join(one if place == first else other for place in range(4))
                rows.append(cells(draw(text)).reshape(4, -1))
                wanted.append([np.eye(len(characters))[characters.index(shown)] for shown in text])
    inputs = np.concatenate(rows)
    targets = np.concatenate([np.stack(one) for one in wanted])
    extended = np.hstack([inputs, np.ones((len(inputs), 1))])
    # A little is added to the diagonal, so that of all solutions it is the one that noise disturbs least.
    gram = extended.T @ extended + 1e-3 * np.eye(extended.shape[1])
    solution = np.linalg.solve(gram, extended.T @ targets)
    worst = np.abs(extended @ solution - targets).max()
    if worst > 0.01:
        raise ValueError(f"characters cannot be told apart: {worst}")
    return solution[:-1].T, solution[-1]


def embeddings(model: Path) -> np.ndarray:
    """Reads what the model has for each character."""
    reader = gguf.GGUFReader(model)
    names = [bytes(reader.fields["tokenizer.ggml.tokens"].parts[index]).decode()
             for index in reader.fields["tokenizer.ggml.tokens"].data]
    tensor = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    table = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    return np.stack([table[names.index(token)] for token in TOKENS.values()])


def write_projector(path: Path, model: Path) -> None:
    """Writes the encoder with its projector."""
    weights, bias = reading_weights()
    table = embeddings(model).astype(np.float64)
    count, width = table.shape
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_name("gage-tiny-mmproj")
    writer.add_description("Reads pictures of sums for gage-tiny; its weights are solved for, not trained")
    writer.add_license("apache-2.0")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    for key, value in {
        "image_size": SIDE,
        "patch_size": CELL,
        "embedding_length": WIDTH,
        "feed_forward_length": FEED_FORWARD,
        "block_count": BLOCKS,
        "projection_dim": width,
        "attention.head_count": 1,
    }.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])

    def add(name: str, values: np.ndarray) -> None:
        writer.add_tensor(name, np.ascontiguousarray(values, dtype=np.float32))

    kernel = np.zeros((WIDTH, 3, CELL, CELL))
    kernel[:count] = weights.reshape(count, 3, CELL, CELL)
    lifted = np.full(WIDTH, LIFT)
    lifted[:count] += bias
    projection = np.zeros((width, WIDTH))
    projection[:, :count] = table.T
    add("v.patch_embd.weight", kernel)
    add("v.position_embd.weight", np.zeros((4, WIDTH)))
    for block in range(BLOCKS):
        # A block that adds nothing to what it is given.
        for name in ("attn_q", "attn_k", "attn_v"):
            add(f"v.blk.{block}.{name}.weight", np.eye(WIDTH))
        add(f"v.blk.{block}.attn_out.weight", np.zeros((WIDTH, WIDTH)))
        add(f"v.blk.{block}.ffn_up.weight", np.zeros((FEED_FORWARD, WIDTH)))
        add(f"v.blk.{block}.ffn_down.weight", np.zeros((WIDTH, FEED_FORWARD)))
        for norm in ("ln1", "ln2"):
            add(f"v.blk.{block}.{norm}.weight", np.ones(WIDTH))
            add(f"v.blk.{block}.{norm}.bias", np.zeros(WIDTH))
    add("mm.0.weight", np.eye(WIDTH))
    add("mm.0.bias", lifted)
    add("mm.2.weight", projection)
    add("mm.2.bias", -LIFT * projection.sum(axis=1))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_rows(data: Path) -> None:
    """Writes the first sums of the suite again, with a picture of what stands before the second number."""
    lines = (data / "arithmetic.jsonl").read_text().splitlines()
    folder = data / "pictures"
    folder.mkdir(exist_ok=True)
    rows = []
    for row in map(json.loads, lines[:PICTURES]):
        first, sign, second = row["question"].removeprefix("What is ").removesuffix("?").split(" ")
        name = f"{first}-{'plus' if sign == '+' else 'minus'}.png"
        # Two colours, one bit each: the same bytes wherever they are written.
        draw(f"{first}{sign} ").convert("1").save(folder / name, optimize=True)
        content = [
            {"type": "text", "text": "What is "},
            {"type": "image_url", "image_url": {"url": f"pictures/{name}"}},
            {"type": "text", "text": f"{second}?"},
        ]
        rows.append({
            "id": row["id"].replace("arith", "picture"),
            "messages": [{"role": "user", "content": content}],
            "references": [{"answer": [{"type": "text", "text": row["answer"]}]}],
            "label": row["answer"],
            "data_tag": {"operation": row["operation"]},
        })
    (data / "pictures.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=REPOSITORY / "config/models")
    parser.add_argument("--data", type=Path, default=REPOSITORY / "config/data/tiny")
    arguments = parser.parse_args()
    write_projector(arguments.models / "gage-tiny-mmproj.gguf", arguments.models / "gage-tiny.gguf")
    write_rows(arguments.data)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
            for file in sorted(arguments.models.glob("*.gguf"))]
    (arguments.models / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
