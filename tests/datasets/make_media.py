#!/usr/bin/env python3
"""Writes the media of the datasets beside this file. Needs nothing but Python's standard library.

    python3 make_media.py [folder]

The same bytes come out each time. Each file is under 4 KiB.
"""

import math
import struct
import sys
import zlib
from pathlib import Path

MOST_BYTES = 4096

COLOURS = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "red": (220, 30, 40),
    "green": (30, 160, 60),
    "blue": (40, 70, 210),
    "yellow": (245, 205, 40),
}


def png(width, height, pixel):
    """A PNG of 8-bit RGB, of a function from column and row to the name of a colour."""

    def chunk(name, data):
        checksum = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)

    rows = b"".join(
        b"\x00" + bytes(value for column in range(width) for value in COLOURS[pixel(column, row)])
        for row in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def square(colour, background="white"):
    return png(32, 32, lambda x, y: colour if 8 <= x < 24 and 8 <= y < 24 else background)


def circle(colour, background="white"):
    inside = lambda x, y: (x - 15.5) ** 2 + (y - 15.5) ** 2 <= 121
    return png(32, 32, lambda x, y: colour if inside(x, y) else background)


def stripes(first, second):
    return png(32, 32, lambda x, y: first if y // 8 % 2 == 0 else second)


def dots(count, colour):
    """So many dots in one row."""
    width = 12 * count + 4
    return png(width, 16, lambda x, y: colour if 4 <= x % 12 < 10 and 5 <= y < 11 and x < 12 * count else "white")


def wav(tones, rate=8000, seconds=0.1):
    """A WAV of 8-bit mono; each tone is a frequency in hertz, or 0 for silence."""
    length = int(rate * seconds)
    samples = bytes(
        128 + round(90 * math.sin(2 * math.pi * tone * index / rate))
        for tone in tones
        for index in range(length)
    )
    form = struct.pack("<HHIIHH", 1, 1, rate, rate, 1, 8)
    data = b"data" + struct.pack("<I", len(samples)) + samples + b"\x00" * (len(samples) % 2)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def pdf(lines):
    """A PDF of one page with lines of text."""
    shown = " T* ".join("(%s) Tj" % line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") for line in lines)
    stream = ("BT /F1 12 Tf 14 TL 40 160 Td %s ET" % shown).encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 320 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    text = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(text))
        text += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(text)
    text += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return text + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def mp4(note):
    """An MP4 that holds a file type and a note instead of pictures: enough to be told by its bytes."""

    def box(name, data):
        return struct.pack(">I", 8 + len(data)) + name + data

    return box(b"ftyp", b"isom" + struct.pack(">I", 512) + b"isommp41") + box(b"mdat", note.encode("ascii"))


def files():
    yield "image-qa/media/red-square.png", square("red")
    yield "image-qa/media/blue-circle.png", circle("blue")
    yield "image-qa/media/three-dots.png", dots(3, "green")
    yield "image-qa/media/five-dots.png", dots(5, "black")
    yield "image-to-image/media/black-circle.png", circle("black")
    yield "image-to-image/media/black-square.png", square("black")
    yield "image-to-image/media/black-bars.png", stripes("black", "white")
    yield "image-to-image/media/blue-circle.png", circle("blue")
    yield "image-to-image/media/green-square.png", square("green")
    yield "image-to-image/media/flag-stripes.png", stripes("yellow", "blue")
    yield "image-to-image/media/white-on-black.png", square("white", "black")
    yield "text-to-image/media/red-circle.png", circle("red")
    yield "text-to-image/media/green-square.png", square("green")
    yield "text-to-image/media/yellow-stripes.png", stripes("yellow", "white")
    yield "text-to-image/media/four-dots.png", dots(4, "blue")
    yield "audio-translation/media/one-beep.wav", wav([600])
    yield "audio-translation/media/two-beeps.wav", wav([600, 0, 600])
    yield "audio-translation/media/low-high.wav", wav([300, 900])
    yield "audio-translation/media/high-low.wav", wav([900, 300])
    yield "text-to-audio/media/steady.wav", wav([440, 440])
    yield "text-to-audio/media/rising.wav", wav([300, 500, 800])
    yield "text-to-audio/media/falling.wav", wav([800, 500, 300])
    yield "text-to-audio/media/pulse.wav", wav([500, 0, 500, 0])
    yield "video-qa/media/ball-rolls-left.mp4", mp4("a ball rolls to the left")
    yield "video-qa/media/door-opens.mp4", mp4("a door opens and closes")
    yield "video-qa/media/light-blinks.mp4", mp4("a light blinks twice")
    yield "video-qa/media/cup-falls.mp4", mp4("a cup falls from a table")
    yield "text-to-video/media/dog-runs.mp4", mp4("a dog runs")
    yield "text-to-video/media/rain.mp4", mp4("rain on a window")
    yield "text-to-video/media/clock.mp4", mp4("the hands of a clock")
    yield "text-to-video/media/candle.mp4", mp4("a candle is blown out")
    yield "doc-qa/media/invoice.pdf", pdf(["Invoice 1042", "Date: 3 May", "Pens: 12.00", "Paper: 8.50", "Total: 20.50"])
    yield "doc-qa/media/opening-hours.pdf", pdf(["Town library", "Monday to Friday: 9 to 18", "Saturday: 10 to 14", "Sunday: closed"])
    yield "doc-qa/media/recipe.pdf", pdf(["Flat bread", "1. Mix 300 g flour and 180 ml water", "2. Rest for 20 minutes", "3. Bake for 4 minutes"])


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, data in files():
        if len(data) >= MOST_BYTES:
            sys.exit(f"{name} would have {len(data)} bytes, and may have less than {MOST_BYTES}")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
