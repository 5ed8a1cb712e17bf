"""Texts by language models in GGUF files, and as ONNX in folders."""

from __future__ import annotations

import codecs
import itertools
import os
from typing import Any, Iterator, NamedTuple, Sequence, Union

import numpy

from . import _native


class GeneratorFacts(NamedTuple):
    """Tokens are 0 to `vocabulary` - 1. `context`: most tokens of the sequence, `trained_context`: those that the model was
    trained for, `position`: those read so far. `begin_token` begins a text, None: there is none; `adds_begin`: texts want it
    in front. `cache_bytes`: what the cache takes."""

    vocabulary: int
    context: int
    trained_context: int
    position: int
    begin_token: int | None
    adds_begin: bool
    cache_bytes: int
    threads: int


class _Text:
    """An answer as its bytes come: gives whole code points, and holds back what may begin a stop word."""

    def __init__(self, stops: Sequence[str]):
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.stopped = False

    def add(self, data: bytes, final: bool = False) -> str:
        text = self._held + self._decoder.decode(data, final)
        at = min((found for found in map(text.find, self._stops) if found >= 0), default=-1)
        if at >= 0:
            self.stopped, self._held = True, ""
            return text[:at]
        keep = 0 if final else max((self._begun(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    @staticmethod
    def _begun(text: str, stop: str) -> int:
        """How many characters at the end of `text` begin `stop`."""
        return next((n for n in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:n])), 0)


class _Bytes:
    """The bytes that each token adds to an answer."""

    def __init__(self, generator: Generator):
        self._generator, self._given = generator, ""
        self._seen: list[int] = []

    def add(self, token: int) -> bytes:
        if self._generator.tokenizer is None:
            return self._generator._decode(token)
        # Decoders of others give texts of whole lists alone, whose ends may change.
        self._seen.append(token)
        whole = self._generator.decode(self._seen)
        return b"" if whole.endswith("\ufffd") else self._new(whole)

    def rest(self) -> bytes:
        return self._new(self._generator.decode(self._seen)) if self._seen else b""

    def _new(self, whole: str) -> bytes:
        new, self._given = whole[len(self._given) :], whole
        return new.encode()


class Answer:
    """An answer of a generator that is made step by step, beside others by `step_answers`. Begun by `Generator.begin`.

    `finish`: None while it goes on, then "end", "length", "stop" or "context".
    """

    def __init__(self, generator: Generator, prompt: Sequence[int], count: int, stops: Sequence[str]):
        self.generator = generator
        self.finish: str | None = None
        generator.finish = None
        self._left, self._text, self._bytes = count, _Text(stops), _Bytes(generator)
        generator._read(prompt)

    def step(self) -> str:
        """Makes one token more, alone. What it adds to the text, which may be nothing."""
        return step_answers([self])[0]

    def _choose(self) -> int | None:
        """The next token, which is to be read; None where the answer has ended."""
        if self._left <= 0:
            return self._end("length")
        token = self.generator._next()
        if self.generator.is_end(token):
            return self._end("end")
        facts = self.generator.facts
        return self._end("context") if facts.position == facts.context else token

    def _end(self, finish: str) -> None:
        self.finish = self.generator.finish = finish

    def _add(self, token: int) -> str:
        self._left -= 1
        shown = self._text.add(self._bytes.add(token))
        if self._text.stopped:
            self._end("stop")
        return shown

    def _rest(self) -> str:
        rest = self._text.add(self._bytes.rest())
        return rest if self._text.stopped else rest + self._text.add(b"", final=True)


def step_answers(answers: Sequence[Answer]) -> list[str]:
    """Makes one token of each answer that has not finished; what each adds to its text. Generators are forks of one another: those
    whose caches lie together (`sequences`) are read in one pass over the weights. What an answer is does not depend on the others."""
    texts = [""] * len(answers)
    reads: list[tuple[int, int]] = []
    for index, answer in enumerate(answers):
        if answer.finish is not None:
            continue
        token = answer._choose()
        if token is None:
            texts[index] = answer._rest()
        else:
            reads.append((index, token))
    if reads:
        _native.Generator._step([answers[index].generator for index, _ in reads], [token for _, token in reads])
    for index, token in reads:
        texts[index] = answers[index]._add(token)
    return texts


class Generator(_native.Generator):
    """A sequence of tokens of a language model, with a cache of its own.

    `path`: a GGUF file, a folder with an ONNX model and its tokenizer.json, or such a model.
    `context`: most tokens of prompt and answer together, 0: what the model was trained for, at most 4,096. `threads`: the
    caller included, 0 for all cores. `sequences`: forks of it whose answers are made in one pass over the weights (`step_answers`,
    `generate_all`); memory is taken for so many caches. `device`: where weights and caches lie, as `Session` takes it.
    `cache`: "f16", or "bytes", which take half of the memory, on the CPU.
    `tokenizer`: one of `tokenizers` or `transformers`, or anything with `encode` and
    `decode`, in place of the file's. Raises NotFound, InputOutput, InvalidModel, Unsupported with what is known named,
    OutOfMemory, DeviceUnavailable. Any thread may call any method, calls come one after another without holding the GIL. `with` closes it.

        for text in fettle.Generator("model.gguf").generate("The capital of France is"):
            print(text, end="", flush=True)
    """

    tokenizer: Any
    finish: str | None
    """Why the last `generate` ended: "end", "length", "stop", or "context"; None while it goes on."""

    def __new__(cls, path: str | os.PathLike, *, context: int = 0, threads: int = 0, sequences: int = 1,
                device: str = "auto", cache: str = "f16", tokenizer: Any = None):
        self = super().__new__(cls, os.fsencode(path), context, threads, sequences, device, cache)
        self.sequences = max(1, sequences)
        self.tokenizer = tokenizer
        self.finish = None
        return self

    @property
    def facts(self) -> GeneratorFacts:
        facts = GeneratorFacts(*self._facts())
        return facts._replace(begin_token=None if facts.begin_token < 0 else facts.begin_token, adds_begin=bool(facts.adds_begin))

    @property
    def position(self) -> int:
        """Tokens read so far."""
        return self.facts.position

    def encode(self, text: Union[str, bytes], *, special: bool = False) -> list[int]:
        """The tokens of a text; `special`: names of control tokens in it are those tokens. None is put in front."""
        if self.tokenizer is None:
            return self._encode(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text, special)
        tokens = self.tokenizer.encode(text, add_special_tokens=False)
        return list(getattr(tokens, "ids", tokens))

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens; bytes that are not UTF-8 become U+FFFD."""
        if self.tokenizer is not None:
            return self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return b"".join(map(self._decode, tokens)).decode("utf-8", "replace")

    def chat(self, question: str, system: str = "") -> str:
        """A question in the form that the model was trained on, for `encode` with `special`. Raises Unsupported where the
        file has none that Fettle knows."""
        return self._chat(question, system).decode("utf-8", "replace")

    def read(self, tokens: Sequence[int]) -> None:
        """Reads tokens behind those read so far. Raises InvalidArgument where there are none, one lies outside the
        vocabulary or they pass the context, Cancelled; nothing is read then."""
        self._read(tokens)

    @property
    def logits(self) -> numpy.ndarray:
        """Of the token behind the last that was read: float32 [vocabulary], a copy. Raises NotFound where nothing was read
        since a rewind, fork or restore."""
        return numpy.frombuffer(self._logits(), numpy.float32)

    def set_sampling(self, temperature: float = 0.0, *, top_k: int = 0, top_p: float = 1.0, seed: int = 0) -> None:
        """How `next` chooses: 0 takes the largest logit; top_k 0 and top_p 1 leave all tokens."""
        self._set_sampling(temperature, top_p, top_k, seed)

    def next(self) -> int:
        """Chooses a token from the logits, and does not read it."""
        return self._next()

    def fork(self) -> Generator:
        """Another sequence with the same tokens so far; it shares the weights."""
        other = self._fork()
        other.tokenizer, other.finish, other.sequences = self.tokenizer, None, self.sequences
        return other

    def tokens(self, prompt: Union[str, Sequence[int]], *, count: int = 128) -> Iterator[int]:
        """Reads the prompt behind what was read so far, then chooses, reads and gives up to `count` tokens, until one ends
        the answer or the context is full."""
        self.finish = None
        self._read(self._begun(self.encode(prompt)) if isinstance(prompt, str) else prompt)
        for _ in range(count):
            token = self._next()
            if self.is_end(token):
                self.finish = "end"
                return
            facts = self.facts
            if facts.position == facts.context:
                self.finish = "context"
                return
            self._read((token,))
            yield token
        self.finish = "length"

    def generate(self, prompt: Union[str, Sequence[int]], *, tokens: int = 128, temperature: float = 0.0, top_k: int = 40,
                 top_p: float = 0.95, seed: int = 0, stop: Union[str, Sequence[str]] = (), chat: bool = False,
                 system: str = "") -> Iterator[str]:
        """Continues a text, or answers it as a question (`chat`), and gives the answer's pieces as they come.

        It goes on behind what was read so far; `rewind(0)` starts over. At most `tokens` of them; `stop`: texts that end the
        answer, and are no part of it. `finish` says how it ended. Raises what `read` and `chat` do.
        """
        answer = self.begin(prompt, tokens=tokens, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, stop=stop,
                            chat=chat, system=system)  # fmt: skip
        while answer.finish is None:
            shown = answer.step()
            if shown:
                yield shown

    def begin(self, prompt: Union[str, Sequence[int]], *, tokens: int = 128, temperature: float = 0.0, top_k: int = 40,
              top_p: float = 0.95, seed: int = 0, stop: Union[str, Sequence[str]] = (), chat: bool = False,
              system: str = "") -> Answer:
        """What `generate` does, of which this reads the prompt; the answer is made by `Answer.step` or `step_answers`."""
        self.set_sampling(temperature, top_k=top_k, top_p=top_p, seed=seed)
        if chat:
            prompt = self.encode(self.chat(str(prompt), system), special=True)
        elif isinstance(prompt, str):
            prompt = self.encode(prompt)
        else:
            return Answer(self, prompt, tokens, [stop] if isinstance(stop, str) else stop)
        return Answer(self, self._begun(prompt), tokens, [stop] if isinstance(stop, str) else stop)

    def generate_all(self, prompts: Sequence[Union[str, Sequence[int]]], **options: Any) -> list[str]:
        """The answers to several prompts, each behind what this sequence has read, which reads nothing itself. `sequences` of
        them at a time are made by steps of all; the next prompt follows where one ends. `options`: of `generate`."""
        texts = [""] * len(prompts)
        waiting = iter(enumerate(prompts))
        free = [self.fork() for _ in range(min(self.sequences, len(prompts)))]
        front = self.position
        going: list[tuple[int, Answer]] = []
        while True:
            for index, prompt in itertools.islice(waiting, len(free)):
                sequence = free.pop()
                if front in (0, sequence.position):
                    sequence.rewind(front)
                else:  # models with states cannot be rewound
                    sequence.restore(self.save())
                going.append((index, sequence.begin(prompt, **options)))
            if not going:
                return texts
            for (index, _), text in zip(going, step_answers([answer for _, answer in going])):
                texts[index] += text
            free += [answer.generator for _, answer in going if answer.finish is not None]
            going = [one for one in going if one[1].finish is None]

    def _begun(self, tokens: list[int]) -> list[int]:
        """With the token that begins a text in front, where the model wants it and they begin one."""
        facts = self.facts
        begins = facts.position == 0 and facts.begin_token is not None and (facts.adds_begin or not tokens)
        return [facts.begin_token, *tokens] if begins else tokens

    def __enter__(self) -> Generator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
