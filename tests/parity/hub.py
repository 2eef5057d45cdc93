"""A hub on this machine: it serves the rows of `rows.py` as Parquet files, in a folder for each subset."""

import base64
import hashlib
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pyarrow
import pyarrow.parquet

from rows import DATASETS, rows_of

COMMIT = "0123456789012345678901234567890123456789"
DATA_URL = "data:image/png;base64,"


def with_pictures(value):
    """Returns a row whose pictures have the shape of the hub: bytes and a path."""
    if isinstance(value, dict):
        return {key: with_pictures(item) for key, item in value.items()}
    if isinstance(value, str) and value.startswith(DATA_URL):
        return {"bytes": base64.b64decode(value.removeprefix(DATA_URL)), "path": None}
    return value


def parquet(rows):
    """Returns a Parquet file with these rows."""
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([with_pictures(row) for row in rows]), file)
    return file.getvalue()


def files_of(dataset):
    """Returns the files of a dataset, by path. The card says which are of a subset and split."""
    found, configs = {}, []
    for (name, subset), (_, splits) in DATASETS.items():
        if name != dataset:
            continue
        shown = subset or "default"
        paths = [{"split": split, "path": f"{shown}/{split}.parquet"} for split in splits]
        configs.append({"config_name": shown, "data_files": paths})
        for split, entry in zip(splits, paths):
            found[entry["path"]] = parquet(rows_of(name, subset, split))
    # JSON is YAML, too.
    found["README.md"] = f"---\nconfigs: {json.dumps(configs)}\n---\n".encode()
    return found


def entry_of(path, content):
    """Returns the entry of a file in the listing of a commit."""
    oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return {"type": "file", "path": path, "oid": oid, "size": len(content)}


class Hub:
    """The hub, on a free port of this machine."""

    def __init__(self):
        self.datasets, self.lock = {}, threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # An answer leaves in one piece.
            wbufsize = 1 << 16

            def do_GET(self):
                body = outer.reply(unquote(urlsplit(self.path).path).strip("/").split("/"))
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def files(self, dataset):
        """Returns the files of a dataset, which are made once."""
        with self.lock:
            if dataset not in self.datasets:
                self.datasets[dataset] = files_of(dataset)
            return self.datasets[dataset]

    def reply(self, parts):
        """Returns the answer to a request, or `None` if there is no such thing."""
        is_about = parts[0] == "api"
        rest = parts[2:] if is_about else parts[1:]
        dataset, rest = "/".join(rest[:2]), rest[2:]
        files = self.files(dataset)
        match rest:
            case ["revision", *_] if is_about:
                return json.dumps({"id": dataset, "sha": COMMIT}).encode()
            case ["tree", *_] if is_about:
                return json.dumps([entry_of(*file) for file in files.items()]).encode()
            case ["resolve", _, *path]:
                return files.get("/".join(path))
        return None
