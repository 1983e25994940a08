"""An HTTP server on the loopback address that serves a folder, with ranges, and counts what it
sends."""

import http.server
import pathlib
import re
import threading


class RangeServer:
    """`sent` is the bytes of file contents that have gone out since the last reset, `requests` the
    ranges that were asked for, as (first, last)."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.lock = threading.Lock()
        self.reset()
        counter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def answer(self, with_body):
                counter.answer(self, with_body)

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *arguments):
                pass  # a client that has enough closes the connection

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def reset(self):
        with self.lock:
            self.sent, self.requests = 0, []

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, handler, with_body):
        path = self.folder / handler.path.lstrip("/")
        if handler.path == "/":
            page = "".join(f'<a href="{file.name}">{file.name}</a>\n'
                           for file in self.folder.iterdir()).encode()
            self.head(handler, 200, len(page), {"Content-Type": "text/html"})
            if with_body:
                handler.wfile.write(page)
        elif path.is_file():
            self.send_file(handler, path, with_body)
        else:
            self.head(handler, 404, 0, {})

    @staticmethod
    def head(handler, status, length, fields):
        handler.send_response(status)
        for name, value in {"Content-Length": length, **fields}.items():
            handler.send_header(name, str(value))
        handler.end_headers()

    def send_file(self, handler, path, with_body):
        size = path.stat().st_size
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range", ""))
        first, last = (int(asked[1]), int(asked[2] or size - 1)) if asked else (0, size - 1)
        last = min(last, size - 1)
        fields = {"Accept-Ranges": "bytes", "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
        if asked:
            fields["Content-Range"] = f"bytes {first}-{last}/{size}"
        self.head(handler, 206 if asked else 200, last - first + 1, fields)
        if not with_body:
            return
        with self.lock:
            self.requests.append((first, last))
        with open(path, "rb") as file:
            file.seek(first)
            left = last - first + 1
            while left > 0:
                part = file.read(min(left, 16384))
                handler.wfile.write(part)
                left -= len(part)
                with self.lock:
                    self.sent += len(part)
