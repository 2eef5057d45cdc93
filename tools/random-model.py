#!/usr/bin/env python3
"""Writes a model of random weights, to measure speed with where no real model can be had.

    tools/random-model.py TOKENIZER.gguf OUT.gguf [--layers 16] [--width 2048] [--hidden 8192] [--heads 32] [--kv-heads 8]

Takes the tokenizer and the chat template of a small llama model, and writes F16 weights of the given shape.
Needs the packages `gguf` and `numpy`.
"""

import argparse

import gguf
import numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--hidden", type=int, default=8192)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--kv-heads", type=int, default=8)
    parser.add_argument("--context", type=int, default=4096)
    given = parser.parse_args()

    source = gguf.GGUFReader(given.tokenizer)
    writer = gguf.GGUFWriter(given.out, "llama")
    copy_tokenizer(source, writer)
    writer.add_context_length(given.context)
    writer.add_embedding_length(given.width)
    writer.add_block_count(given.layers)
    writer.add_feed_forward_length(given.hidden)
    writer.add_head_count(given.heads)
    writer.add_head_count_kv(given.kv_heads)
    writer.add_rope_dimension_count(given.width // given.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    vocabulary = len(source.fields["tokenizer.ggml.tokens"].contents())
    writer.add_vocab_size(vocabulary)

    for name, shape in shapes(given, vocabulary):
        writer.add_tensor(name, weights(name, shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def copy_tokenizer(source, writer):
    for field in source.fields.values():
        if not field.name.startswith("tokenizer."):
            continue
        kind = field.types[0]
        element = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, element)


def shapes(given, vocabulary):
    """Yields the name of each tensor and its shape, rows first."""
    keys = given.width // given.heads * given.kv_heads
    yield "token_embd.weight", (vocabulary, given.width)
    yield "output_norm.weight", (given.width,)
    yield "output.weight", (vocabulary, given.width)
    for layer in range(given.layers):
        for part, shape in (
            ("attn_norm", (given.width,)),
            ("attn_q", (given.width, given.width)),
            ("attn_k", (keys, given.width)),
            ("attn_v", (keys, given.width)),
            ("attn_output", (given.width, given.width)),
            ("ffn_norm", (given.width,)),
            ("ffn_gate", (given.hidden, given.width)),
            ("ffn_up", (given.hidden, given.width)),
            ("ffn_down", (given.width, given.hidden)),
        ):
            yield f"blk.{layer}.{part}.weight", shape


def weights(name, shape):
    if len(shape) == 1:
        return numpy.ones(shape, dtype=numpy.float32)
    generator = numpy.random.default_rng(abs(hash_of(name)))
    values = generator.standard_normal(shape, dtype=numpy.float32)
    return (values / numpy.sqrt(shape[1])).astype(numpy.float16)


def hash_of(name):
    """A number that is the same in every process."""
    return int.from_bytes(name.encode()[-8:], "big") + sum(name.encode())


if __name__ == "__main__":
    main()
