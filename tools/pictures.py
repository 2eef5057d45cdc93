#!/usr/bin/env python3
"""Take the pictures of docs/images: a run in a terminal, and a report.

    tools/pictures.py            needs `make build` and Chromium

The suite is the one that ships with the project.
"""

import html
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 92
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#a5d6ff", "90": "#8b949e"}
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #f6f8fa; }}
pre {{ margin: 16px; padding: 18px 22px; border-radius: 10px; background: #0d1117; color: #e6edf3; width: max-content;
      font: 15px/1.45 "DejaVu Sans Mono", monospace; box-shadow: 0 4px 18px #0003; }}
</style><pre>{text}</pre>"""


def in_terminal(command, **environment) -> str:
    """What a command prints to a terminal, with its colours."""
    parent, child = pty.openpty()
    size = f"stty columns {COLUMNS} rows 40; exec "
    process = subprocess.Popen(["bash", "-c", size + command], stdin=child, stdout=child, stderr=child, cwd=ROOT,
                               env={**os.environ, "TERM": "xterm-256color", **environment})
    os.close(child)
    output = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    process.wait()
    return output.decode(errors="replace").replace("\r\n", "\n")


def as_html(text: str) -> str:
    """Text with escape sequences of colours as HTML."""
    out, is_open = [], False
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z])", text):
        sequence = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if sequence:
            out.append("</span>" if is_open else "")
            is_open = False
            codes = [code for code in sequence.group(1).split(";") if code not in ("", "0")]
            if codes:
                style = "".join("font-weight:bold;" if code == "1" else "opacity:.65;" if code == "2" else
                                f"color:{COLORS[code]};" if code in COLORS else "" for code in codes)
                out.append(f'<span style="{style}">')
                is_open = True
        elif not part.startswith("\x1b"):
            out.append(html.escape(part))
    return "".join(out) + ("</span>" if is_open else "")


def screenshot(page: str, picture: Path, width: int, height: int) -> None:
    names = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    browser = next((found for name in names if name and (found := shutil.which(name))), None)
    if not browser:
        sys.exit("error: Chromium is not installed")
    subprocess.run([browser, "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}",
                    "--force-device-scale-factor=1.5", "--virtual-time-budget=5000", f"--screenshot={picture}", page],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    images = ROOT / "docs" / "images"
    images.mkdir(exist_ok=True)
    host = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / "gage-host"
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        suite = "config/custom/tiny.yaml"
        run = f"{host} run {suite} --output-dir {runs} --progress=none --run-id"
        shown = in_terminal(f"{run} first").replace(str(runs), "runs")
        in_terminal(f"{run} second", GAGE_TINY_MODEL="gage-tiny-early")
        text = f"$ gage-host run {suite}\n\n" + shown.strip("\n")
        page = Path(folder) / "run.html"
        page.write_text(PAGE.format(text=as_html(text)), encoding="utf-8")
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
        columns = max(len(line) for line in lines)
        # A letter of this font is 9.03 pixels wide; the rest is padding and margins.
        screenshot(page.as_uri(), images / "run.png", int(columns * 9.03) + 80, int(len(lines) * 21.75) + 72)
        report = Path(folder) / "report.html"
        subprocess.run([host, "report", "first", "second", "--output-dir", runs, "--output", report], check=True, cwd=ROOT)
        screenshot(report.as_uri(), images / "report.png", 1100, 800)


if __name__ == "__main__":
    main()
