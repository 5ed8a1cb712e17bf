"""A Ray Serve deployment of a model: replicas, batches, and a newly tuned package swapped in while requests go on."""

import asyncio
import os

import numpy
from ray import serve

import fettle


@serve.deployment(max_ongoing_requests=64)
class Network:
    """Runs `model`, an .onnx file or a .fettle package, on `threads` threads; `package` takes its place once there is one.

    With `tune_seconds` each replica tunes itself for so long between requests.
    A request is one input without its batch axis; so is the answer. Models of an open batch run a batch at once, others its
    inputs one after another, which still spares requests' overhead.
    """

    def __init__(self, model, package, threads=1, tune_seconds=0):
        self.package, self.threads, self.seen = package, threads, None
        self.session = fettle.Session(model, threads=threads)
        if tune_seconds > 0:
            # In idle time, for the shape of the first request; what it finds is in use from the next request on.
            self.session.tune_in_background(tune_seconds, level="fast")

    def progress(self):
        """How far the tuning in the background is."""
        return self.session.background._asdict()

    def refresh(self, probe):
        """Swaps the package in where the file is another than before, without a restart: os.replace puts it there whole.

        It serves only if its answer to an input that was just asked for agrees with the present one's; that also plans for
        its shape. Batches under way keep the session that they began on.
        """
        try:
            seen = os.stat(self.package).st_mtime_ns
        except FileNotFoundError:
            return
        if seen == self.seen:
            return
        self.seen = seen
        candidate = fettle.Session(self.package, threads=self.threads)
        before, after = answer(self.session, probe), answer(candidate, probe)
        if numpy.allclose(before, after, rtol=1e-2, atol=1e-2 * numpy.ptp(before)):
            self.session = candidate
        else:
            print(f"{self.package}: refused, as it gives other answers than the model that is served")

    def work(self, batch):
        self.refresh(batch[0])
        session = self.session
        if session.model.inputs[0].shape[0] is None:
            return list(outputs(session, numpy.stack(batch)))
        return [answer(session, given) for given in batch]

    @serve.batch(max_batch_size=8, batch_wait_timeout_s=0.001)
    async def batched(self, inputs):
        # Off the event loop: runs do not hold the GIL, so requests are taken meanwhile.
        return await asyncio.get_running_loop().run_in_executor(None, self.work, inputs)

    async def __call__(self, given):
        return await self.batched(given)


def outputs(session, batch):
    return next(iter(session.run({session.model.inputs[0].name: batch}).values()))


def answer(session, given):
    return outputs(session, given[None])[0]
