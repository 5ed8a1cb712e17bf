"""The program from outside: exit codes, JSON fields, files. usage: cli_test.py FETTLE FETTLE_DEMO"""

import gzip
import json
import math
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
SMALL = ["--shape", "picture=1x3x8x12"]
MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


def run(*arguments, env=None):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}
    environment.update(env or {})
    return subprocess.run([FETTLE, *arguments], capture_output=True, text=True, env=environment, timeout=300)


class Cli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([DEMO, cls.folder.name], check=True)
        os.chdir(cls.folder.name)
        cls.model = "enhance_x2.onnx"

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def fails(self, code, text, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(text, result.stderr + result.stdout)
        errors = [line for line in result.stderr.splitlines() if "warning" not in line]
        self.assertEqual(len(errors), 1, errors)

    def json(self, *arguments, code=0, **options):
        result = run(*arguments, "--json", **options)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def interrupt(self, *words):
        """Ctrl-C once the command shows how far it is, which it does on a terminal: (exit code, output, last of the errors)."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([FETTLE, *words], stdout=subprocess.PIPE, stderr=theirs, text=True,
                              env={**os.environ, "TERM": "xterm"}) as process, open(ours, "rb", buffering=0) as terminal:
            os.close(theirs)
            shown = b""
            while b"%" not in shown:
                shown += terminal.read(1000)
            process.send_signal(signal.SIGINT)
            try:
                while more := terminal.read(1000):
                    shown += more
            except OSError:  # how Linux tells the end of a terminal
                pass
            return process.wait(), process.stdout.read(), shown.decode()

    def test_usage_errors(self):
        self.fails(2, "", "run")
        self.fails(2, "--no-such", "run", self.model, "--no-such")
        self.fails(2, "precision", "run", self.model, "--precision", "best")
        self.fails(2, "", "run", self.model, "--threads", "-1")
        self.fails(2, "", "run", self.model, env={"FETTLE_THREADS": "many"})
        self.fails(2, "", "run", self.model, "--shape", "picture=1xx")
        self.fails(2, "no-such-command", "no-such-command")
        for words in (("run", self.model, "--layout-transform", "metal"), ("gemm", "--dtype", "f8"), ("gemm", "--protocol", "own")):
            self.fails(2, words[-2], *words)
        self.assertEqual(run("--help").returncode, 0)

    def test_invalid_inputs(self):
        pathlib.Path("cut.onnx").write_bytes(pathlib.Path(self.model).read_bytes()[:300])
        pathlib.Path("cut.png").write_bytes(pathlib.Path("landscape.png").read_bytes()[:300])
        pathlib.Path("short.raw").write_bytes(b"1234")
        self.fails(3, "missing.onnx", "run", "missing.onnx")
        self.fails(3, "cut.onnx", "run", "cut.onnx")
        self.fails(3, ".", "run", ".")
        self.fails(3, "cut.png", "run", self.model, "-i", "cut.png")
        self.fails(3, "missing.npy", "run", self.model, "-i", "missing.npy")
        self.fails(3, "'nothing'", "run", self.model, "-i", "nothing=const:1")
        self.fails(3, "'picture'", "run", self.model, "--shape", "picture=1x4x8x8")
        self.fails(3, "short.raw", "run", self.model, *SMALL, "-i", "short.raw")
        self.fails(3, "other", "run", self.model, "--shape", "other=1")

    ROW = {"problem": "threads 1", "kernel": "cpu.gemm", "version": 1, "params": "tile=8", "device": "d", "protocol": 1,
           "build": "b", "status": "ok", "median_us": 2.5, "mad_us": 0.1, "low_us": 2.0, "samples": 7, "error": 0,
           "reason": "", "unix_seconds": 1700000000}

    def write_rows(self, path, *rows):
        lines = [{"fettle_tuning": 2}, *rows, {"decision": "graph", "text": "t", "unix_seconds": 5}]
        pathlib.Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_db(self):
        self.fails(2, "a command is required", "db")
        self.fails(3, "nothing has been tuned yet", "db", "info", "--cache", "db0")
        self.write_rows("rows.jsonl", self.ROW, {**self.ROW, "kernel": "cpu.conv", "status": "wrong"})
        self.assertEqual(self.json("db", "import", "rows.jsonl", "--cache", "db1")["rows"], 2)
        info = self.json("db", "info", "--cache", "db1")
        self.assertEqual((info["rows"], info["decisions"], info["damaged"]), (2, 1, 0))
        self.assertEqual(info["by_status"], {"ok": 1, "wrong": 1})
        listed = self.json("db", "list", "--cache", "db1", "--kernel", "gemm")["rows"]
        self.assertEqual(listed, [{**self.ROW, "unit": "us"}])
        self.assertIn("cpu.conv", run("db", "list", env={"FETTLE_CACHE": "db1"}).stdout)
        self.assertEqual(run("db", "export", "--cache", "db1").stdout.count("\n"), 4)
        self.assertTrue(self.json("db", "verify", "--cache", "db1")["ok"])
        self.assertEqual(self.json("db", "merge", "db1/tuning.db", "--cache", "db2")["taken"], 3)
        self.assertEqual(self.json("db", "merge", "db1/tuning.db", "--cache", "db2")["taken"], 0)
        self.fails(2, "--older-than", "db", "prune", "--cache", "db2")
        self.assertEqual(self.json("db", "prune", "--kernel", "gemm", "--cache", "db2")["removed"], 1)
        self.assertEqual(self.json("db", "prune", "--older-than", "1", "--cache", "db2")["removed"], 1)
        self.assertEqual(self.json("db", "info", "--cache", "db2")["rows"], 0)

    def test_db_hostile_files(self):
        self.write_rows("bad.jsonl", self.ROW, {**self.ROW, "median_us": "fast"})
        read = self.json("db", "import", "bad.jsonl", "--cache", "db3")
        self.assertRegex(f"{read['rows']} {read['refused']} {read['warnings']}", "1 1 .*bad.jsonl: line 3: 'median_us'")
        self.fails(3, "longer", "db", "import", "/dev/zero", "--cache", "db3")
        self.fails(3, "no such file", "db", "merge", "missing.db", "--cache", "db3")
        self.fails(3, "landscape.png: not a database\n", "db", "merge", "landscape.png", "--cache", "db3")
        pathlib.Path("db3/tuning.db").write_bytes(b"x" * 5000)
        for command in ("info", "list", "export", "verify"):
            self.fails(3, "not a database", "db", command, "--cache", "db3")
        self.fails(3, "not a database", "db", "import", "rows.jsonl", "--cache", "db3")

    def npy(self, path, shape, values=None, dtype="<f4"):
        header = repr({"descr": dtype, "fortran_order": False, "shape": tuple(shape)}).ljust(117) + "\n"
        count = math.prod(shape)
        values = values or [((i * 37) % 101) / 101 for i in range(count)]
        body = struct.pack(f"<{count}{'f' if dtype == '<f4' else 'd'}", *values)
        pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body)

    def test_quantise(self):
        self.npy("batch.npy", [3, 3, 8, 12])
        shaped = ["quantise", self.model, *SMALL, "--min-sqnr", "5", "--for-size"]
        report = self.json(*shaped, "--data", "batch.npy", "landscape.png", "-o", "int8.onnx")
        self.assertEqual(report["samples"], 4)
        self.assertTrue(all(layer["quantised"] for layer in report["layers"]))
        self.assertGreater(report["loss"]["sqnr_db"], 5)
        self.assertEqual(report["after"]["bytes"], os.path.getsize("int8.onnx"))
        first = pathlib.Path("int8.onnx").read_bytes()
        self.json(*shaped, "--data", "batch.npy", "landscape.png", "-o", "int8.onnx", "--threads", "1")
        self.assertEqual(pathlib.Path("int8.onnx").read_bytes(), first, "depends on data and options alone")
        self.json("compare", "int8.onnx", *SMALL, "--outputs-only", "--atol", "0.05")  # ties
        self.assertEqual(self.json(*shaped, "--data", "batch.npy", "-o", "o.onnx", "--samples", "2")["samples"], 2)
        quick = self.json(*shaped, "--data", "batch.npy", "-o", "o.onnx", "--sensitivity", "0")
        self.assertIsNone(quick["layers"][0]["sqnr_db"])
        self.assertIn("SQNR dB", run(*shaped, "--data", "batch.npy", "-o", "o.onnx").stdout)

    def test_quantise_refuses(self):
        self.npy("batch.npy", [2, 3, 8, 12])
        self.npy("flat.npy", [5, 7])
        self.npy("nan.npy", [1, 3, 8, 12], [math.nan] * 288)
        self.npy("double.npy", [1, 3, 8, 12], dtype="<f8")
        pathlib.Path("empty").mkdir()
        pathlib.Path("cut.png").write_bytes(pathlib.Path("landscape.png").read_bytes()[:300])
        given = ["quantise", self.model, *SMALL, "-o", "no.onnx", "--data"]
        self.fails(2, "--data", "quantise", self.model, "-o", "no.onnx")
        self.fails(2, "--output", "quantise", self.model, "--data", "batch.npy")
        self.fails(2, "--ranges", *given, "batch.npy", "--ranges", "entropy")
        self.fails(3, "expected shape 1x3x8x12 or several of it, got 5x7", *given, "flat.npy")
        self.fails(3, "nan.npy: element 0 is nan", *given, "nan.npy")
        self.fails(3, "expected f32, got f64", *given, "double.npy")
        self.fails(3, "no picture and no array", *given, "empty")
        self.fails(3, "no such file", *given, "missing.npy")
        self.fails(3, "cut.png", *given, "cut.png")
        self.fails(3, "--shape picture=", "quantise", self.model, "-o", "no.onnx", "--data", "landscape.png")
        self.fails(3, "no input 'other'", *given, "batch.npy", "--shape", "other=1")
        to = ["quantise", self.model, *SMALL, "--min-sqnr", "5", "--data", "batch.npy", "-o"]
        self.fails(3, "is the model itself", *to, "./" + self.model)
        self.fails(3, "is a folder", *to, ".")
        self.fails(3, "missing.onnx", "quantise", "missing.onnx", "-o", "no.onnx", "--data", "batch.npy")
        self.fails(3, "not a row of scores", *given, "batch.npy", "--min-top1", "0.5")
        self.fails(4, "CPU only", *given, "batch.npy", "--device", "opencl")
        self.fails(5, "no layer can be quantised", *given, "batch.npy", "--min-sqnr", "500")
        self.fails(1, "nowhere/no.onnx", *to, "nowhere/no.onnx")
        self.assertFalse(pathlib.Path("no.onnx").exists())
        self.json(*given[:-3], "-o", "once.onnx", "--data", "batch.npy", "--min-sqnr", "5", "--for-size")
        self.fails(3, "already quantised", "quantise", "once.onnx", *SMALL, "-o", "no.onnx", "--data", "batch.npy")

    def test_what_stays_in_floats_is_explained(self):
        model = str(MODELS / "sr_x2_10k_int8.onnx")
        line = "in floats: enhanced (DepthToSpace): the result is an output of the graph"
        for command in (["inspect", model], ["plan", model, "--explain", "--shape", "luma=1x1x8x12"]):
            self.assertIn(line, run(*command).stdout.splitlines())

    def test_quantise_is_interrupted(self):
        self.npy("many.npy", [64, 3, 96, 128])
        command = ["quantise", self.model, "--shape", "picture=1x3x96x128", "-o", "stopped.onnx", "--data",
                   *["many.npy"] * 4, "--samples", "256", "--sensitivity", "256"]
        code, _, errors = self.interrupt(*command)
        self.assertEqual(code, 1)
        self.assertIn("interrupted", errors)
        self.assertFalse(pathlib.Path("stopped.onnx").exists())

    def test_unsupported(self):
        nowhere = {"FETTLE_OPENCL_LIBRARY": "/nowhere/libOpenCL.so"}
        self.fails(4, "no OpenCL loader", "run", self.model, "--device", "opencl", "--strict-device", env=nowhere)
        result = run("run", self.model, "--device", "opencl", env=nowhere)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no OpenCL loader", result.stderr)
        self.assertIn("the CPU is used", result.stderr)
        self.fails(4, "image", "run", self.model, "--memory", "image")
        self.fails(4, "precision", "run", self.model, "--precision", "low", "--strict-device")
        self.fails(4, "use opencl", "bench", self.model, "--layout-transform", "cuda")

    def test_a_package_of_an_opencl_device_finds_it_again(self):
        if not self.json("devices")["opencl"]:
            self.skipTest("no OpenCL device")
        small = ("--shape", "picture=1x3x12x16", "--threads", "2")
        made = self.json("bench", self.model, *small, "--layout-transform", "opencl", "--layout-transform-dump",
                         "gpu.fettle", "--iters", "2", "--cache", "gpu_cache", "--strict-device")
        self.assertEqual(made["device"]["kind"], "opencl")
        self.assertGreater(made["measurements"], 0)
        again = self.json("bench", "gpu.fettle", *small, "--iters", "2", "--no-cache", "--strict")
        self.assertEqual(again["device"]["kind"], "opencl")
        self.assertEqual(again["measurements"], 0)
        self.assertEqual(again["plan"], "package")
        self.assertEqual([op["kernel"] for op in again["ops"]], [op["kernel"] for op in made["ops"]])
        self.assertEqual(again["programs"]["built"], 0)
        self.assertEqual(self.json("bench", "gpu.fettle", *small, "--iters", "2", "--device", "cpu")["device"]["kind"],
                         "cpu")

    def test_tune_then_run_from_what_was_kept(self):
        cache = ("--cache", "learned", "--threads", "2")
        tuned = self.json("tune", self.model, *SMALL, *cache, "-o", "tuned.fettle", "--level", "fast")
        self.assertGreater(tuned["measured"], 0)
        self.assertTrue(tuned["complete"])
        self.assertIn("accepted", tuned["gate"])
        self.assertGreater(tuned["default_ms"], 0)
        self.assertTrue(tuned["plan"]["nodes"])
        again = self.json("tune", self.model, *SMALL, *cache, "--no-package", "--level", "fast")
        self.assertEqual(again["measured"], 0)
        self.assertEqual(again["plan"]["nodes"], tuned["plan"]["nodes"])
        known = self.json("bench", self.model, *SMALL, *cache, "--iters", "2")
        self.assertEqual((known["plan"], known["measurements"]), ("database", 0))
        # The best plan by what is known now, and how far it is from the one that runs.
        best = self.json("plan", self.model, *SMALL, *cache)
        runs = {op["node"]: op["kernel"] for op in known["ops"] if op["op"] != "Convert"}
        others = sum(runs.get(node["node"]) != node["kernel"] for node in best["nodes"])
        self.assertEqual(best["in_use"]["plan"], "database")
        self.assertEqual(best["in_use"]["groups"], len(best["nodes"]))
        self.assertLessEqual(others, best["in_use"]["differing"])
        unlike = self.json("plan", self.model, *SMALL, *cache, "--solver", "single:row")["in_use"]
        self.assertGreater(unlike["differing"], 0)
        other = self.json("bench", self.model, *SMALL, "--no-cache", "--iters", "2")
        self.assertEqual(other["plan"], "preferences")
        packed = self.json("bench", "tuned.fettle", *SMALL, "--threads", "2", "--iters", "2")
        self.assertEqual((packed["plan"], packed["measurements"]), ("package", 0))
        self.assertGreater(packed["predicted_ms"], 0)
        other = self.json("bench", "tuned.fettle", "--shape", "picture=1x3x10x14", "--threads", "2", "--iters", "2")
        self.assertEqual((other["plan"], other["predicted_ms"]), ("similar", None))
        shown = self.json("plan", "tuned.fettle", *SMALL, "--threads", "2", "--no-cache")
        self.assertEqual(shown["in_use"]["plan"], "package")
        shown = self.json("plan", "tuned.fettle", "--shape", "picture=1x3x10x14", "--threads", "2", "--no-cache")
        self.assertEqual(shown["in_use"]["plan"], "similar")
        other = self.json("bench", "tuned.fettle", *SMALL, "--threads", "1", "--iters", "2")
        self.assertEqual((other["plan"], other["predicted_ms"]), ("preferences", None))
        self.assertIn("tuned with 2 threads", other["warnings"][-1])
        kernels = lambda report: [op["kernel"] for op in report["ops"]]
        self.assertEqual(kernels(packed), kernels(known))
        # Each weight once, and its packed form where that is asked for.
        self.json("tune", self.model, *SMALL, *cache, "-o", "larger.fettle", "--level", "fast", "--packed-weights")
        once, both = (self.json("inspect", name)["package"]["packed"] for name in ("tuned.fettle", "larger.fettle"))
        self.assertEqual(once, {"count": 0, "bytes": 0})
        self.assertGreater(both["bytes"], 0)
        self.assertGreaterEqual(os.path.getsize("larger.fettle"), os.path.getsize("tuned.fettle") + both["bytes"])

    def test_budget_of_nothing_keeps_the_default(self):
        tuned = self.json("tune", self.model, *SMALL, "--no-cache", "--no-package", "--level", "none")
        nothing = self.json("tune", self.model, *SMALL, "--no-cache", "--no-package", "--budget", "0")
        self.assertEqual((tuned["measured"], nothing["measured"], nothing["gate"]["pairs"]), (0, 0, 0))
        said = run("tune", self.model, *SMALL, "--no-cache", "--no-package", "--level", "none").stdout
        self.assertNotIn("budget", said)
        self.assertIn("the level none measures nothing", said)

    def test_layout_transform_dump(self):
        report = self.json("bench", self.model, *SMALL, "--cache", "lar", "--threads", "1", "--iter", "2",
                           "--layout-transform", "cpu", "--layout-transform-dump", "lar.fettle")
        self.assertEqual(report["plan"], "tuned")
        self.assertGreater(report["measurements"], 0)
        again = self.json("bench", "lar.fettle", *SMALL, "--threads", "1", "--iter", "2")
        self.assertEqual(again["measurements"], 0)
        kernels = lambda report: [op["kernel"] for op in report["ops"]]
        self.assertEqual(kernels(again), kernels(report))
        self.fails(2, "layout-transform", "bench", self.model, "--layout-transform-dump", "x.fettle")

    def test_plan(self):
        # The database keeps the ceilings that bounds are made of.
        known = ("--cache", "plans", "--threads", "1")
        plan = self.json("plan", self.model, *SMALL, *known, "--dump-problem", "problem.txt")
        self.assertTrue(plan["optimal"])
        self.assertGreater(plan["unmeasured"], 0)
        self.assertTrue(all(node["choices"] > 0 for node in plan["nodes"]))
        self.assertEqual(plan["in_use"]["plan"], "preferences")
        solved = self.json("plan", "--problem", "problem.txt")
        self.assertAlmostEqual(solved["predicted_ms"], plan["predicted_ms"], places=9)
        for solver in ("ve", "sweep", "capped", "pbqp", "single:NHWC"):
            other = self.json("plan", self.model, *SMALL, *known, "--solver", solver)
            self.assertGreaterEqual(other["predicted_ms"], plan["predicted_ms"] * (1 - 1e-9), solver)
        self.assertIn("not cpu.", run("plan", self.model, *SMALL, "--no-cache", "--explain").stdout)
        pathlib.Path("broken.txt").write_text(pathlib.Path("problem.txt").read_text()[:-20])
        self.fails(3, "broken.txt", "plan", "--problem", "broken.txt")
        self.fails(3, "missing.txt", "plan", "--problem", "missing.txt")
        self.fails(2, "MODEL or --problem", "plan")
        self.fails(3, "no tensor", "plan", self.model, "--no-cache", "--solver", "single:NCHW99c")
        self.fails(2, "single:LAYOUT", "plan", self.model, "--solver", "fastest")
        self.fails(3, "missing.db", "plan", self.model, "--costs", "missing.db")
        self.fails(3, "enhance_x2.onnx", "plan", self.model, "--costs", self.model)

    def test_plan_adds_up(self):
        for layout in ("NCHW", "NHWC"):
            plan = self.json("plan", self.model, *SMALL, "--no-cache", "--solver", f"single:{layout}")
            self.assertFalse(plan["optimal"])
            parts = sum(part["ms"] for part in plan["nodes"] + plan["conversions"])
            self.assertAlmostEqual(parts, plan["predicted_ms"], places=9)
            self.assertTrue(all(isinstance(node["params"], dict) and node["node"] for node in plan["nodes"]))

    def test_plan_solves_contest_instances(self):
        instance = {"name": "two", "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[1, 6], [4, 0]],
                                             "usages": [[8, 1], [1, 8]]},
                    "edges": {"nodes": [[1, 0]], "costs": [[0, 0, 1e18, 0]]}, "usage_limit": 9}
        with gzip.open("two.json.gz", "wt") as file:
            json.dump({"problem": instance}, file)
        solved = self.json("plan", "--problem", "two.json.gz")
        self.assertEqual((solved["cost"], solved["values"], solved["optimal"]), (5, [0, 0], True))
        instance["edges"]["nodes"] = [[1, 2]]
        pathlib.Path("wrong.json").write_text(json.dumps({"problem": instance}))
        self.fails(3, "node 2", "plan", "--problem", "wrong.json")
        self.fails(4, "pbqp", "plan", "--problem", "two.json.gz", "--solver", "pbqp")

    def write_kernel(self):
        """A 6 x 8 bowl whose best is tile 4, vector 8 with 1 ms; configurations with tile 5 fail."""
        spec = {"ConfigurationSpace": {
            "TuningParameters": [{"Name": "tile", "Type": "int", "Values": "[1, 2, 3, 4, 5, 6]"},
                                 {"Name": "vector", "Type": "int", "Values": [1, 2, 4, 8, 16, 32, 64, 128]}],
            "Conditions": [{"Expression": "tile * vector <= 512", "Parameters": ["tile", "vector"]}]},
            "KernelSpecification": {"KernelName": "scale"}}
        results = []
        for tile in range(1, 7):
            for step in range(8):
                ms = 1 + abs(tile - 4) + abs(step - 3)
                results.append({"configuration": {"tile": tile, "vector": 2**step, "mode": "plain"},
                                "invalidity": "compile" if tile == 5 else "correct",
                                "measurements": [] if tile == 5 else [{"name": "time", "value": ms / 1000, "unit": "s"}],
                                "objectives": ["time"]})
        pathlib.Path("spec.json").write_text(json.dumps(spec))
        pathlib.Path("space.json").write_text(json.dumps({"metadata": {"timeunit": "ms"}, "results": results}))
        pathlib.Path("space.json.gz").write_bytes(gzip.compress(pathlib.Path("space.json").read_bytes()))
        return spec, results

    def test_tune_kernel_replays_a_recording(self):
        self.write_kernel()
        for strategy in ("local", "portfolio", "random", "full"):
            report = self.json("tune-kernel", "spec.json", "--replay", "space.json.gz", "--strategy", strategy)
            self.assertEqual(report["best"], {"params": {"tile": 4, "vector": 8}, "ms": 1.0}, strategy)
            self.assertEqual(report["share_of_optimum"], 1)
            self.assertEqual((report["evaluations"], report["failed"], report["configurations"]), (46, 7, 46))
            self.assertGreaterEqual(report["seconds"], 0)
        few = self.json("tune-kernel", "spec.json", "--replay", "space.json", "--evals", "5", "--seed", "3")
        self.assertEqual(few["evaluations"], 5)
        self.assertEqual(few, {**self.json("tune-kernel", "spec.json", "--replay", "space.json", "--evals", "5",
                                           "--seed", "3"), "seconds": few["seconds"]})
        self.assertIn("of the optimum", run("tune-kernel", "spec.json", "--replay", "space.json").stdout)

    def write_user_kernel(self):
        """Doubles 64 numbers; SHORTCUT 1 leaves the second half out, ITEMS 3 does not build."""
        pathlib.Path("double.cl").write_text("""
            #if ITEMS == 3
            #error three
            #endif
            __kernel void twice(const int n, __global const float* x, __global float* y) {
              for (int i = 0; i < ITEMS; ++i) {
                const int at = get_global_id(0) * ITEMS + i;
                if (!SHORTCUT || at < n / 2) y[at] = 2 * x[at];
              }
            }
            __kernel void reference(const int n, __global const float* x, __global float* y) {
              y[get_global_id(0)] = x[get_global_id(0)] + x[get_global_id(0)];
            }""")
        spec = {"ConfigurationSpace": {
            "TuningParameters": [{"Name": "ITEMS", "Values": [1, 2, 3, 4], "Default": 2},
                                 {"Name": "SHORTCUT", "Values": [0, 1]}]},
            "KernelSpecification": {
                "KernelName": "twice", "KernelFile": "double.cl", "GlobalSize": {"X": "64 // ITEMS"},
                "LocalSize": {"X": 1},
                "Arguments": [{"Name": "n", "Type": "int", "MemoryType": "Scalar", "FillValue": 64},
                              {"Name": "x", "Type": "float", "MemoryType": "Vector", "Size": 64, "FillType": "Random"},
                              {"Name": "y", "Type": "float", "MemoryType": "Vector", "Size": 64,
                               "AccessType": "WriteOnly"}],
                "Reference": {"KernelName": "reference", "KernelFile": "double.cl", "GlobalSize": {"X": 64}}}}
        pathlib.Path("double.json").write_text(json.dumps(spec))
        return spec

    def test_tune_kernel_on_a_device(self):
        spec = self.write_user_kernel()
        common = ("tune-kernel", "double.json", "--device", "opencl", "--cache", "kernel-db")
        if run(*common, "--evals", "1", "--no-cache").returncode == 4:
            self.skipTest("no OpenCL device")
        first = self.json(*common, "--strategy", "full", "-o", "double.t4.json")
        self.assertEqual(first["default"]["params"], {"ITEMS": 2, "SHORTCUT": 0})
        self.assertEqual(first["best"]["params"]["SHORTCUT"], 0)
        self.assertEqual((first["evaluations"], first["failed"]), (8, 5))
        reasons = {(one["params"]["ITEMS"], one["params"]["SHORTCUT"]): one for one in first["rejected"]}
        self.assertEqual({key for key, one in reasons.items() if one["wrong"]}, {(1, 1), (2, 1), (4, 1)})
        self.assertIn("32 of 64 elements differ", reasons[2, 1]["reason"])
        self.assertIn("double.cl", reasons[3, 0]["reason"])
        results = json.loads(pathlib.Path("double.t4.json").read_text())["results"]
        self.assertEqual(sum(result["invalidity"] == "correct" for result in results), 3)
        again = self.json(*common, "--strategy", "random")
        self.assertEqual((again["evaluations"], again["reused"]), (8, 8))
        for strategy in ("local", "portfolio"):
            found = self.json(*common, "--strategy", strategy, "--evals", "6")
            self.assertEqual(found["best"]["params"]["SHORTCUT"], 0, strategy)
        del spec["KernelSpecification"]["Reference"]
        pathlib.Path("double.json").write_text(json.dumps(spec))
        self.fails(3, "output 'y': expected a 'Reference' kernel", *common)
        spec["KernelSpecification"]["Arguments"][1]["Type"] = "float4"
        pathlib.Path("double.json").write_text(json.dumps(spec))
        self.fails(3, "argument #1: 'Type': expected an OpenCL scalar type, got 'float4'", *common)

    def test_tune_kernel_writes_what_it_reads(self):
        self.write_kernel()
        common = ("tune-kernel", "spec.json", "--replay", "space.json", "--seed", "2")
        whole = self.json(*common, "--evals", "20", "-o", "whole.json")
        self.json(*common, "--evals", "9", "-o", "part.json")
        resumed = self.json(*common, "--evals", "20", "--resume", "part.json", "-o", "resumed.json")
        self.assertEqual(pathlib.Path("whole.json").read_text(), pathlib.Path("resumed.json").read_text())
        self.assertEqual(resumed["best"], whole["best"])
        self.assertEqual(len(json.loads(pathlib.Path("whole.json").read_text())["results"]), 20)
        self.json("tune-kernel", "spec.json", "--replay", "whole.json", "--strategy", "full")
        known = self.json(*common, "--known", "space.json", "--evals", "1")
        self.assertEqual(known["share_of_optimum"], 1)
        self.fails(1, "/no/such", *common, "-o", "/no/such/folder/x.json")

    def test_tune_kernel_reads_kernel_tuner_caches(self):
        self.write_kernel()
        cache = {f"{tile},8": {"tile": tile, "vector": 8, "time": 2.5 * tile if tile < 4 else "CompilationFailedConfig"}
                 for tile in range(1, 7)}
        pathlib.Path("cache.json").write_text(json.dumps({"tune_params_keys": ["tile", "vector"], "cache": cache}))
        report = self.json("tune-kernel", "spec.json", "--replay", "cache.json")
        self.assertEqual((report["best"], report["failed"]), ({"params": {"tile": 1, "vector": 8}, "ms": 2.5}, 3))

    def test_tune_kernel_refuses_bad_files(self):
        spec, results = self.write_kernel()
        replay = ("--replay", "space.json")

        def with_spec(text, change):
            altered = json.loads(json.dumps(spec))
            change(altered["ConfigurationSpace"])
            pathlib.Path("bad.json").write_text(json.dumps(altered))
            self.fails(3, text, "tune-kernel", "bad.json", *replay)

        def with_recording(text, document):
            pathlib.Path("bad.json").write_text(json.dumps(document))
            self.fails(3, text, "tune-kernel", "spec.json", "--replay", "bad.json")

        self.fails(3, "expected 'KernelName' and 'KernelFile'", "tune-kernel", "spec.json")
        self.fails(2, "strategy", "tune-kernel", "spec.json", *replay, "--strategy", "magic")
        self.fails(2, "", "tune-kernel", "spec.json", *replay, "--evals", "-1")
        self.fails(3, "missing.json", "tune-kernel", "missing.json", *replay)
        self.fails(3, "missing.json", "tune-kernel", "spec.json", "--replay", "missing.json")
        self.fails(3, "not JSON", "tune-kernel", self.model, *replay)
        self.fails(3, "TuningParameters", "tune-kernel", "space.json", *replay)
        with_spec("'tile': 'Values': expected a list", lambda s: s["TuningParameters"][0].update(Values="2 * 3"))
        with_spec("'tile' has no values", lambda s: s["TuningParameters"][0].update(Values=[]))
        with_spec("expected a number or a text", lambda s: s["TuningParameters"][0].update(Values=[[1]]))
        with_spec("no 'Name'", lambda s: s["TuningParameters"][0].pop("Name"))
        with_spec("'system' is not a parameter", lambda s: s["Conditions"][0].update(Expression="system('ls')"))
        with_spec("less nesting", lambda s: s["Conditions"][0].update(Expression="(" * 4000))
        with_spec("'shape' was not recorded", lambda s: s["TuningParameters"].append({"Name": "shape", "Values": [1]}))
        with_spec("recorded parameter 'vector'",
                  lambda s: (s["TuningParameters"].pop(), s.update(Conditions=[])))
        with_spec("none of the 48", lambda s: s["Conditions"][0].update(Expression="tile > 100"))
        with_recording("neither", {"results": 3})
        with_recording("no measurements", {"results": []})
        with_recording("timeunit 'weeks'", {"metadata": {"timeunit": "weeks"}, "results": results})
        with_recording("result #1: parameter 'vector' is missing",
                       {"results": [results[0], {"configuration": {"tile": 1}}]})
        with_recording("result #0: no 'configuration'", {"results": [7]})
        with_recording("tune_params_keys", {"cache": {}})
        pathlib.Path("cut.json.gz").write_bytes(pathlib.Path("space.json.gz").read_bytes()[:200])
        self.fails(3, "damaged gzip", "tune-kernel", "spec.json", "--replay", "cut.json.gz")

    def test_run_writes_inputs_and_outputs(self):
        report = self.json("run", self.model, *SMALL, "-o", "results/")
        (output,) = report["outputs"]
        self.assertEqual((output["name"], output["dtype"], output["shape"]), ("enhanced", "f32", [1, 3, 16, 24]))
        self.assertEqual(output["nonfinite"], 0)
        self.assertTrue(0 <= output["min"] <= output["mean"] <= output["max"] <= 1)
        (given,) = report["inputs"]
        self.assertTrue(pathlib.Path(given["file"]).exists())
        self.assertGreater(report["ms"], 0)
        self.assertEqual(report["precision"]["used"], "high")
        again = self.json("run", self.model, "-i", given["file"], "-o", "enhanced=again.npy")
        self.assertEqual(pathlib.Path("again.npy").read_bytes(), pathlib.Path(output["file"]).read_bytes())
        self.assertEqual(again["inputs"][0]["file"], given["file"])

    def test_run_is_the_same_for_every_thread_count(self):
        for threads in ("1", "3"):
            self.json("run", self.model, *SMALL, "--threads", threads, "-o", f"enhanced=t{threads}.npy")
        self.assertEqual(pathlib.Path("t1.npy").read_bytes(), pathlib.Path("t3.npy").read_bytes())

    def test_pictures_in_and_out(self):
        self.json("run", self.model, "-i", "landscape.png", "-o", "enhanced=big.png", "-o", "doubled=doubled.jpg")
        header = pathlib.Path("big.png").read_bytes()[16:24]
        self.assertEqual((int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")), (768, 512))
        self.assertTrue(pathlib.Path("doubled.jpg").read_bytes().startswith(b"\xff\xd8"))

    def test_constant_input_and_intermediate_value(self):
        report = self.json("run", self.model, *SMALL, "-i", "picture=const:0.5", "-o", "doubled=doubled.npy")
        self.assertEqual([output["name"] for output in report["outputs"]], ["enhanced", "doubled"])
        self.assertAlmostEqual(report["outputs"][0]["min"], 0.5, places=5)

    def test_failed_writes_leave_nothing(self):
        before = sorted(os.listdir("."))
        self.fails(1, "/no/such/folder", "run", self.model, *SMALL, "-o", "enhanced=/no/such/folder/x.npy")
        self.assertEqual(sorted(os.listdir(".")), before)

    def test_open_shapes_warn(self):
        result = run("run", self.model)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("warning", result.stderr)

    def test_precision_without_bf16_falls_back_with_a_warning(self):
        report = self.json("run", self.model, *SMALL, "--precision", "normal", env={"FETTLE_CPU_ISA": "baseline"})
        self.assertEqual(report["precision"], {"wanted": "normal", "device": "high", "used": "high", "fp32_layers": [],
                                               "reason": "the CPU has no bf16 instructions"})
        self.assertTrue(report["warnings"])

    def test_precision_of_the_cpu(self):
        isa = self.json("devices")["cpu"]["isa"]
        if "avx512_bf16" not in isa:
            self.skipTest("the processor has no bf16 instructions")
        for wanted in ("high", "normal"):
            report = self.json("run", self.model, "--shape", "picture=1x3x64x64", "--precision", wanted)
            used = report["precision"].pop("used")
            self.assertIn(used, ("high", wanted))
            self.assertEqual(report["precision"], {"wanted": wanted, "device": "normal", "fp32_layers": [], "reason": None})
            self.assertEqual(report["warnings"], [])

    def test_bench_fields(self):
        report = self.json("bench", self.model, *SMALL, "--iters", "5", "--warmup", "1")
        for field in ("device_ms", "load_ms", "prepare_ms", "first_ms", "throughput", "peak_rss_bytes", "arena_bytes",
                      "weight_bytes", "packed_bytes", "live_bytes", "conversions", "predicted_ms", "measurements",
                      "roofline_share", "ops", "device_mac_share", "device", "warnings"):
            self.assertIn(field, report)
        self.assertEqual(set(report["latency_ms"]), {"min", "median", "mean", "p90", "p99", "stddev"})
        self.assertEqual(report["iterations"], 5)
        self.assertEqual(set(report["preparation"]), {"plan_ms", "kernels_ms", "weights_ms"})
        self.assertLessEqual(sum(report["preparation"].values()), report["prepare_ms"])
        self.assertEqual(set(report["ops"][0]), {"node", "op", "kernel", "layout_in", "layout_out", "dtype", "device",
                                                "ms", "predicted_ms", "alone_ms", "gflops", "gbps", "operations", "least_bytes", "bound_by",
                                                "bound_ms", "cold_bound_ms", "lost_ms", "roofline_share"})
        pathlib.Path("base.json").write_text(json.dumps(report))
        compared = self.json("bench", self.model, *SMALL, "--iter", "3", "--compare", "base.json")
        self.assertIn("comparison", compared)
        self.fails(3, "missing.json", "bench", self.model, *SMALL, "--iters", "1", "--compare", "missing.json")

    def test_bench_of_several_sessions(self):
        at_once = self.json("bench", self.model, *SMALL, "--seconds", "0.05", "--sessions", "3")["at_once"]
        self.assertEqual(at_once["sessions"], 3)
        self.assertGreater(at_once["throughput"], 0)
        self.assertNotIn("at_once", self.json("bench", self.model, *SMALL, "--seconds", "0.05"))
        self.fails(2, "--sessions", "bench", self.model, *SMALL, "--sessions", "0")

    def test_bench_stops_cleanly(self):
        code, out, _ = self.interrupt("bench", self.model, *SMALL, "--seconds", "100", "--json")
        self.assertEqual(code, 1)
        self.assertTrue(json.loads(out)["interrupted"])

    def test_gemm_stops_within_a_line(self):
        process = subprocess.Popen([FETTLE, "gemm", "--ladder", "--m", "300", "--n", "300", "--k", "300", "--iters", "100000",
                                    "--cache", "gemm stopped", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (run("db", "info", "--cache", "gemm stopped").returncode == 0 and
                                              self.json("db", "info", "--cache", "gemm stopped")["in_flight"]):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("interrupted; the results are those of", err)
        # The line that was being measured is none of the results, and nothing of it is kept.
        rows = json.loads(out)["rows"]
        self.assertTrue(all(row["verified"] for row in rows if "refused" not in row), out)
        self.assertNotIn("out of time", out + err)
        self.assertNotIn("stopped", self.json("db", "info", "--cache", "gemm stopped")["by_status"])

    def test_signals_end_tune_and_keep_what_was_measured(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            cache = f"stopped by {number}"
            process = subprocess.Popen([FETTLE, "tune", self.model, "--shape", "picture=1x3x128x192", "--no-package", "--cache",
                                        cache], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(600):
                time.sleep(0.05)
                if process.poll() is not None or run("db", "info", "--cache", cache).returncode == 0 and \
                        self.json("db", "info", "--cache", cache)["rows"] >= 3:
                    break
            process.send_signal(number)
            out, err = process.communicate(timeout=300)
            self.assertEqual((process.returncode, out), (1, ""), err)
            said = re.search(r"interrupted; measurements made and kept: (\d+)", err)
            self.assertTrue(said, err)
            self.assertGreaterEqual(self.json("db", "info", "--cache", cache)["rows"], int(said[1]))
            self.assertNotIn("budget", err)

    def test_compare(self):
        report = self.json("compare", self.model, *SMALL)
        self.assertTrue(all(output["ok"] for output in report["outputs"]))
        self.assertIsNone(report["first_bad_node"])
        self.assertIn("tolerance", report)
        self.json("run", self.model, *SMALL, "-o", "expected/")
        self.json("compare", self.model, *SMALL, "--against", "expected")
        self.json("compare", self.model, *SMALL, "--seed", "5", "--against", "expected", code=5)
        self.fails(3, "nowhere", "compare", self.model, *SMALL, "--against", "nowhere")

    def test_inspect(self):
        report = self.json("inspect", self.model, *SMALL)
        self.assertEqual(report["inputs"][0]["shape"], [1, 3, "height", "width"])
        self.assertEqual(report["unsupported"], [])
        self.assertEqual(report["ops"], {"Resize": 1, "Pad": 1, "Conv": 1, "Clip": 1})
        self.assertEqual(report["macs"], 16 * 24 * 3 * 25)
        self.assertGreater(report["params"], 75)
        # An operator that nobody has, under a name as long as the one it replaces.
        strange = pathlib.Path(self.model).read_bytes().replace(b"Resize", b"Rosize").replace(b"Clip", b"Clop")
        pathlib.Path("strange.onnx").write_bytes(strange)
        broken = self.json("inspect", "strange.onnx", code=4)
        self.assertEqual(sorted(entry.split(" ")[0] for entry in broken["unsupported"]), ["Clop", "Rosize"])
        self.fails(4, "Rosize", "run", "strange.onnx")

    def test_devices(self):
        report = self.json("devices", env={"FETTLE_THREADS": "2"})
        self.assertGreaterEqual(report["cpu"]["cores"], 1)
        self.assertEqual(report["options"]["threads"], 2)
        self.assertTrue(report["opencl"] or report["opencl_reason"])
        for device in report["opencl"]:
            self.assertIn(device["driver"], device["fingerprint"])
            self.assertGreater(device["max_work_group_size"], 0)
            self.assertIn(device["local_memory"], ("dedicated", "global"))
            self.assertTrue(device["choice"].startswith("opencl:"))
            self.assertTrue(device["fp16_storage"])
        self.assertEqual(report["environment"]["FETTLE_THREADS"], "2")

    def test_devices_names_what_it_is_asked_about(self):
        report = self.json("devices", "--device", "opencl", "--kernel-ms", "2", "--no-cache")
        self.assertEqual([report["options"][name] for name in ("device", "kernel_ms", "cache")], ["opencl", 2.0, "off"])

    def test_peak_of_opencl(self):
        if not self.json("devices")["opencl"]:
            self.skipTest("no OpenCL device")
        for name in ("fp32 fma", "global read", "host to device", "device to host"):
            report = self.json("peak", "--device", "opencl", "--only", name)
            ceilings = {row["name"]: row for row in report["ceilings"]}
            self.assertGreater(ceilings[name]["value"], 0)
            self.assertGreaterEqual(ceilings[name]["spread"], 0)

    def test_devices_without_opencl(self):
        nowhere = {"FETTLE_OPENCL_LIBRARY": "/nowhere/libOpenCL.so"}
        report = self.json("devices", env=nowhere)
        self.assertEqual(report["opencl"], [])
        self.assertIn("/nowhere/libOpenCL.so", report["opencl_reason"])
        self.assertIn("opencl: none (no OpenCL loader", run("devices", env=nowhere).stdout)

    def test_peak(self):
        rows = []
        for only in ("fma", "dot", "L1", "clock", "parallel"):
            report = self.json("peak", "--only", only, "--cache", "peaks", "--threads", "2")
            self.assertEqual(report["precision"]["used"], "high")
            rows += report["ceilings"]
        names = [row["name"] for row in rows]
        for name in ("fp32 fma", "fp32 fma, 2 cores", "int8 dot", "bit dot", "L1 read", "L1 copy, 2 cores",
                     "clock at the begin", "clock at the end", "parallel loop", "parallel loop after a rest"):
            self.assertIn(name, names)
        for row in rows:
            self.assertEqual(set(row) - {"reason"}, {"name", "group", "value", "unit", "best", "spread", "repeats", "status"})
            self.assertEqual("reason" in row, row["status"] != "ok", row)
            if row["status"] == "ok":
                self.assertGreater(row["value"], 0)
                self.assertGreaterEqual(row["repeats"], 5)
            else:
                self.assertEqual((row["status"], row["value"]), ("unsupported", None))
        kept = {row["problem"]: row for row in self.json("db", "list", "--cache", "peaks")["rows"]}
        self.assertEqual(kept["ceiling fp32 fma"]["unit"], "FLOP/s")

    def test_peak_against_a_base(self):
        base = self.json("peak", "--only", "fp32 fma")
        pathlib.Path("base.json").write_text(json.dumps(base))
        row = {row["name"]: row for row in self.json("peak", "--only", "fp32 fma", "--compare", "base.json")["ceilings"]}["fp32 fma"]
        self.assertAlmostEqual(row["ratio"], row["value"] / row["base"])
        self.assertRegex(run("peak", "--only", "fp32 fma", "--compare", "base.json").stdout, r"fp32 fma +GFLOP/s .*x\n")
        lines = run("peak", "--only", "fp32 fma", "--csv").stdout.splitlines()
        self.assertEqual(lines[0], "name,group,value,unit,best,spread,repeats,status,reason,base,ratio")
        self.assertTrue(any(line.startswith("fp32 fma,arithmetic,") for line in lines[1:]), lines)
        base["device"]["name"] = "another"
        pathlib.Path("other.json").write_text(json.dumps(base))
        self.fails(4, "other.json: of another device, 'another'", "peak", "--compare", "other.json")
        pathlib.Path("no.json").write_text("{")
        self.fails(3, "no.json: not the JSON of an earlier peak", "peak", "--compare", "no.json")
        self.fails(3, "nowhere.json: no such file", "peak", "--compare", "nowhere.json")
        self.fails(3, "--only", "peak", "--only", "no such ceiling")

    GEMM = ("gemm", "--m", "33", "--n", "47", "--k", "65", "--warmup", "0", "--iters", "1", "--no-cache")

    def test_gemm(self):
        report = self.json(*self.GEMM, "--ladder", "--evals", "3", "--protocol", "article")
        rows = {row["name"]: row for row in report["rows"]}
        self.assertEqual(list(rows)[:3], ["naive", "row order", "blocked"])
        self.assertEqual((rows["packed"]["b"], rows["B given with each product"]["b"]), ("constant", "given"))
        self.assertEqual(rows["packed"]["kernel"], "cpu.matmul.gemm")
        self.assertIn("the best, tuned", rows)
        for row in report["rows"]:
            self.assertTrue(row["verified"] and row["article"]["clock"] == "host" and row["article"]["ms"] > 0, row)

    def test_gemm_has_every_form_of_blas(self):
        for options in (("--transa", "--transb", "--alpha", "0.5", "--beta", "2"), ("--dtype", "f16"),
                        ("--lda", "70", "--ldb", "50", "--ldc", "60"), ("--dtype", "u8"), ("--batch", "3"),
                        ("--batch", "2", "--transa", "--alpha", "2")):
            rows = self.json(*self.GEMM, *options, "--evals", "0")["rows"]
            self.assertEqual(rows[-1]["name"], "the call, host to host")
            self.assertTrue(rows[-1]["verified"], (options, rows[-1]))
            for row in rows:
                self.assertTrue(row.get("refused") or row["verified"], (options, row))
        self.fails(2, "lda 64: rows of a have 65", *self.GEMM, "--lda", "64")
        self.fails(4, "and none computes it alone", *self.GEMM, "--batch", "2", "--transa", "--ladder")
        self.fails(4, "alpha 2", *self.GEMM, "--dtype", "i8", "--alpha", "2")

    def test_gemm_on_opencl(self):
        if run(*self.GEMM, "--evals", "0", "--device", "opencl").returncode == 4:
            self.skipTest("no OpenCL device")
        steps = ["naive", "4x4, A transposed, vectors", "4x4, A and B images", "4x4, A image, B buffer",
                 "4x4, C image too", "8x4, A buffer, B image", "8x4, mul-add for fma", "8x4, K unrolled by 2",
                 "tiles in local memory", "tiles in registers", "the same, our work-group", "sub-group broadcast",
                 "split along K", "matrix times vector", "vector times matrix", "small products"]
        for dtype, evals in (("f32", "3"), ("f16", "0")):
            report = self.json(*self.GEMM, "--ladder", "--dtype", dtype, "--evals", evals, "--device",
                               "opencl:Portable")
            rows = {row["name"]: row for row in report["rows"]}
            self.assertEqual(list(rows)[:len(steps)], steps)
            self.assertEqual({row["dtype"] for row in rows.values()}, {dtype})
            self.assertIn("n is 47", rows["matrix times vector"]["refused"])
            self.assertIn("k is 65", rows["split along K"]["refused"])
            measured = [row for row in rows.values() if "refused" not in row]
            self.assertGreaterEqual(len(measured), 8)
            for row in measured:
                self.assertTrue(row["verified"], row)
                self.assertGreater(row["share_of_peak"], 0)
                self.assertAlmostEqual(row["gflops"], 2e-6 * 33 * 47 * 65 / row["ms"], delta=1e-6 * row["gflops"])
            self.assertEqual("the best, tuned" in rows, evals != "0")
        rows = self.json(*self.GEMM, "--dtype", "bf16", "--precision", "normal", "--evals", "0", "--device", "opencl:Portable", "--protocol", "article")["rows"]
        self.assertEqual([(row["peak"], row["article"]["clock"]) for row in rows], [("fp32 fma", "events")] * 2 + [(None, "host")])
        self.fails(2, "f16", "gemm", "--device", "opencl", "--dtype", "f64")

    def test_opencl_is_another_device_and_precision(self):
        if run("peak", "--device", "opencl", "--only", "fp32 fma").returncode == 4:
            self.skipTest("no OpenCL device")
        run("tune", self.model, *SMALL, "--level", "none", "-o", "cpu.fettle", "--no-cache")
        opencl = (*SMALL, "--device", "opencl", "--no-cache")
        self.fails(4, "was made for", "run", "cpu.fettle", *opencl, "--strict")
        self.assertIn("was made for", run("run", "cpu.fettle", *opencl).stderr)
        report = self.json("compare", self.model, *opencl, "--precision", "normal")
        self.assertEqual((report["precision"]["used"], report["tolerance"]["sqnr_db"]), ("normal", 40))
        self.assertTrue(any(node["kernel"].startswith("opencl.") for node in report["nodes"]), report["nodes"])
        facts = self.json("devices")["opencl"][0]
        if not facts["fp16_compute"]:
            self.fails(4, "cl_khr_fp16", "run", self.model, *opencl, "--precision", "low", "--strict-device")

    def test_test(self):
        case = pathlib.Path("cases/test_demo")
        data = case / "test_data_set_0"
        data.mkdir(parents=True)
        (case / "model.onnx").write_bytes(pathlib.Path(self.model).read_bytes())
        self.json("run", self.model, *SMALL, "-o", "picture=" + str(data / "input_0.pb"),
                  "-o", "enhanced=" + str(data / "output_0.pb"))
        self.assertEqual(self.json("test", "cases")["passed"], 1)
        wrong = pathlib.Path("wrong/test_demo/test_data_set_0")
        wrong.mkdir(parents=True)
        (wrong.parent / "model.onnx").write_bytes(pathlib.Path(self.model).read_bytes())
        (wrong / "input_0.pb").write_bytes((data / "input_0.pb").read_bytes())
        self.json("run", self.model, *SMALL, "--seed", "9", "-o", "enhanced=" + str(wrong / "output_0.pb"))
        report = self.json("test", "wrong", code=5)
        self.assertEqual(report["failed"], 1)
        self.assertIn("differ", report["cases"][0]["reason"])
        pathlib.Path("skips.txt").write_text("test_d* for a reason\n")
        self.assertEqual(self.json("test", "wrong", "--skip-list", "skips.txt")["skipped"], 1)
        self.assertTrue(run("test", "cases").stdout.endswith("1 passed, 0 failed, 0 skipped\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
