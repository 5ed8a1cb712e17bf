"""Several answers of one language model at a time: each has a sequence of its own, and sequences take turns.

A turn reads 128 tokens of a prompt or makes a piece of an answer, so that a long prompt holds the others up for as long as 128 tokens
take. A request gets the free sequence that has read most of the front of its tokens, or a copy of a busy one that has read more, and reads
on from there. It goes back to a multiple of 128 tokens that were read as they would be again: what was asked before changes no answer.
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
        self.request = self.turns = None

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
        self.request, self.turns = request, self._turns(request)

    def turn(self):
        """Takes the next turn of the request; False where that was the last."""
        request = self.request
        try:
            if not request.gone and next(self.turns, request) is not request:
                return True
            request.pieces.put(None)
        except Exception as error:
            request.pieces.put(error)
        self.turns.close()
        self.request = self.turns = None
        return False

    def _turns(self, request):
        generator, tokens = self.generator, request.tokens
        request.cached = self.kept(tokens)
        generator.rewind(request.cached)
        del self.known[request.cached :]
        while len(tokens) - len(self.known) > RUN:
            run = tokens[len(self.known) : len(self.known) + RUN]
            generator.read(run)
            self.known += run
            yield
        for piece in generator.generate(tokens[len(self.known) :], **request.options):
            request.pieces.put(piece)
            yield
        request.finish, request.answered = generator.finish, generator.position - len(tokens)


class Sequences:
    """`count` sequences of a model on one thread that works; up to `waiting` requests wait for one. `options`: of fettle.Generator."""

    def __init__(self, model, count, waiting, **options):
        first = fettle.Generator(model, **options)
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
            done = [sequence for sequence in active if not sequence.turn()]
            with self.changed:
                self.free += done
            active = [sequence for sequence in active if sequence not in done]
        for request in [sequence.request for sequence in active] + list(self.waiting):
            request.pieces.put(Busy())
