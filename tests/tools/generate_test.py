"""fettle generate and fettle bench --generate on language models of random weights, right and wrong ones.
usage: generate_test.py FETTLE"""

import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from small_decoder import FORMS, gguf_file, metadata, small_decoder, tensors  # noqa: E402

FETTLE = str(pathlib.Path(sys.argv[1]).resolve())
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_") or key == "FETTLE_CPU_ISA"}


def fettle(*words):
    return subprocess.run([FETTLE, *words], capture_output=True, timeout=120, env=ENVIRONMENT)


class Generate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        pathlib.Path("small.gguf").write_bytes(small_decoder())

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def document(self, *words):
        done = fettle("generate", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        return json.loads(done.stdout)

    def refused(self, code, text, *words):
        """Exit code `code`, one line on stderr with `text` in it, and nothing on stdout."""
        done = fettle(*words)
        self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
        self.assertIn(text, done.stderr.decode())
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_texts_of_all_architectures_are_llama_cpps(self):
        known = json.loads((pathlib.Path(__file__).resolve().parents[1] / "language/small_texts.json").read_text())
        self.assertEqual(sorted(known), sorted(FORMS))
        for name, want in known.items():
            pathlib.Path(f"{name}.gguf").write_bytes(small_decoder(name, "f32"))
            answer = self.document(f"{name}.gguf", want["prompt"], "--tokens", "12")
            self.assertEqual(answer["text"], want["text"], name)

    def test_a_profile_has_the_kernels_of_prompts_and_tokens(self):
        words = ["bench", "small.gguf", "--generate", "20,4", "--iters", "1", "--profile"]
        done = fettle(*words, "--json")
        profile = json.loads(done.stdout)["profile"]
        for part in ("prompt", "token"):
            found = [step for step in profile[part] if step["op"] == "GroupQueryAttention"]
            self.assertEqual([(step["steps"], step["device"]) for step in found], [(2, "cpu")])
            self.assertGreater(found[0]["ms"], 0)
        self.assertIn(b"\na token\n", fettle(*words).stdout)
        self.assertNotIn("profile", json.loads(fettle(*words[:-1], "--json").stdout))

    def test_equal_seeds_give_equal_texts(self):
        words = ["small.gguf", "Hello", "--tokens", "16", "--temperature", "3", "--top-k", "0", "--top-p", "1"]
        texts = [self.document(*words, "--seed", seed)["text"] for seed in ("1", "1", "2")]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_a_stop_word_is_cut_off(self):
        whole = self.document("small.gguf", "Hello", "--tokens", "16")["text"]
        answer = self.document("small.gguf", "Hello", "--tokens", "16", "--stop", whole[5:8])
        self.assertEqual((answer["text"], answer["finish"]), (whole[: whole.index(whole[5:8])], "stop"))

    def test_the_context_bounds_prompt_and_answer(self):
        answer = self.document("small.gguf", "Hello", "--context", "8", "--tokens", "20")
        self.assertIn(answer["finish"], ("context", "end"))
        self.assertLessEqual(len(answer["tokens"]), 4)
        self.refused(3, "exceed the context of 4", "generate", "small.gguf", "Hello", "--context", "4")
        self.refused(3, "exceed the context of 128", "generate", "small.gguf", "x" * 129)

    def test_a_cache_in_bytes(self):
        words = ["small.gguf", "Hello", "--tokens", "8"]
        halves, in_bytes = (self.document(*words, "--cache-type", name) for name in ("f16", "bytes"))
        self.assertEqual(self.document(*words)["cache_bytes"], halves["cache_bytes"])
        self.assertLess(in_bytes["cache_bytes"], halves["cache_bytes"])
        done = fettle("bench", "small.gguf", "--generate", "20,5", "--iters", "1", "--cache-type", "bytes", "--json")
        self.assertLess(0, json.loads(done.stdout)["cache_bytes"])
        self.refused(2, "expected f16|bytes, got 'q8'", "generate", *words, "--cache-type", "q8")
        self.refused(2, "--cache-type requires --generate", "bench", "small.gguf", "--cache-type", "bytes")

    def test_any_limit_of_memory_is_refused_in_a_line(self):
        for limit in ("1", "16", "0x10", "100", "5000", "20000"):
            self.refused(1, "out of memory", "generate", "small.gguf", "ab", "--tokens", "3", "--max-memory", limit)

    def test_a_model_that_takes_most_of_the_memory_says_so(self):
        self.assertEqual(self.document("small.gguf", "ab", "--tokens", "3")["warnings"], [])
        needed = os.path.getsize("small.gguf") + self.document("small.gguf", "ab", "--tokens", "3")["cache_bytes"]
        warnings = self.document("small.gguf", "ab", "--tokens", "3", "--max-memory", str(2 * needed - 40000))["warnings"]
        self.assertIn("the weights take", " ".join(warnings))

    def test_other_files_and_options_that_need_others(self):
        self.refused(3, "there is no .onnx file", "generate", ".", "ab")
        self.refused(3, "model.onnx: no such file", "generate", "model.onnx", "ab")
        self.refused(3, "a language model in a GGUF file", "run", "small.gguf")
        self.refused(2, "--chat", "generate", "small.gguf", "ab", "--system", "x")

    def test_prompts_of_any_bytes(self):
        for prompt in (b"\xff\xfe", b"a\xc3", b"\xf0\x9f\x98", "Gr\u00fc\u00dfe \u4f60\u597d".encode(), b"\xed\xa0\x80", b"\n\t "):
            done = subprocess.run([FETTLE, "generate", "small.gguf", b"a" + prompt, "--tokens", "2", "--json"],
                                  capture_output=True, timeout=120, env=ENVIRONMENT)
            self.assertEqual(done.returncode, 0, (prompt, done.stdout))
            json.loads(done.stdout.decode())  # whatever came in, UTF-8 goes out

    def test_an_interruption_leaves_the_text_so_far(self):
        words = [FETTLE, "generate", "small.gguf", "Hello", "--tokens", "1000000", "--context", "1000000", "--temperature", "3"]
        done = None
        for seed in range(20):  # until no answer ends by itself before it is interrupted
            process = subprocess.Popen([*words, "--seed", str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
            begin = process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            if b"interrupted" in err:
                done = (process.returncode, begin + out)
                break
        self.assertIsNotNone(done, err)
        self.assertEqual(done[0], 1)
        self.assertTrue(done[1].endswith(b"\n"))

    def test_an_interruption_of_bench(self):
        words = ["bench", "small.gguf", "--generate", "2000,2000", "--iters", "100000", "--json"]
        process = subprocess.Popen([FETTLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.communicate(timeout=3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertTrue(json.loads(out)["interrupted"])

    def test_bench_counts_what_it_measures(self):
        done = fettle("bench", "small.gguf", "--generate", "20,5", "--iters", "2", "--json")
        document = json.loads(done.stdout)
        self.assertEqual((document["prompt"]["tokens"], document["answer"]["tokens"], document["iterations"]), (20, 5, 2))
        self.assertNotIn("together", document)
        done = fettle("bench", "small.gguf", "--generate", "20,5", "--iters", "2", "--sequences", "3", "--json")
        self.assertEqual([json.loads(done.stdout)["together"][name] for name in ("sequences", "tokens")], [3, 15])
        self.refused(2, "--sequences requires --generate", "bench", "small.gguf", "--sequences", "3")
        for wrong in ("20", "20,", ",5", "0,5", "5,0", "20,5,", "-1,5", "a,b", "20;5", "99999999999999999999,1", "2000000,1"):
            self.refused(2, "expected tokens of prompt and answer", "bench", "small.gguf", f"--generate={wrong}")

    def test_what_is_not_built_is_named_with_what_is(self):
        changes = (
            ({"general.architecture": "rwkv7"}, 4, "supported: afmoe, apertus, arcee, baichuan, bailingmoe, bailingmoe2, bitnet, bloom, chatglm, codeshell, cohere2, command-r, dbrx, deci, deepseek"),
            ({"tokenizer.ggml.model": "bert"}, 4, "bert"),
            ({"tokenizer.ggml.pre": "nonesuch"}, 4, "nonesuch"),
            ({"llama.rope.scaling.type": "su"}, 4, "expected none, linear, yarn or longrope, got 'su'"),
            ({"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": -1.0}, 3, "no frequencies"),
            ({"llama.rope.dimension_count": 7}, 3, "7 elements"),
            ({"llama.attn_logit_softcapping": -1.0}, 3, "negative"),
            ({"llama.attention.clamp_kqv": -1.0}, 3, "attention.clamp_kqv"),
            ({"llama.attention.sliding_window_pattern": [1, 0, 1]}, 3, "sliding_window_pattern"),
            ({"general.architecture": None}, 3, "general.architecture"),
            ({"llama.block_count": None}, 3, "llama.block_count"),
            ({"llama.block_count": 3}, 3, "blk.2."),
            ({"llama.block_count": 1 << 31}, 3, "llama.block_count"),
            ({"llama.attention.head_count": 5}, 3, ""),
            ({"llama.attention.head_count_kv": 3}, 3, ""),
            ({"llama.attention.layer_norm_rms_epsilon": "x"}, 3, "epsilon"),
            ({"tokenizer.ggml.tokens": None}, 3, "tokens"),
            ({"tokenizer.ggml.tokens": ["a", "b"]}, 3, ""),
        )
        for change, code, text in changes:
            pathlib.Path("changed.gguf").write_bytes(small_decoder(changes=change))
            with self.subTest(change=change):
                self.refused(code, text, "generate", "changed.gguf", "ab", "--tokens", "2")

    def test_attention_that_is_one_matrix_is_refused(self):
        values = {key.replace("llama.", "deci."): value for key, value in metadata("llama").items()}
        values |= {"general.architecture": "deci", "deci.attention.head_count_kv": [2, 0]}
        pathlib.Path("changed.gguf").write_bytes(gguf_file(values, tensors("llama", "q4_1", random.Random(7))))
        self.refused(4, "layer 1 has 4 heads and 0 key heads", "generate", "changed.gguf", "ab", "--tokens", "2")

    def test_experts_that_do_not_fit_are_refused_in_a_line(self):
        key = "qwen3moe.expert_count"
        changes = (
            *(({key: count}, f"value '{key}': expected 1 to 65536") for count in (0, 1 << 31, 1 << 62, 1 << 63, (1 << 64) - 1)),
            ({key: None}, f"value '{key}' is missing"), ({key: 7}, "ffn_gate_inp.weight': expected 7 rows"),
            *(({"qwen3moe.expert_used_count": count}, "expert_used_count': expected 1 to 8") for count in (0, 9, 1 << 63)),
            ({"qwen3moe.expert_used_count": None}, "expert_used_count' is missing"),
            ({"qwen3moe.expert_feed_forward_length": 64}, "blk.0.ffn_gate_exps.weight"),
            ({"qwen3moe.expert_feed_forward_length": 1 << 40}, "expert_feed_forward_length"),
            ({"qwen3moe.expert_gating_func": 4}, "expert_gating_func': expected 0 to 3"),
            ({"qwen3moe.expert_weights_norm": 1}, "expert_weights_norm': expected true or false"),
            ({"qwen3moe.expert_weights_scale": float("nan")}, "expert_weights_scale"),
            ({"qwen3moe.expert_shared_count": 1}, "tensor 'blk.0.ffn_gate_shexp.weight' is missing"),
            ({"qwen3moe.expert_group_count": 2}, "expert_group_used_count' is missing"),
            ({"qwen3moe.expert_group_count": 9}, "expert_group_count': expected 0 to 8"),
            ({"qwen3moe.expert_group_count": 2, "qwen3moe.expert_group_used_count": 3}, "expert_group_used_count': expected 1 to 2"),
            ({"qwen3moe.expert_group_count": 3, "qwen3moe.expert_group_used_count": 1}, "cannot be of 1 of 3 groups"),
            ({"qwen3moe.leading_dense_block_count": 1}, "tensor 'blk.0.ffn_gate.weight' is missing"),
            ({"qwen3moe.interleave_moe_layer_step": 0}, "interleave_moe_layer_step"),
            ({"qwen3moe.nextn_predict_layers": 2}, "nextn_predict_layers"),
        )  # fmt: skip
        for change, text in changes:
            pathlib.Path("changed.gguf").write_bytes(small_decoder("qwen3moe", changes=change))
            with self.subTest(change=change):
                self.refused(4 if "supported" in text else 3, text, "generate", "changed.gguf", "ab", "--tokens", "2")

    def test_matrices_of_experts_that_do_not_fit_are_refused_in_a_line(self):
        parts = list(tensors("qwen3moe", "q4_1", random.Random(7)))
        turned = {"ffn_gate_exps": (64, 256), "ffn_down_exps": (32, 8, 64), "ffn_up_exps": (64, 8, 32), "ffn_gate_inp": (8, 64)}
        for name, extents in turned.items():
            for change in (lambda part: None, lambda part: (part[0], part[1], extents, part[3])):
                changed = [change(part) if part[0] == f"blk.1.{name}.weight" else part for part in parts]
                pathlib.Path("changed.gguf").write_bytes(gguf_file(metadata("qwen3moe"), [part for part in changed if part]))
                self.refused(3, f"tensor 'blk.1.{name}.weight'", "generate", "changed.gguf", "ab", "--tokens", "2")

    def test_which_layers_have_experts_is_said_in_several_ways(self):
        # Layer 0 has none, layer 1 has some; a layer behind the last one that answers is not read.
        ways = {"ernie4_5-moe": {"leading_dense_block_count": 0, "interleave_moe_layer_step": 2},
                "glm4moe": {"block_count": 3, "nextn_predict_layers": 1}}  # fmt: skip
        for form, values in ways.items():
            pathlib.Path("other.gguf").write_bytes(small_decoder(form, changes={f"{form}.{key}": value for key, value in values.items()}))
            pathlib.Path("usual.gguf").write_bytes(small_decoder(form))
            texts = [self.document(name, "Hello", "--tokens", "8")["tokens"] for name in ("other.gguf", "usual.gguf")]
            self.assertEqual(texts[0], texts[1], form)

    def test_types_of_experts_may_differ(self):
        kinds = {"blk.0.ffn_gate_exps.weight": "q8_0", "blk.0.ffn_down_exps.weight": "f32", "blk.1.ffn_up_exps.weight": "q4_0"}
        each = {kind: list(tensors("qwen3moe", kind, random.Random(7))) for kind in ("q4_1", *kinds.values())}
        parts = [each[kinds.get(part[0], "q4_1")][i] for i, part in enumerate(each["q4_1"])]
        pathlib.Path("mixed.gguf").write_bytes(gguf_file(metadata("qwen3moe"), parts))
        whole = self.document("mixed.gguf", "Hello", "--tokens", "8")
        self.assertEqual(whole["finish"], "length")
        self.assertEqual(whole["text"], self.document("mixed.gguf", "Hello", "--tokens", "8", "--threads", "1")["text"])

    def test_counts_that_no_file_has(self):
        whole = small_decoder()
        # Of tensors, of values, and the length of the first key.
        for at in (8, 16, 24):
            for count in (1 << 63, (1 << 64) - 1, 1 << 62, 1 << 40, 1 << 32):
                pathlib.Path("changed.gguf").write_bytes(whole[:at] + struct.pack("<Q", count) + whole[at + 8:])
                with self.subTest(at=at, count=count):
                    self.refused(3, "changed.gguf", "generate", "changed.gguf", "ab")
        # The extents, type and place of a tensor.
        info = whole.index(b"token_embd.weight") + len("token_embd.weight")
        for at, code in ((info, 3), (info + 4, 3), (info + 12, 3), (info + 20, 4), (info + 24, 3)):
            pathlib.Path("changed.gguf").write_bytes(whole[:at] + b"\xff\xff\xff\x7f" + whole[at + 4:])
            with self.subTest(at=at - info):
                self.refused(code, "changed.gguf", "generate", "changed.gguf", "ab")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
