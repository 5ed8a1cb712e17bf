"""Serves a model by Ray Serve under load, tunes it beside that, and swaps the package in if its gate let it pass.

    pip install "ray[serve]" WHEEL
    python load.py [MODEL [SECONDS [REPLICAS [CLIENTS [WAY]]]]]      (models/sr_x2_20k_int8.onnx, 5, 1, 4, package)

WAY background has each replica tune itself in its idle time instead, from its first request on, so that there is no package.

Open extents of the model's input become 96. Prints requests per second and latencies of each phase, and how many requests failed.
"""

import os
import sys
import tempfile
import threading
import time

import numpy
import ray
from network import Network
from ray import serve

import fettle


class Load:
    """Clients that ask one request after another until `stop`."""

    def __init__(self, handle, given, clients):
        self.handle, self.given, self.times, self.failed, self.running = handle, given, [], 0, True
        self.threads = [threading.Thread(target=self.client) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def client(self):
        while self.running:
            start = time.perf_counter()
            try:
                self.handle.remote(self.given).result()
                self.times.append((time.perf_counter() - start) * 1e3)
            except Exception as error:
                self.failed += 1
                print(error, file=sys.stderr)

    def phase(self, name, work):
        """What clients saw while `work` was done; returns what that returned."""
        self.times, self.failed, start = [], 0, time.perf_counter()
        result = work()
        times, seconds = sorted(self.times), time.perf_counter() - start
        middle, late = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"{name:<24} {len(times) / seconds:8.1f} requests/s   median {middle:7.2f} ms   99 % {late:7.2f} ms   "
              f"{self.failed} failed", flush=True)
        return result

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join()


def tune_package(load, model, inputs, seconds, tuned, package):
    """Tunes beside the load, in this process, and puts the package where replicas look for it."""
    load.phase("as it was loaded", lambda: time.sleep(seconds))
    report = load.phase("while it is tuned", lambda: fettle.tune(model, inputs, level="fast", budget=seconds, package=tuned, threads=1))
    print(f"tuned: {report.default_ms:.3f} -> {report.tuned_ms:.3f} ms, {'taken' if report.accepted else 'refused'}")
    if report.accepted:
        os.replace(tuned, package)
        load.phase("while it is swapped", lambda: time.sleep(1))
        load.phase("tuned", lambda: time.sleep(seconds))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    usual = [os.path.join(here, "../../models/sr_x2_20k_int8.onnx"), "5", "1", "4", "package"]
    model, seconds, replicas, clients, way = sys.argv[1:6] + usual[len(sys.argv) - 1 :]
    model, seconds = os.path.abspath(model), float(seconds)
    value = fettle.Model(model).inputs[0]
    given = numpy.random.default_rng(0).random([extent or 96 for extent in value.shape[1:]]).astype(value.dtype)
    ray.init(num_cpus=int(replicas) + 1, include_dashboard=False, logging_level="error",
             runtime_env={"env_vars": {"PYTHONPATH": here}})

    quiet = {"enable_access_log": False, "log_level": "ERROR"}
    with tempfile.TemporaryDirectory() as folder:
        package, tuned = os.path.join(folder, "served.fettle"), os.path.join(folder, "tuned.fettle")
        network = Network.options(num_replicas=int(replicas), logging_config=quiet)
        served = network.bind(model, package, 1, seconds if way == "background" else 0)
        load = Load(serve.run(served, logging_config=quiet), given, int(clients))
        time.sleep(1)
        if way == "background":
            load.phase("while it tunes itself", lambda: time.sleep(4 * seconds))
            print(load.handle.progress.remote().result())
            load.phase("afterwards", lambda: time.sleep(seconds))
        else:
            tune_package(load, model, {value.name: given[None]}, seconds, tuned, package)
        load.stop()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
