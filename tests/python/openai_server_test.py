"""examples/serve/openai_server.py on a decoder of random weights: answers, streams, requests at a time, and what is refused."""

import concurrent.futures
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import fettle
from small_decoder import small_decoder

SERVER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "serve" / "openai_server.py"
LONG = "The weather was fine and people walked in the park, as they do. " * 5  # more than two runs of 128 tokens


def start(path, *options):
    """The process and its port."""
    server = subprocess.Popen([sys.executable, SERVER, path, "--port", "0", "--threads", "1", *options], stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline().split("/v1")[0].rsplit(":")[-1])


def stop(server):
    """Its exit code."""
    server.send_signal(signal.SIGTERM)
    code = server.wait(30)
    server.stdout.close()
    return code


class OpenAi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name, "small.gguf")
        cls.path.write_bytes(small_decoder(changes={"llama.context_length": 512}))
        cls.server, cls.port = start(cls.path, "--sequences", "3", "--waiting", "2")

    @classmethod
    def tearDownClass(cls):
        code = stop(cls.server)
        cls.folder.cleanup()
        assert code == 0, code

    def send(self, path, body=None, method=None, headers=None):
        """(status, document)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method or ("GET" if body is None else "POST"), path, data, headers or {})
        reply = connection.getresponse()
        document = json.loads(reply.read())
        connection.close()
        return reply.status, document

    def complete(self, prompt="Hello", **more):
        """(text, document) of a greedy answer"""
        for _ in range(100):
            status, document = self.send("/v1/completions", {"model": "small", "prompt": prompt, "temperature": 0, **more})
            if status != 503:
                break
            time.sleep(0.05)
        self.assertEqual(status, 200, document)
        return document["choices"][0]["text"], document

    def events(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", path, json.dumps({"model": "small", "stream": True, "temperature": 0, **body}))
        reply = connection.getresponse()
        self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, "text/event-stream"))
        lines = reply.read().decode().split("\n\n")
        connection.close()
        self.assertEqual(lines[-2:], ["data: [DONE]", ""])
        return [json.loads(line[len("data: ") :]) for line in lines[:-2]]

    def refused(self, body, wanted, path="/v1/completions", status=400):
        got, document = self.send(path, body)
        self.assertEqual(got, status, document)
        self.assertEqual(sorted(document["error"]), ["code", "message", "param", "type"])
        self.assertRegex(document["error"]["message"], wanted)
        return document["error"]

    def test_models(self):
        status, document = self.send("/v1/models")
        self.assertEqual((status, [model["id"] for model in document["data"]]), (200, ["small"]))
        self.assertEqual(self.send("/v1/models/small")[1]["object"], "model")
        self.assertEqual(self.send("/v1/models/other")[0], 404)

    def test_an_answer_is_that_of_the_generator(self):
        text, document = self.complete(max_tokens=12)
        self.assertEqual(text, "".join(fettle.Generator(self.path, context=64).generate("Hello", tokens=12, top_k=0, top_p=1)))
        self.assertEqual(document["object"], "text_completion")
        usage = document["usage"]
        self.assertEqual((usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]), (5, 12, 17))
        self.assertEqual(document["choices"][0]["finish_reason"], "length")
        tokens = fettle.Generator(self.path).encode("Hello")
        self.assertEqual(self.complete(tokens, max_tokens=12)[0], text)
        self.assertEqual(self.complete(["Hello"], max_tokens=12)[0], text)
        self.assertEqual(self.complete()[1]["usage"]["completion_tokens"], 16)

    def test_seeds_and_sampling(self):
        def sample(seed, **more):
            return self.complete(temperature=2, seed=seed, max_tokens=24, **more)[0]

        self.assertEqual(sample(3), sample(3))
        self.assertEqual(sample(-1), sample((1 << 64) - 1))
        self.assertNotEqual(sample(3), sample(4))
        greedy = self.complete(max_tokens=24)[0]
        self.assertEqual(sample(3, top_p=0), greedy)
        self.assertEqual(sample(3, top_k=1), greedy)

    def test_a_stop_word(self):
        whole = self.complete(max_tokens=24)[0]
        text, document = self.complete(max_tokens=24, stop=["never seen", whole[7:10]])
        self.assertEqual(text, whole[: whole.index(whole[7:10])])
        self.assertEqual(document["choices"][0]["finish_reason"], "stop")
        self.assertEqual("".join(event["choices"][0]["text"] for event in self.events("/v1/completions", {
            "prompt": "Hello", "max_tokens": 24, "stop": whole[7:10]})), text)  # fmt: skip

    def test_a_stream_is_the_answer_in_pieces(self):
        events = self.events("/v1/completions", {"prompt": "Hello", "max_tokens": 12, "stream_options": {"include_usage": True}})
        self.assertGreater(len(events), 8)
        self.assertEqual("".join(event["choices"][0]["text"] for event in events[:-1]), self.complete(max_tokens=12)[0])
        self.assertEqual(events[-2]["choices"][0]["finish_reason"], "length")
        self.assertEqual((events[-1]["choices"], events[-1]["usage"]["completion_tokens"]), ([], 12))
        self.assertEqual(len({event["id"] for event in events}), 1)

    def test_chat(self):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Why?"}]}]
        body = {"model": "small", "messages": messages, "temperature": 0, "max_tokens": 8}
        status, document = self.send("/v1/chat/completions", body)
        self.assertEqual((status, document["object"]), (200, "chat.completion"))
        generator = fettle.Generator(self.path)
        text = "".join(generator.generate("Why?", chat=True, system="Be brief.", tokens=8))
        self.assertEqual(document["choices"][0]["message"]["content"], text)
        events = self.events("/v1/chat/completions", {"messages": messages, "max_completion_tokens": 8})
        self.assertEqual(events[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual("".join(event["choices"][0]["delta"].get("content", "") for event in events), text)
        # Later turns stand behind the answers, in the same form.
        messages += [{"role": "assistant", "content": "So."}, {"role": "user", "content": "And"}, {"role": "user", "content": "then?"}]
        _, document = self.send("/v1/chat/completions", body)
        whole = generator.chat("Why?", "Be brief.") + "So.<|im_end|>\n<|im_start|>user\nAnd\n\nthen?<|im_end|>\n<|im_start|>assistant\n"
        generator.rewind(0)
        wanted = "".join(generator.generate(generator.encode(whole, special=True), tokens=8))
        self.assertEqual(document["choices"][0]["message"]["content"], wanted)

    def test_many_at_a_time_say_what_each_says_alone(self):
        prompts = [f"{i} {LONG[: 40 * i]}" for i in range(10)]
        alone = [self.complete(prompt, max_tokens=20)[0] for prompt in prompts]
        with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
            together = list(pool.map(lambda prompt: self.complete(prompt, max_tokens=20)[0], prompts))
        self.assertEqual(together, alone)

    def test_what_was_read_is_not_read_again_and_changes_nothing(self):
        prompt = "?" + LONG  # of its own
        first, document = self.complete(prompt, max_tokens=20)
        self.assertEqual(document["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        again, document = self.complete(prompt, max_tokens=20)
        self.assertEqual(again, first)
        self.assertEqual(document["usage"]["prompt_tokens_details"]["cached_tokens"], 256)
        _, document = self.complete(prompt[:200] + "another end", max_tokens=2)
        self.assertEqual(document["usage"]["prompt_tokens_details"]["cached_tokens"], 128)

    def test_what_a_busy_sequence_has_read_is_copied(self):
        prompt = "!" + LONG
        wanted = self.complete(prompt + "the end", max_tokens=8)[0]
        server, port = start(self.path, "--name", "small", "--sequences", "2")
        try:
            first = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            first.request("POST", "/v1/completions", json.dumps({"model": "small", "prompt": prompt, "stream": True, "temperature": 0, "max_tokens": 150}))
            stream = first.getresponse()
            stream.readline()  # the whole prompt was read
            second = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            second.request("POST", "/v1/completions", json.dumps({"model": "small", "prompt": prompt + "the end", "temperature": 0, "max_tokens": 8}))
            document = json.loads(second.getresponse().read())
            self.assertEqual(document["choices"][0]["text"], wanted)
            self.assertEqual(document["usage"]["prompt_tokens_details"]["cached_tokens"], 256)
            stream.read()
            for connection in (first, second):
                connection.close()
        finally:
            self.assertEqual(stop(server), 0)

    def test_more_than_may_wait_are_refused_and_leavers_make_room(self):
        body = json.dumps({"model": "small", "prompt": "Hello", "temperature": 2, "max_tokens": 500, "seed": 1}).encode()
        request = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        refused, clients = 0, []
        for _ in range(30):
            clients.append(socket.create_connection(("127.0.0.1", self.port), timeout=60))
            clients[-1].sendall(request)
        for client in clients:
            client.settimeout(60)
            refused += client.recv(12) == b"HTTP/1.1 503"
        self.assertGreater(refused, 0)
        for client in clients:
            client.close()
        self.assertEqual(len(self.complete(max_tokens=12)[1]["choices"]), 1)

    def test_the_context_bounds_prompt_and_answer(self):
        error = self.refused({"model": "small", "prompt": "a" * 512}, "context of 512 tokens has no room .* 512 of the prompt")
        self.assertEqual((error["code"], error["param"]), ("context_length_exceeded", "prompt"))
        _, document = self.complete("a" * 505, max_tokens=100)
        self.assertEqual((document["usage"]["total_tokens"], document["choices"][0]["finish_reason"]), (512, "length"))

    def test_what_is_refused(self):
        good = {"model": "small", "prompt": "Hello"}
        for body, wanted in ((b"{", "no JSON"), (b"[1]", "no JSON object"), (b"\xff{}", "no JSON"), ("[" * 100000, "no JSON")):
            self.refused(body, wanted)
        self.assertEqual(self.refused({**good, "model": "gpt"}, "no model 'gpt' here: 'small'")["code"], "model_not_found")
        self.refused({"prompt": "Hello"}, "no model None")
        for name, value in (("temperature", -1), ("temperature", float("nan")), ("temperature", "1"), ("temperature", True), ("top_p", 1.1),
                            ("max_tokens", 0), ("max_tokens", 1.5), ("seed", "x"), ("top_k", -1), ("stop", 5), ("stop", ["a"] * 5),
                            ("stop", ["\ud800"]), ("stream", 1), ("stream_options", {"x": 1}), ("n", 2), ("logprobs", 3), ("echo", True),
                            ("tools", [{}]), ("frequency_penalty", 1), ("surprise", 1), ("prompt", None), ("prompt", ""), ("prompt", 5),
                            ("prompt", [97]), ("prompt", [-1]), ("prompt", ["a", "b"]), ("prompt", [True]), ("prompt", "\ud800")):  # fmt: skip
            with self.subTest(name, value=value):
                self.assertEqual(self.refused({**good, name: value}, f"'{name}'|{name}")["param"], name)
        self.assertEqual(self.send("/v1/embeddings", {})[0], 404)
        self.assertEqual(self.send("/v1/models", b"", "DELETE")[0], 501)
        self.assertEqual(self.send("/v1/completions", method="POST", headers={"Content-Length": "-1"})[0], 411)
        self.assertEqual(self.send("/v1/completions", method="POST", headers={"Content-Length": "99999999"})[0], 413)

    def test_conversations_that_are_refused(self):
        user, assistant = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
        for messages in (None, [], "a", ["a"], [assistant], [user, assistant], [assistant, user], [{"role": "tool", "content": "a"}],
                         [{"role": "user"}], [{"role": "user", "content": [{"type": "image_url"}]}], [{"role": "user", "content": "a\0b"}],
                         [{"role": "user", "content": "\ud800"}]):  # fmt: skip
            with self.subTest(messages):
                self.refused({"model": "small", "messages": messages}, ".", "/v1/chat/completions")
        self.refused({"model": "small", "messages": [{"role": "user", "content": "a" * 600}]}, "no room", "/v1/chat/completions")


class Starting(unittest.TestCase):
    def run_server(self, *words):
        done = subprocess.run([sys.executable, SERVER, *words], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_what_is_refused(self):
        self.assertRegex(self.run_server("/no/such/file.gguf"), r"^openai_server: .*/no/such/file.gguf")
        self.assertRegex(self.run_server("x.gguf", "--sequences", "0"), "--sequences: expected 1 or more, got 0")

    def test_a_model_without_a_form_of_conversations(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "plain.gguf")
            path.write_bytes(small_decoder(changes={"tokenizer.chat_template": None}))
            server, port = start(path, "--name", "a model")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request("POST", "/v1/chat/completions", json.dumps({"model": "a model", "messages": [{"role": "user", "content": "a"}]}))
                reply = connection.getresponse()
                self.assertEqual(reply.status, 400)
                self.assertIn("/v1/completions takes one", json.loads(reply.read())["error"]["message"])
                connection.close()
            finally:
                self.assertEqual(stop(server), 0)


if __name__ == "__main__":
    unittest.main()
