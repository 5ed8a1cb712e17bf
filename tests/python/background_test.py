"""session.tune_in_background: requests beside it, its ends, and interpreters that end with one at work."""

import subprocess
import sys
import threading
import unittest

import numpy

import fettle
import small_models

X = numpy.arange(8, dtype=numpy.float32)


class Background(unittest.TestCase):
    def setUp(self):
        self.session = fettle.Session(small_models.add(), threads=1)
        self.expected = next(iter(self.session.run({"x": X, "y": X}).values()))

    def ask(self):
        numpy.testing.assert_array_equal(next(iter(self.session.run({"x": X, "y": X}).values())), self.expected)

    def test_requests_of_many_threads_go_on_beside_it(self):
        self.session.tune_in_background(budget=0.5, share=0.5, level="fast")
        failures = []

        def client():
            try:
                while not self.session.wait_for_background(0):
                    self.ask()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        state = self.session.background
        self.assertIn(state.stage, ("tuned", "kept"), state.reason)
        self.assertTrue(state.is_over)
        self.assertNotEqual(state.reason, "")
        self.ask()

    def test_it_is_cancelled_and_closed(self):
        self.assertEqual(self.session.background.stage, "none")
        self.session.tune_in_background()
        with self.assertRaises(fettle.Busy):
            self.session.tune_in_background()
        self.assertFalse(self.session.wait_for_background(0.01))
        self.session.cancel_background()
        self.assertTrue(self.session.wait_for_background(60))
        self.assertEqual(self.session.background.stage, "cancelled")
        self.session.tune_in_background()
        self.session.close()

    def test_what_is_asked_for_is_checked(self):
        for options in ({"share": 2}, {"share": float("nan")}, {"budget": -1}, {"level": "hard"}):
            with self.assertRaises(fettle.InvalidArgument):
                self.session.tune_in_background(**options)

    def test_an_interpreter_ends_with_one_at_work(self):
        program = ("import fettle, numpy, small_models\n"
                   "session = fettle.Session(small_models.add(), threads=1)\n"
                   "session.run({'x': numpy.zeros(8, 'f'), 'y': numpy.zeros(8, 'f')})\n"
                   "session.tune_in_background(share=1, level='full')\n"
                   "session.run({'x': numpy.zeros(8, 'f'), 'y': numpy.zeros(8, 'f')})\n")
        done = subprocess.run([sys.executable, "-c", program], cwd=small_models.__file__.rsplit("/", 1)[0], capture_output=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
