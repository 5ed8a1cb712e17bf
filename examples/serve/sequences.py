"""Several answers of one language model at a time: each has a sequence of its own, and the answers' next tokens are made together,
in one pass over the weights. Sequences join and leave between these steps.

Between two steps each prompt that is not read yet gets a turn of 128 tokens, so that a long prompt holds the answers up for as long as
128 tokens take. A request gets the free sequence that has read most of the front of its tokens, or a copy of a busy one that has read
more, and reads on from there. It goes back to a multiple of 128 tokens that were read as they would be again: neither what was asked
before nor what is asked beside changes an answer.
"""

import collections
import queue
import threading

import fettle

RUN = 128  # tokens of a prompt that are read in one turn, and the most that Fettle reads in one run


class Busy(Exception):
    """As many requests as may wait do so."""


class Request:
    """A prompt, and its answer as it comes. `options` are those of fettle.Generator.generate."""

    def __init__(self, tokens, options):
        self.tokens, self.options = tokens, options
        self.pieces = queue.SimpleQueue()  # texts, then None or an exception
        self.gone = False  # nobody waits for the answer any more
        self.finish, self.cached, self.answered = None, 0, 0

    def follow(self, alive):
        """The pieces of the answer. Ends, and the answer with it, where `alive` says that nobody listens; raises what the answer did."""
        try:
            while alive():
                try:
                    piece = self.pieces.get(timeout=0.5)
                except queue.Empty:
                    continue
                if piece is None:
                    return
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.gone = True


class Sequence:
    """One sequence of the model, and the tokens at its front that were read in runs of 128."""

    def __init__(self, generator):
        self.generator, self.known = generator, []
        self.request = self.answer = None

    def kept(self, tokens):
        """How many tokens of a prompt need not be read again. One is left to read, for its logits."""
        most = min(len(self.known), len(tokens) - 1)
        same = next((i for i in range(most) if self.known[i] != tokens[i]), most)
        return same // RUN * RUN

    def copy(self, other):
        """Goes on behind what another sequence has read, which may be in the middle of an answer; stays as it is without room for that."""
        try:
            self.generator.restore(other.generator.save())
            self.known = list(other.known)
        except (fettle.Error, MemoryError):
            pass

    def begin(self, request):
        self.request, self.answer = request, None
        request.cached = self.kept(request.tokens)
        try:
            self.generator.rewind(request.cached)
        except fettle.Error:  # a model with states, which are not kept of so many tokens
            request.cached = 0
            self.generator.rewind(0)
        del self.known[request.cached :]

    def read(self):
        """Reads a turn's tokens of the prompt; with the last of them the answer begins."""
        tokens = self.request.tokens[len(self.known) :]
        if len(tokens) > RUN:
            self.generator.read(tokens[:RUN])
            self.known += tokens[:RUN]
        else:
            self.answer = self.generator.begin(tokens, **self.request.options)

    def take(self, piece):
        """A piece of the answer; whether it goes on."""
        if piece:
            self.request.pieces.put(piece)
        return self.answer.finish is None

    def end(self, last=None):
        """Frees the sequence; `last`: None or an exception."""
        request, answer = self.request, self.answer
        if answer is not None:
            request.finish, request.answered = answer.finish, self.generator.position - len(request.tokens)
        self.request = self.answer = None
        request.pieces.put(last)


class Sequences:
    """`count` sequences of a model on one thread that works, their caches together; up to `waiting` requests wait for one.
    `options`: of fettle.Generator."""

    def __init__(self, model, count, waiting, **options):
        first = fettle.Generator(model, sequences=count, **options)
        self.first = first  # for what belongs to no sequence: tokens, texts
        self.context = first.facts.context
        self.free = [Sequence(first)] + [Sequence(first.fork()) for _ in range(count - 1)]
        self.waiting, self.most_waiting = collections.deque(), waiting
        self.changed, self.closed = threading.Condition(), False
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def ask(self, request):
        with self.changed:
            if self.closed or len(self.waiting) >= self.most_waiting + len(self.free):
                raise Busy
            self.waiting.append(request)
            self.changed.notify()

    def close(self):
        """Ends all answers."""
        with self.changed:
            self.closed = True
            self.changed.notify()
        self.thread.join()

    def _begin(self, request, active):
        def kept(sequence):
            return sequence.kept(request.tokens)

        chosen = max(self.free, key=kept)
        self.free.remove(chosen)
        source = max(active, key=kept, default=chosen)
        if kept(source) > kept(chosen):
            chosen.copy(source)
        chosen.begin(request)
        return chosen

    def _turn(self, active):
        """A turn of each prompt, and a step of all answers; those that go on."""
        going = []
        for sequence in active:
            try:
                if sequence.request.gone:
                    sequence.end()
                    continue
                if sequence.answer is None:
                    sequence.read()
                going.append(sequence)
            except Exception as error:
                sequence.end(error)
        answering = [sequence for sequence in going if sequence.answer is not None]
        try:
            pieces = fettle.step_answers([sequence.answer for sequence in answering])
        except Exception as error:
            for sequence in answering:
                sequence.end(error)
            return [sequence for sequence in going if sequence not in answering]
        for sequence, piece in zip(answering, pieces):
            if not sequence.take(piece):
                sequence.end()
                going.remove(sequence)
        return going

    def _work(self):
        active = []
        while True:
            with self.changed:
                while not self.closed and not active and not self.waiting:
                    self.changed.wait()
                if self.closed:
                    break
                while self.free and self.waiting:
                    active.append(self._begin(self.waiting.popleft(), active))
            going = self._turn(active)
            with self.changed:
                self.free += [sequence for sequence in active if sequence not in going]
            active = going
        for request in [sequence.request for sequence in active] + list(self.waiting):
            request.pieces.put(Busy())
