"""await session.run_async: order, cancelled tasks, bounds, failures, sessions and interpreters that end with runs in flight."""

import asyncio
import gc
import os
import random
import subprocess
import sys
import textwrap
import threading
import unittest

import numpy

import fettle
import small_models

X = numpy.arange(8, dtype=numpy.float32)


class Async(unittest.TestCase):
    def setUp(self):
        self.session = fettle.Session(small_models.add(), threads=1)

    def test_results_are_those_of_a_run_in_their_order(self):
        order = []

        async def one(number):
            values = await self.session.run_async({"x": X * number, "y": X})
            order.append(number)
            return values

        async def all_of_them():
            return await asyncio.gather(*(one(number) for number in range(50)))

        for number, values in enumerate(asyncio.run(all_of_them())):
            expected = self.session.run({"x": X * number, "y": X})
            self.assertEqual(values.keys(), expected.keys())
            for name in values:
                numpy.testing.assert_array_equal(values[name], expected[name])
        self.assertEqual(order, sorted(order))

    def test_failures_are_raised_where_they_are_awaited(self):
        with self.assertRaises(fettle.InvalidArgument):
            asyncio.run(self.session.run_async({"x": X[:5], "y": X}))
        with self.assertRaises(fettle.NotFound):
            asyncio.run(self.session.run_async({"z": X}))
        with self.assertRaises(fettle.NotFound):
            asyncio.run(self.session.run_async({"x": X, "y": X}, ["other"]))
        with self.assertRaises(fettle.InvalidArgument):
            fettle.Session(small_models.add(), max_runs=-1)
        asyncio.run(self.session.run_async({"x": X, "y": X}))

    def test_a_task_that_is_cancelled_at_any_moment_ends_alone(self):
        session = fettle.Session(small_models.add(), threads=1, max_runs=3)
        chance = random.Random(1)

        async def rounds():
            for _ in range(40):
                tasks = [asyncio.ensure_future(session.run_async({"x": X, "y": X})) for _ in range(6)]
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                doomed = chance.sample(range(6), 3)
                for at in doomed:
                    tasks[at].cancel()
                for at, done in enumerate(await asyncio.gather(*tasks, return_exceptions=True)):
                    if at in doomed and isinstance(done, asyncio.CancelledError):
                        continue
                    self.assertNotIsInstance(done, BaseException)

        asyncio.run(rounds())
        self.assertEqual(session._runs._room, 3)  # none was lost, none came twice

    def test_more_than_there_is_room_for_wait_or_are_refused(self):
        async def many(session):
            return await asyncio.gather(*(session.run_async({"x": X, "y": X}) for _ in range(200)), return_exceptions=True)

        waiting = asyncio.run(many(fettle.Session(small_models.add(), threads=1, max_runs=1)))
        self.assertFalse([done for done in waiting if isinstance(done, BaseException)])
        refusing = asyncio.run(many(fettle.Session(small_models.add(), threads=1, max_runs=1, when_busy="fail")))
        self.assertFalse([done for done in refusing if not isinstance(done, (dict, fettle.Busy))])

    def test_loops_of_several_threads_share_a_session(self):
        session = fettle.Session(small_models.add(), threads=1, max_runs=2)
        failures = []

        def loop():
            async def some():
                for values in await asyncio.gather(*(session.run_async({"x": X, "y": X}) for _ in range(20))):
                    if sum(value.sum() for value in values.values()) != 2 * X.sum():
                        failures.append(values)

            asyncio.run(some())

        threads = [threading.Thread(target=loop) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(session._runs._room, 2)

    def test_a_session_closes_with_runs_in_flight(self):
        async def closed():
            session = fettle.Session(small_models.add(), threads=1)
            tasks = [asyncio.ensure_future(session.run_async({"x": X, "y": X})) for _ in range(8)]
            await asyncio.sleep(0)
            session.close()
            for done in await asyncio.gather(*tasks, return_exceptions=True):
                self.assertIsInstance(done, (dict, fettle.Cancelled))

        for _ in range(20):
            asyncio.run(closed())
        gc.collect()

    def test_an_interpreter_ends_with_runs_in_flight(self):
        program = textwrap.dedent("""
            import asyncio, numpy, fettle, small_models
            X = numpy.arange(8, dtype=numpy.float32)
            session = fettle.Session(small_models.add(), threads=1)
            async def begin():
                for _ in range(12):
                    asyncio.ensure_future(session.run_async({"x": X, "y": X}))
                await asyncio.sleep(0)
            asyncio.run(begin())
            print("ends")
        """)
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, PYTHONPATH=":".join(sys.path)))
            self.assertEqual((done.returncode, done.stdout), (0, "ends\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
