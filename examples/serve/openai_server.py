"""Serves a language model, a GGUF file or a folder with an ONNX model, by OpenAI's interface, with Python's standard library alone.

    pip install WHEEL
    python openai_server.py MODEL.gguf|FOLDER [--port 8080] [--sequences 4]      (--help lists all options)

GET /v1/models, POST /v1/completions and /v1/chat/completions, streamed (server-sent events) or at once. What a request asks for that
this server does not do is refused with an error that names it. Ctrl-C ends it.
"""

import argparse
import http.server
import json
import pathlib
import select
import signal
import socket
import sys
import time
import urllib.parse
import uuid

import fettle
from asked import Refused, read_request
from sequences import Busy, Request, Sequences

MOST_BYTES = 16 << 20  # of a request's body


class Server(http.server.ThreadingHTTPServer):
    """A thread for each connection, one that computes."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, name, sequences):
        super().__init__(address, Handler)
        self.name, self.sequences, self.began = name, sequences, int(time.time())

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that a client may be silent in the middle of a request

    def log_message(self, *_):
        pass

    def send_error(self, code, message=None, explain=None):
        """What http.server itself refuses."""
        self.close_connection = True
        self.refuse(Refused(message or http.HTTPStatus(code).phrase, status=int(code)))

    def do_GET(self):
        name, path = self.server.name, urllib.parse.unquote(self.path)
        if self.headers.get("Content-Length", "0") != "0":
            self.close_connection = True  # what it brings is not read
        model = {"id": name, "object": "model", "created": self.server.began, "owned_by": "fettle"}
        if path == "/v1/models":
            self.reply(200, {"object": "list", "data": [model]})
        elif path == f"/v1/models/{name}":
            self.reply(200, model)
        else:
            self.refuse(Refused(f"there is no {path} to get: /v1/models is all", status=404))

    def do_POST(self):
        try:
            body = self.body()
            chat = {"/v1/chat/completions": True, "/v1/completions": False}.get(self.path)
            if chat is None:
                raise Refused(f"there is no {self.path} to post to: /v1/completions and /v1/chat/completions are all", status=404)
            self.answer(chat, body)
        except Refused as refused:
            self.refuse(refused)
        except Busy:
            self.refuse(Refused("all sequences are busy and no more requests may wait; try again", status=503))
        except OSError:  # the client went away
            raise
        except Exception as error:  # of whatever the model's thread met
            self.refuse(Refused(str(error) or type(error).__name__, status=500))

    def body(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            self.close_connection = True
            raise Refused("a request needs a Content-Length", status=411)
        if len(length) > 12 or int(length) > MOST_BYTES:
            self.close_connection = True
            raise Refused(f"a request has at most {MOST_BYTES} bytes", status=413)
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise Refused(f"the body is no JSON: {error}") from error
        if not isinstance(body, dict):
            raise Refused("the body is no JSON object")
        return body

    def answer(self, chat, body):
        sequences = self.server.sequences
        asked = read_request(sequences.first, chat, body, self.server.name)
        request = Request(asked.tokens, asked.options)
        sequences.ask(request)
        kind = "chat.completion" if chat else "text_completion"
        reply = {"id": f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()),
                 "model": self.server.name}  # fmt: skip
        if asked.stream:
            if chat:
                reply["object"] += ".chunk"
            self.stream(chat, asked, request, reply)
            return
        text = "".join(request.follow(self.listens))
        said = {"message": {"role": "assistant", "content": text, "refusal": None}} if chat else {"text": text}
        reply["choices"] = [choice(said, finish(request))]
        reply["usage"] = usage(request)
        self.reply(200, reply)

    def stream(self, chat, asked, request, reply):
        """Events as the answer comes; the connection's end is theirs."""
        self.close_connection = True
        self.send_response(200)
        for header, value in (("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache"), ("Connection", "close")):
            self.send_header(header, value)
        self.end_headers()
        more = {"usage": None} if asked.usage else {}

        def said(delta, ends=None):
            self.event({**reply, "choices": [choice({"delta": delta} if chat else {"text": delta.get("content", "")}, ends)], **more})

        try:
            if chat:
                said({"role": "assistant", "content": ""})
            for piece in request.follow(self.listens):
                said({"content": piece})
            said({}, finish(request))
            if asked.usage:
                self.event({**reply, "choices": [], "usage": usage(request)})
        except OSError:  # the client went away
            raise
        except Exception as error:  # of whatever the model's thread met
            self.event(error_body(Refused(str(error) or "the server ends", status=500)))
        finally:
            request.gone = True
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, document):
        self.wfile.write(b"data: " + json.dumps(document).encode() + b"\n\n")
        self.wfile.flush()

    def listens(self):
        """Whether the client is still there. One that sends more before it has its answer is."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        if not readable or self.connection.recv(1, socket.MSG_PEEK):
            return True
        self.close_connection = True
        raise ConnectionResetError("the client went away")

    def reply(self, status, document):
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 503:
            self.send_header("Retry-After", "1")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, refused):
        if refused.status == 404:
            self.close_connection = True  # its body, if there is one, is not read
        self.reply(refused.status, error_body(refused))


def error_body(refused):
    kind = "server_error" if refused.status >= 500 else "invalid_request_error"
    return {"error": {"message": str(refused), "type": kind, "param": refused.param, "code": refused.code}}


def choice(said, ends):
    return {"index": 0, **said, "logprobs": None, "finish_reason": ends}


def finish(request):
    """OpenAI's word for why an answer ended."""
    return "stop" if request.finish in ("end", "stop") else "length"


def usage(request):
    prompt = len(request.tokens)
    return {"prompt_tokens": prompt, "completion_tokens": request.answered, "total_tokens": prompt + request.answered,
            "prompt_tokens_details": {"cached_tokens": request.cached}}  # fmt: skip


def count(least):
    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"expected {least} or more, got {text}")
        return value

    return number


def usual_name(model):
    path = pathlib.Path(model).resolve()
    return path.name if path.is_dir() else path.stem


def main():
    parser = argparse.ArgumentParser(description="Serves a language model by OpenAI's interface.")
    parser.add_argument("model", help="a .gguf file, or a folder with an ONNX model and its tokenizer.json")
    parser.add_argument("--name", help="the model's name in requests; the folder's, or the file's without its ending")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1; 0.0.0.0: all)")
    parser.add_argument("--port", type=count(0), default=8080, help="the port (8080; 0: any that is free)")
    parser.add_argument("--sequences", type=count(1), default=4, help="answers at a time, each with a cache of its own (4)")
    parser.add_argument("--waiting", type=count(0), default=64, help="requests that may wait for one (64); more are refused")
    parser.add_argument("--context", type=count(0), default=0, help="most tokens of prompt and answer (0: the model's, at most 4,096)")
    parser.add_argument("--threads", type=count(0), default=0, help="of the CPU (0: all cores)")
    options = parser.parse_args()
    try:
        sequences = Sequences(options.model, options.sequences, options.waiting, context=options.context, threads=options.threads)
    except fettle.Error as error:
        sys.exit(f"openai_server: {error}")
    try:
        server = Server((options.host, options.port), options.name or usual_name(options.model), sequences)
    except (OSError, OverflowError) as error:
        sequences.close()
        sys.exit(f"openai_server: {options.host}:{options.port}: {error}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    host, port = server.server_address[:2]
    print(f"http://{host}:{port}/v1 serves {server.name}: {options.sequences} sequences of {sequences.context} tokens", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        sequences.close()
        server.server_close()


if __name__ == "__main__":
    main()
