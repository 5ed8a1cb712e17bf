"""fettle quantise on language models of random weights, right and wrong ones.
usage: quantise_gguf_test.py FETTLE"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from small_decoder import metadata, gguf_file, small_decoder, tensors  # noqa: E402

FETTLE = str(pathlib.Path(sys.argv[1]).resolve())
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_") or key == "FETTLE_CPU_ISA"}
TYPES = "tq2_0 q4_0 q4_k q4_1 q5_0 q5_k q5_1 q6_k q8_0 f16 bf16 f32".split()


def fettle(*words, **options):
    return subprocess.run([FETTLE, *words], capture_output=True, timeout=240, env=ENVIRONMENT, **options)


class Quantise(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        pathlib.Path("small.gguf").write_bytes(small_decoder("llama", "f32"))

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def document(self, *words):
        done = fettle("quantise", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        return json.loads(done.stdout)

    def refused(self, code, text, *words, **options):
        """Exit code `code`, one line on stderr with `text` in it, nothing on stdout and no file."""
        done = fettle("quantise", *words, "-o", "refused.gguf", **options)
        self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
        self.assertIn(text, done.stderr.decode())
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertEqual([path for path in os.listdir() if path.startswith("refused")], [])

    def test_every_type_is_written_and_read(self):
        for kind in TYPES:
            with self.subTest(kind=kind):
                made = self.document("small.gguf", "--type", kind, "-o", "out.gguf")
                # Rows of 64 and 96 are no blocks of 256.
                fits = {"q4_k": "Q5_0", "q5_k": "Q5_1", "q6_k": "Q8_0", "tq2_0": "Q4_0"}.get(kind, kind.upper())
                self.assertEqual({row["type"] for row in made["matrices"]}, {fits} - {"F32"})
                done = fettle("generate", "out.gguf", "Hello", "--tokens", "4", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_experts_become_smaller_and_routers_do_not(self):
        for form in ("qwen2moe", "gpt-oss"):
            pathlib.Path("experts.gguf").write_bytes(small_decoder(form, "f32"))
            for words in (("--type", "q4_0"), ("--bits", "6", "--tokens", "16")):
                with self.subTest(form=form, words=words):
                    names = {row["name"] for row in self.document("experts.gguf", *words, "-o", "out.gguf")["matrices"]}
                    self.assertIn("blk.1.ffn_down_exps.weight", names)
                    self.assertEqual([name for name in names if "ffn_gate_inp" in name], [])
                    self.assertEqual(fettle("generate", "out.gguf", "Hello", "--tokens", "4").returncode, 0)

    def test_convolutions_of_states_stay(self):
        for form in ("lfm2", "mamba", "mamba2", "qwen35"):
            pathlib.Path("states.gguf").write_bytes(small_decoder(form, "f32"))
            for words in (("--type", "q8_0"), ("--bits", "8", "--tokens", "16")):
                with self.subTest(form=form, words=words):
                    names = {row["name"] for row in self.document("states.gguf", *words, "-o", "out.gguf")["matrices"]}
                    self.assertEqual([name for name in names if "conv1d" in name or "shortconv.conv" in name], [])
                    self.assertTrue(any("_out" in name or "out_proj" in name for name in names))
                    self.assertEqual(fettle("generate", "out.gguf", "Hello", "--tokens", "4").returncode, 0)

    def test_metadata_is_kept(self):
        self.document("small.gguf", "--type", "q8_0", "-o", "out.gguf")
        before, after = pathlib.Path("small.gguf").read_bytes(), pathlib.Path("out.gguf").read_bytes()
        front = before.index(b"token_embd.weight")
        self.assertEqual(before[:front], after[:front])

    def test_a_quantised_model_is_taken_and_said(self):
        pathlib.Path("few.gguf").write_bytes(small_decoder("qwen3", "q4_0"))
        made = self.document("few.gguf", "--type", "q8_0", "-o", "out.gguf")
        self.assertIn("already quantised (matrices: 15 Q4_0)", made["warnings"][0])
        self.assertEqual(self.document("few.gguf", "--type", "q4_0", "-o", "out.gguf")["matrices"], [])
        self.assertEqual(pathlib.Path("few.gguf").read_bytes(), pathlib.Path("out.gguf").read_bytes())

    def test_a_budget_is_kept_and_no_uniform_width_is_better(self):
        pathlib.Path("text.txt").write_text("Hello, these are words to measure on. " * 3)
        for bits, words in ((4.7, ["--tokens", "40"]), (6, ["--text", "text.txt"]), (9, ["--text", "text.txt", "--tokens", "30"])):
            with self.subTest(bits=bits):
                made = self.document("small.gguf", "--bits", str(bits), "-o", "out.gguf", *words)
                self.assertLessEqual(made["after"]["bits"], bits)
                chosen, *uniform = made["choice"]["compared"]
                self.assertEqual((chosen["bytes"], chosen["bits"]), (made["after"]["bytes"], made["after"]["bits"]))
                for other in uniform:
                    self.assertLessEqual(other["bits"], bits)
                    self.assertLessEqual(chosen["divergence"], other["divergence"])
                self.assertEqual(fettle("generate", "out.gguf", "Hello", "--tokens", "4").returncode, 0)
        self.assertEqual(made["choice"]["tokens"], 30)

    def test_a_budget_of_perplexity_is_kept_in_the_fewest_bytes(self):
        sizes = []
        for growth in ("+0.01%", "5", "+400%"):
            with self.subTest(growth=growth):
                made = self.document("small.gguf", "--perplexity", growth, "--tokens", "40", "-o", "out.gguf")
                choice, percent = made["choice"], float(growth.strip("+%"))
                self.assertEqual((choice["budget_bits"], choice["budget_growth_percent"]), (None, percent))
                most = choice["perplexity_before"] * (1 + percent / 100)
                chosen, *uniform = choice["compared"]
                self.assertLessEqual(chosen["perplexity"], most)
                self.assertEqual(chosen["bytes"], made["after"]["bytes"])
                for other in uniform:
                    self.assertTrue(other["perplexity"] > most or other["bytes"] >= chosen["bytes"], other)
                sizes.append(chosen["bytes"])
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertLess(sizes[2], sizes[0])

    def test_matrices_get_types_of_their_own(self):
        made = self.document("small.gguf", "--bits", "5.6", "--tokens", "40", "-o", "out.gguf")
        self.assertGreater(len({row["type"] for row in made["matrices"]}), 1)
        self.assertTrue(all(row["divergence"] > 0 for row in made["matrices"]), made["matrices"])

    def test_what_fits_the_budget_stays(self):
        pathlib.Path("few.gguf").write_bytes(small_decoder("qwen3", "q4_0"))
        self.assertEqual(self.document("few.gguf", "--bits", "6", "--tokens", "9", "-o", "out.gguf")["matrices"], [])
        self.assertEqual(pathlib.Path("few.gguf").read_bytes(), pathlib.Path("out.gguf").read_bytes())

    def test_budgets_and_texts_that_are_refused(self):
        self.refused(3, "the smallest types take 4.", "small.gguf", "--bits", "4")
        self.refused(2, "--bits: not with --type", "small.gguf", "--bits", "5", "--type", "q4_0")
        self.refused(2, "--perplexity: not with --bits", "small.gguf", "--bits", "5", "--perplexity", "2")
        for growth in ("-1", "%", "+", "much", "nan", "2%%", "1e9"):
            self.refused(2, f"as in +2%, got '{growth}'", "small.gguf", f"--perplexity={growth}")
        self.refused(2, "--text: for .gguf files only", "small.onnx", "--text", "text.txt", "--data", "x.npy")
        pathlib.Path("empty.txt").write_text("")
        self.refused(3, "fewer than 2 tokens", "small.gguf", "--bits", "5", "--text", "empty.txt")
        self.refused(3, "none.txt", "small.gguf", "--bits", "5", "--text", "none.txt")
        pathlib.Path("rwkv7.gguf").write_bytes(small_decoder(changes={"general.architecture": "rwkv7"}))
        self.refused(4, "rwkv7", "rwkv7.gguf", "--bits", "5")

    def test_what_is_refused(self):
        self.refused(3, "expected one of tq2_0, q2_k", "small.gguf", "--type", "q3_l")
        self.refused(2, "--bits, --perplexity or --type is required", "small.gguf")
        self.refused(2, "--min-sqnr: for .onnx files only", "small.gguf", "--type", "q4_0", "--min-sqnr", "3")
        self.refused(2, "--type: for .gguf files only", "small.onnx", "--type", "q4_0")
        self.refused(3, "nothing.gguf", "nothing.gguf", "--type", "q4_0")
        pathlib.Path("cut.gguf").write_bytes(small_decoder()[:-500])
        self.refused(3, "cut.gguf", "cut.gguf", "--type", "q4_0")

    def test_weights_that_are_no_numbers(self):
        import random

        parts = list(tensors("llama", "f32", random.Random(7)))
        name, kind, extents, content = parts[0]
        parts[0] = (name, kind, extents, b"\x00\x00\xc0\x7f" + content[4:])
        pathlib.Path("nan.gguf").write_bytes(gguf_file(metadata("llama"), parts))
        self.refused(3, "element 0 of row 0 is nan", "nan.gguf", "--type", "q4_0")

    def test_a_file_that_may_not_grow(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        self.refused(1, "refused.gguf", "small.gguf", "--type", "q8_0", preexec_fn=limit)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
