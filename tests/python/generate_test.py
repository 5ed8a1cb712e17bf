"""Language models: sequences, texts as they come, and what is refused, on a decoder of random weights."""

import gc
import os
import pathlib
import tempfile
import threading
import unittest

import numpy

import fettle
from fettle.generate import _Text
import small_folder
from small_decoder import small_decoder


class Characters:
    """A tokenizer of the caller's own: a character is a token."""

    def encode(self, text, add_special_tokens):
        return [ord(c) - 0x21 for c in text if 0x21 <= ord(c) < 0x7F]

    def decode(self, tokens, skip_special_tokens):
        return "".join(chr(token + 0x21) if token < 94 else " " if token == 94 else "a " for token in tokens)


class Generate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name, "small.gguf")
        cls.path.write_bytes(small_decoder())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.generator = fettle.Generator(self.path, context=64, threads=2)

    def test_greedy_text_is_that_of_the_largest_logits(self):
        pieces = list(self.generator.generate("Hello", tokens=12))
        self.assertEqual(self.generator.finish, "length")
        self.assertEqual(self.generator.position, 17)
        self.generator.rewind(0)
        tokens = self.generator.encode("Hello")
        for _ in range(12):
            self.generator.read(tokens[-1:] if self.generator.position else tokens)
            logits = self.generator.logits
            self.assertEqual((logits.dtype, logits.shape), (numpy.float32, (97,)))
            tokens.append(int(logits.argmax()))
        self.assertEqual("".join(pieces), self.generator.decode(tokens[5:]))
        self.assertEqual(self.generator.decode(tokens[:5]), "Hello")

    def test_facts(self):
        facts = self.generator.facts
        self.assertEqual((facts.vocabulary, facts.context, facts.trained_context, facts.threads), (97, 64, 128, 2))
        self.assertEqual((facts.position, facts.begin_token, facts.adds_begin), (0, None, False))

    def test_forks_and_saves_go_on_alike(self):
        list(self.generator.tokens("Some words", count=3))
        saved, fork = self.generator.save(), self.generator.fork()
        later = fettle.Generator(self.path, context=40)
        later.restore(memoryview(saved))
        self.generator.rewind(self.generator.position)
        wanted = list(self.generator.tokens([5], count=10))
        self.assertEqual(list(fork.tokens([5], count=10)), wanted)
        self.assertEqual(list(later.tokens([5], count=10)), wanted)
        for bad in (b"", saved[:-1], saved[:40], bytes(len(saved))):
            with self.assertRaises(fettle.Corrupt):
                later.restore(bad)
        with self.assertRaisesRegex(fettle.InvalidArgument, "exceeds the context of 4"):
            fettle.Generator(self.path, context=4).restore(saved)

    def test_seeds(self):
        def sample(seed):
            self.generator.rewind(0)
            return "".join(self.generator.generate("abc", tokens=16, temperature=3.0, seed=seed))

        self.assertEqual(sample(1), sample(1))
        self.assertNotEqual(sample(1), sample(2))

    def test_a_stop_word_ends_the_answer_and_is_no_part_of_it(self):
        whole = "".join(self.generator.generate("abc", tokens=20))
        self.generator.rewind(0)
        stop = whole[7:10]
        answer = "".join(self.generator.generate("abc", tokens=20, stop=["never seen", stop, ""]))
        self.assertEqual(answer, whole[: whole.index(stop)])
        self.assertEqual(self.generator.finish, "stop")

    def test_answers_made_together_are_those_made_alone(self):
        prompts = ["abc", "Hello", [5, 6, 7], "a", "xyzzy", "!"]
        generator = fettle.Generator(self.path, context=64, threads=2, sequences=3)
        for options in ({}, {"temperature": 3.0, "seed": 5}, {"stop": ["Q", "a"]}):
            wanted = []
            for prompt in prompts:
                self.generator.rewind(0)
                wanted.append("".join(self.generator.generate(prompt, tokens=9, **options)))
            self.assertEqual(generator.generate_all(prompts, tokens=9, **options), wanted)
        self.assertEqual(generator.position, 0)
        self.assertEqual(generator.generate_all([]), [])
        self.assertEqual(generator.generate_all(["ab", "c"], tokens=0), ["", ""])

    def test_answers_join_and_leave_between_steps(self):
        generator = fettle.Generator(self.path, context=64, threads=2, sequences=2)
        wanted = ["".join(generator.fork().generate(prompt, tokens=count)) for prompt, count in (("abc", 3), ("Hello", 7))]
        first, texts = generator.fork().begin("abc", tokens=3), ["", ""]
        texts[0] += first.step()
        second = generator.fork().begin("Hello", tokens=7)
        while second.finish is None:
            for index, text in enumerate(fettle.step_answers([first, second])):
                texts[index] += text
        self.assertEqual(texts, wanted)
        self.assertEqual([first.finish, second.finish], ["length", "length"])
        self.assertEqual(fettle.step_answers([first, second]), ["", ""])

    def test_steps_that_are_refused(self):
        step, fork = fettle.Generator._step, self.generator.fork()
        for generators, tokens in (([], []), ([fork], []), ([fork, fork], [1, 1]), ([fork, fettle.Generator(self.path)], [1, 1]), ([fork], [97])):
            with self.assertRaises(fettle.InvalidArgument):
                step(generators, tokens)
        for generators, tokens in (([3], [1]), ([fork], ["a"]), (3, [1])):
            with self.assertRaises(TypeError):
                step(generators, tokens)
        fork.close()
        with self.assertRaisesRegex(fettle.InvalidArgument, "closed"):
            step([fork], [1])
        with self.assertRaises(fettle.InvalidArgument):
            fettle.Generator(self.path, sequences=257)

    def test_caches_in_bytes_take_half(self):
        halves, in_bytes = (fettle.Generator(self.path, context=64, cache=cache) for cache in ("f16", "bytes"))
        self.assertEqual(halves.facts.cache_bytes / in_bytes.facts.cache_bytes, 2 * 16 / 20)
        in_bytes.read([5, 6, 7])
        with self.assertRaisesRegex(fettle.InvalidArgument, "one of bytes"):
            halves.restore(in_bytes.save())
        with self.assertRaisesRegex(fettle.InvalidArgument, "expected f16 or bytes, got 'q8'"):
            fettle.Generator(self.path, cache="q8")

    def test_the_context_ends_an_answer(self):
        generator = fettle.Generator(self.path, context=8)
        self.assertEqual(len(list(generator.tokens("abcde", count=20))), 3)
        self.assertEqual((generator.finish, generator.position), ("context", 8))
        with self.assertRaisesRegex(fettle.InvalidArgument, "exceed the context of 8"):
            list(generator.generate("f"))

    def test_pieces_are_whole_characters(self):
        text = _Text(["stop"])
        given = [text.add(data) for data in (b"caf\xc3", b"\xa9 s", b"to", b"re st", b"op here")]
        self.assertEqual(given, ["caf", "\u00e9 ", "", "store ", ""])
        self.assertTrue(text.stopped)
        broken = _Text([])
        self.assertEqual(broken.add(b"a\xff\xe2\x82") + broken.add(b"", final=True), "a\ufffd\ufffd")

    def test_chat(self):
        text = self.generator.chat("Why?", system="Be brief.")
        self.assertIn("Be brief.", text)
        self.assertNotEqual("".join(self.generator.generate("W", tokens=3, chat=True)), "")
        path = pathlib.Path(self.folder.name, "no_chat.gguf")
        path.write_bytes(small_decoder(changes={"tokenizer.chat_template": None}))
        with self.assertRaises(fettle.Unsupported):
            fettle.Generator(path).chat("Why?")

    def test_the_token_that_begins_a_text_stands_in_front_of_questions_too(self):
        path = pathlib.Path(self.folder.name, "begins.gguf")
        path.write_bytes(small_decoder(changes={"tokenizer.ggml.bos_token_id": 3, "tokenizer.ggml.add_bos_token": True}))
        generator = fettle.Generator(path)
        self.assertEqual((generator.facts.begin_token, generator.facts.adds_begin), (3, True))
        for chat, text in ((False, "W"), (True, generator.chat("W"))):
            generator.rewind(0)
            list(generator.generate("W", tokens=2, chat=chat))
            self.assertEqual(generator.position, 3 + len(generator.encode(text, special=True)))
            # Behind other text it stands nowhere.
            before = generator.position
            list(generator.generate("W", tokens=2, chat=chat))
            self.assertEqual(generator.position, before + 2 + len(generator.encode(text, special=True)))

    def test_a_tokenizer_of_the_callers(self):
        own = fettle.Generator(self.path, context=64, tokenizer=Characters())
        answer = "".join(own.generate("Hello", tokens=12))
        self.assertEqual(answer, "".join(self.generator.generate("Hello", tokens=12)))
        self.assertIsInstance(own.fork().tokenizer, Characters)

    def test_what_is_refused(self):
        for tokens in ([], [-1], [97], [1 << 31], [1 << 80], [1] * 65):
            with self.assertRaises(fettle.InvalidArgument):
                self.generator.read(tokens)
        for tokens in (None, 5, ["a"], [1.5]):
            with self.assertRaises(TypeError):
                self.generator.read(tokens)
        for count in (-1, 1, 1 << 70):
            with self.assertRaises(fettle.InvalidArgument):
                self.generator.rewind(count)
        for wrong in ({"temperature": -1.0}, {"top_p": 2.0}, {"top_k": -1}, {"temperature": float("nan")}):
            with self.assertRaises(fettle.InvalidArgument):
                self.generator.set_sampling(**wrong)
        with self.assertRaises(fettle.NotFound):
            self.generator.logits
        with self.assertRaises(fettle.NotFound):
            fettle.Generator("/no/such/file.gguf")
        with self.assertRaisesRegex(fettle.InvalidArgument, "abacus"):
            fettle.Generator(self.path, device="abacus")
        self.assertEqual(self.generator.position, 0)
        self.assertEqual(self.generator.encode("a\udcffb"), self.generator.encode(b"a\xffb"))

    def test_a_closed_one_says_so(self):
        with self.generator as generator:
            pass
        self.assertTrue(generator.closed)
        for call in (generator.save, generator.cancel, lambda: generator.read([1]), lambda: generator.facts):
            with self.assertRaisesRegex(fettle.InvalidArgument, "the generator is closed"):
                call()

    def test_cancel_from_another_thread(self):
        generator = fettle.Generator(self.path, context=128, threads=1)
        done = threading.Event()

        def cancel():
            while not done.is_set():
                generator.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            for _ in range(2000):
                try:
                    generator.read([5] * 120)
                    generator.rewind(0)
                except fettle.Cancelled:
                    break
            else:
                self.fail("no read was cancelled")
        finally:
            done.set()
            thread.join()
        self.assertEqual(generator.position, 0)

    def test_a_forked_process_makes_its_own(self):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self.generator.read([1])
            except fettle.InvalidArgument:
                code = 0
            del self.generator
            gc.collect()
            os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Folders(unittest.TestCase):
    """ONNX models with tokenizer.json: caches that are written in place, and caches that grow."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def generators(self, slopes=(0.0, 0.02), **options):
        for grouped, slope in ((True, 0.0), *((False, slope) for slope in slopes)):
            folder = small_folder.write(pathlib.Path(self.folder.name, f"{grouped} {slope}"), grouped, slope=slope)
            with self.subTest(grouped=grouped, slope=slope), fettle.Generator(folder, threads=2, **options) as made:
                yield made

    def test_texts_and_facts(self):
        for generator in self.generators(slopes=(0.0,)):
            self.assertEqual("".join(generator.generate("hello world, hello", tokens=16)), "m58{7yIyIyyyyyyy")
            facts = generator.facts
            self.assertEqual((facts.vocabulary, facts.context, facts.trained_context, facts.position), (len(small_folder.TOKENS), 128, 128, 26))
            self.assertEqual((facts.begin_token, facts.adds_begin), (262, True))
            self.assertEqual(generator.encode("hello <|im_end|>", special=True), [258, 111, 32, 264])
            self.assertEqual(generator.chat("Why?"), "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n")

    def test_forks_rewinds_and_saves_go_on_alike(self):
        for generator in self.generators(sequences=2):
            generator.read(range(60, 100))
            fork, saved = generator.fork(), generator.save()
            generator.read([5, 6])
            want = generator.logits
            fork.read([5, 6])
            numpy.testing.assert_array_equal(fork.logits, want)
            generator.rewind(40)
            generator.read([5, 6])
            numpy.testing.assert_array_equal(generator.logits, want)
            fork.rewind(0)
            fork.restore(saved)
            self.assertEqual(fork.position, 40)
            fork.read([5, 6])
            numpy.testing.assert_array_equal(fork.logits, want)
            for broken in (saved[:-1], saved[:50], b"", saved[:60] + bytes([saved[60] ^ 1]) + saved[61:]):
                with self.assertRaises(fettle.Error):
                    fork.restore(broken)
            self.assertEqual(fork.position, 42)

    def test_steps_are_those_of_sequences_alone(self):
        for generator in self.generators(sequences=3):
            prompts = ["hello", "world, world", "x"]
            alone = []
            for prompt in prompts:
                generator.rewind(0)
                alone.append("".join(generator.generate(prompt, tokens=6)))
            generator.rewind(0)
            self.assertEqual(generator.generate_all(prompts, tokens=6), alone)

    def test_sequences_of_any_length_step_together(self):
        for generator in self.generators(sequences=4):  # and more of them than have room in one memory
            draw = numpy.random.default_rng(5)
            together = [generator, *(generator.fork() for _ in range(5))]
            read = [[int(token) for token in draw.integers(0, 256, draw.integers(1, 50))] for _ in together]
            for sequence, tokens in zip(together, read):
                sequence.read(tokens)
            for _ in range(12):
                chosen = draw.permutation(len(together))[: draw.integers(1, len(together) + 1)]
                tokens = [int(token) for token in draw.integers(0, 256, len(chosen))]
                fettle.Generator._step([together[i] for i in chosen], tokens)
                for i, token in zip(chosen, tokens):
                    read[i].append(token)
            got, alone = [sequence.logits.copy() for sequence in together], together[2]
            for logits, tokens in zip(got, read):
                alone.rewind(0)
                alone.read(tokens)
                numpy.testing.assert_allclose(logits, alone.logits, rtol=0, atol=1e-4)

    def test_what_cannot_be_read_reads_nothing(self):
        for generator in self.generators(context=8):
            generator.read([1, 2, 3])
            want = generator.logits
            for tokens in ([], [len(small_folder.TOKENS)], [-1], range(6)):
                with self.assertRaises(fettle.InvalidArgument):
                    generator.read(tokens)
            self.assertEqual(generator.position, 3)
            numpy.testing.assert_array_equal(generator.logits, want)


if __name__ == "__main__":
    unittest.main()
