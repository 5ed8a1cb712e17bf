"""fettle generate and fettle bench --generate on folders with ONNX language models, right and wrong ones.
usage: generate_folder_test.py FETTLE"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import small_folder  # noqa: E402
from small_models import value  # noqa: E402

FETTLE = str(pathlib.Path(sys.argv[1]).resolve())
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_") or key == "FETTLE_CPU_ISA"}
# By ONNX Runtime and the package tokenizers.
PROMPT, ANSWER, TOKENS = "hello world, hello", "m58{7yIyIyyyyyyy", [109, 53, 56, 123, 55, 121, 73, 121, 73, 121, 121, 121, 121, 121, 121, 121]


def fettle(*words):
    return subprocess.run([FETTLE, *words], capture_output=True, timeout=120, env=ENVIRONMENT)


class Folders(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name, "model")
        small_folder.write(self.folder)

    def document(self, *words):
        done = fettle(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, code, text, *words):
        """Exit code `code`, one line on stderr with `text` in it, and nothing on stdout."""
        done = fettle(*(words or ("generate", str(self.folder), "ab", "--tokens", "2")))
        self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
        self.assertIn(text, done.stderr.decode())
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def change(self, name, **members):
        path = self.folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **members}))

    def test_texts_are_onnx_runtimes(self):
        other = small_folder.write(pathlib.Path(self.scratch.name, "other"), grouped=False)
        for path in (self.folder, self.folder / "model.onnx", other, other / "onnx/model.onnx"):
            answer = self.document("generate", str(path), PROMPT, "--tokens", "16")
            self.assertEqual((answer["text"], answer["tokens"], answer["prompt"]["tokens"]), (ANSWER, TOKENS, 10), path)
            self.assertEqual((answer["context"], answer["cache_bytes"], answer["cache_in_place"]), (128, 2 * 2 * 2 * 128 * 8 * 4, True))

    def test_inputs_of_other_exporters(self):
        for options in ({"keeps": True}, {"branches": True}, {"keeps": True, "branches": True}):
            for grouped in (True, False):
                folder = small_folder.write(pathlib.Path(self.scratch.name, "more"), grouped, **options)
                path = folder / ("model.onnx" if grouped else "onnx/model.onnx")
                answer = self.document("generate", str(path), PROMPT, "--tokens", "16")
                self.assertEqual((answer["text"], answer["cache_in_place"]), (ANSWER, True), (options, grouped))

    def test_stop_words_and_chats(self):
        done = fettle("generate", str(self.folder), PROMPT, "--tokens", "16", "--stop", "7y")
        self.assertEqual((done.returncode, done.stdout), (0, b"m58{\n"), done.stderr)
        plain = self.document("generate", str(self.folder), "<|im_start|>user\nab<|im_end|>\n<|im_start|>assistant\n", "--tokens", "4")
        chat = self.document("generate", str(self.folder), "ab", "--chat", "--tokens", "4")
        self.assertEqual(chat["prompt"]["tokens"], 1 + 3 + len("user\nab\nassistant\n") - len("or") + 2)
        self.assertGreater(plain["prompt"]["tokens"], chat["prompt"]["tokens"])

    def test_prompts_of_any_length_go_on_as_one_by_one(self):
        for grouped in (True, False):
            folder = small_folder.write(pathlib.Path(self.scratch.name, str(grouped)), grouped)
            for count in (1, 7, 9, 31, 33, 100, 120):
                whole = self.document("generate", str(folder), "x" * count, "--tokens", "4")
                self.assertEqual(whole["prompt"]["tokens"], count + 1)
                # The answer's first tokens as a longer prompt.
                more = self.document("generate", str(folder), "x" * count + whole["text"][:2], "--tokens", "2")
                self.assertEqual(whole["text"][2:], more["text"], count)

    def test_caches_that_grow(self):
        # Scores that rise with a key's position are no causal attention.
        folder = small_folder.write(pathlib.Path(self.scratch.name, "slope"), grouped=False, slope=0.02)
        whole = self.document("generate", str(folder), "x" * 30, "--tokens", "4")
        self.assertFalse(whole["cache_in_place"])
        self.assertEqual(whole["text"][2:], self.document("generate", str(folder), "x" * 30 + whole["text"][:2], "--tokens", "2")["text"])

    def test_bench(self):
        rates = self.document("bench", str(self.folder), "--generate", "20,4", "--iters", "1", "--sequences", "2")
        self.assertEqual((rates["prompt"]["tokens"], rates["answer"]["tokens"], rates["together"]["tokens"]), (20, 4, 8))

    def test_folders_without_their_files(self):
        (self.folder / "tokenizer.json").rename(self.folder / "other.json")
        self.refused(3, "there is no tokenizer.json")
        (self.folder / "other.json").rename(self.folder / "tokenizer.json")
        (self.folder / "model.onnx").rename(self.folder / "a.onnx")
        self.refused(3, "the model 'model.onnx' is missing")
        (self.folder / "genai_config.json").unlink()
        self.assertEqual(self.document("generate", str(self.folder), PROMPT, "--tokens", "16")["text"], ANSWER)
        (self.folder / "b.onnx").write_bytes(b"")
        self.refused(3, f"name one of them: {self.folder}/a.onnx, {self.folder}/b.onnx")
        for name in "ab":
            (self.folder / f"{name}.onnx").unlink()
        self.refused(3, "there is no .onnx file")
        self.refused(3, "no such file", "generate", str(self.folder / "c.onnx"), "ab")

    def test_files_that_do_not_fit(self):
        (self.folder / "tokenizer.json").write_text(json.dumps(small_folder.tokenizer())[:-20])
        self.refused(3, "tokenizer.json: not valid JSON")
        small_folder.write(self.folder)
        self.change("tokenizer.json", normalizer={"type": "Precompiled", "precompiled_charsmap": ""})
        self.refused(3, "'precompiled_charsmap': 0 of 0 bytes are its trie")
        self.change("tokenizer.json", normalizer={"type": "Other"})
        self.refused(4, "normalizer 'Other' is not supported")
        small_folder.write(self.folder, tokens=len(small_folder.TOKENS) - 1)
        self.refused(3, f"the tokenizer has {len(small_folder.TOKENS)} tokens, and the model {len(small_folder.TOKENS) - 1}")
        small_folder.write(self.folder)
        self.change("genai_config.json", model={"vision": {"filename": "vision.onnx"}, "decoder": {}})
        self.refused(4, "the model has a part 'vision'")
        self.change("genai_config.json", model={"decoder": {"filename": "../model.onnx"}})
        self.refused(3, "'../model.onnx' is not a file of the folder")
        self.change("genai_config.json", model={"context_length": -3, "decoder": {"filename": "model.onnx"}})
        self.refused(3, "'context_length'")
        (self.folder / "genai_config.json").write_text("[1]")
        self.refused(3, "genai_config.json: expected a JSON object")

    def test_graphs_that_do_not_fit(self):
        path, wide = self.folder / "model.onnx", ["batch", 2, "past", 8]
        path.write_bytes(small_folder.decoder(extra=[value("pixel_values", [1, 3], "float32")]))
        self.refused(4, "input 'pixel_values' is not supported")
        path.write_bytes(small_folder.decoder(extra=[value("past_key_values.9.key", wide)]))
        self.refused(4, "'past_key_values.9.key': there is no output present")
        path.write_bytes(small_folder.decoder(extra=[value("past_x", [2, "batch", 2, "past", 8])]))
        self.refused(4, "input 'past_x': expected a cache")
        path.write_bytes(small_folder.decoder()[:4000])
        self.refused(3, "model.onnx")
        path.unlink()
        path.mkdir()
        self.refused(3, "the model 'model.onnx' is missing")
        self.refused(3, "is the file's", "generate", str(small_folder.write(self.folder.parent / "bytes")), "ab", "--cache-type", "bytes")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
