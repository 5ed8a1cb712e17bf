"""Plans for devices that are not here: fettle plan --for. usage: plan_for_test.py FETTLE"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FETTLE = str(pathlib.Path(sys.argv[1]).resolve())
MODEL, SHAPE = str(pathlib.Path(__file__).resolve().parents[2] / "models" / "sr_x2_20k.onnx"), "luma=1x1x48x64"


def ceiling(name, value, unit="B/s"):
    return {"name": name, "group": "any", "value": value, "unit": unit, "best": value, "spread": 0.01, "repeats": 7, "status": "ok"}


RATES = [("fp32 fma", 1.2e11, "FLOP/s"), ("bf16 dot", 2.4e11, "FLOP/s"), ("L1 read", 2e11), ("L2 read", 1e11), ("DRAM copy", 3e10)]
CPU = {"ceilings": [ceiling(*row) for row in RATES] + [{**ceiling("fp16 fma", None, "FLOP/s"), "best": None, "status": "unsupported", "reason": "-"}],
       "device": {"kind": "cpu", "name": "Paper CPU", "cores": 4, "threads": 4},
       "facts": {"cpu": {"name": "Paper CPU", "cores": 4, "isa": ["avx2", "fma", "avx512", "avx512_vnni", "avx512_bf16"], "l1d_bytes": 32768,
                         "l2_bytes": 1 << 20, "l3_bytes": 1 << 25, "ceilings": [ceiling(*row) for row in RATES], "fingerprint": ""},
                 "accelerator": None}}
GPU = {"backend": "opencl", "platform": "Paper", "name": "Paper GPU", "vendor": "Paper", "version": "OpenCL 3.0", "driver": "1",
       "family": "nvidia", "is_cpu": False, "full_profile": True, "compute_units": 64, "max_work_group_size": 1024, "max_work_items_x": 1024,
       "max_work_items_y": 1024, "max_work_items_z": 64, "global_bytes": 1 << 33, "max_allocation_bytes": 1 << 31,
       "global_cache_bytes": 1 << 22, "local_bytes": 49152, "local_memory_is_dedicated": True, "unified_memory": False,
       "base_address_align": 512, "images": False, "half_images": False, "image2d_max_width": 0, "image2d_max_height": 0,
       "image1d_buffer_max_pixels": 0, "image_pitch_alignment_pixels": 1, "fp16_storage": True, "fp16_compute": True, "int8_dot": False,
       "svm_coarse": True, "svm_fine": False, "sub_groups": True, "extensions": "cl_khr_fp16", "mma": False, "mma_bits": False,
       "mma_warpgroups": False, "mma_float_warpgroups": False, "mma_byte_warpgroups": False, "mma_local_bytes": 0}


def changed(document, path, value):
    """A copy whose member at "a.b.0" is `value`; without it where that is None."""
    made = copy.deepcopy(document)
    *way, last = path.split(".")
    at = made
    for name in way:
        at = at[int(name)] if isinstance(at, list) else at[name]
    if value is None:
        del at[last]
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return made


def gpu(**more):
    made = changed(CPU, "facts.accelerator", {**GPU, **more})
    made["ceilings"] = [ceiling("fp32 fma", 1e13, "FLOP/s"), ceiling("cached read", 5e12), ceiling("global read", 1e12), ceiling("launch us", 4, "us")]
    return made


def run(*words, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FETTLE_")}
    return subprocess.run([FETTLE, *words], env={**kept, "COLUMNS": "300", **more}, capture_output=True, text=True, timeout=300)


class PlansForOthers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.chdir(folder.name)
        cls.addClassCleanup(os.chdir, "/")

    def file(self, document):
        pathlib.Path("facts.json").write_text(document if isinstance(document, str) else json.dumps(document))
        return "facts.json"

    def plan(self, document, *words, cache="cache", **more):
        done = run("plan", MODEL, "--shape", SHAPE, "--for", self.file(document), "--cache", cache, "--json", *words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def kernels(self, *words, **more):
        return {node["kernel"] for node in self.plan(*words, **more)["nodes"]}

    def fails(self, code, text, document, *words):
        done = run("plan", MODEL, "--shape", SHAPE, "--for", self.file(document), "--cache", "cache", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_it_is_the_default_plan_there_and_measures_nothing(self):
        plan = self.plan(CPU)
        self.assertEqual(plan["for"], {"facts": "facts.json", "by": "rules", "rows": 0})
        self.assertEqual((plan["device"]["name"], plan["device"]["threads"]), ("Paper CPU", 4))
        self.assertEqual((plan["in_use"]["plan"], plan["in_use"]["differing"]), ("preferences", 0))
        self.assertFalse(any(node["measured"] for node in plan["nodes"] if node["ms"] > 0))
        self.assertFalse(pathlib.Path("cache").exists())
        text = run("plan", MODEL, "--shape", SHAPE, "--for", "facts.json", "--cache", "cache", "--explain")
        self.assertIn("predicted from rules and ceilings; nothing was measured", text.stdout)

    def test_its_instruction_sets_count_and_those_of_here_do_not(self):
        if "cpu.conv" not in " ".join(self.kernels(CPU)) or os.uname().machine != "x86_64":
            self.skipTest("of x86")
        plain = changed(CPU, "facts.cpu.isa", ["avx2", "fma"])
        self.assertFalse(any("bf16.gemm" in name for name in self.kernels(plain, "--precision", "normal")))
        tiles = changed(CPU, "facts.cpu.isa", [*CPU["facts"]["cpu"]["isa"], "amx_int8", "amx_bf16"])
        self.assertIn("cpu.bf16.gemm.amx", self.kernels(tiles, "--precision", "normal"))
        for document in (CPU, plain, tiles):
            nodes = [self.plan(document, "--precision", "normal", **more)["nodes"] for more in ({}, {"FETTLE_CPU_ISA": "baseline"})]
            self.assertEqual(*nodes)

    def test_twice_the_arithmetic_takes_half_of_the_time(self):
        twice = changed(CPU, "facts.cpu.ceilings", [ceiling(name, 2 * value, *unit) for name, value, *unit in RATES])
        twice["ceilings"] = twice["facts"]["cpu"]["ceilings"]
        one, two = (self.plan(document, "--threads", "1")["predicted_ms"] for document in (CPU, twice))
        self.assertAlmostEqual(one / two, 2, delta=0.1)

    def test_a_device_without_a_driver_has_its_kernels(self):
        more = {"FETTLE_OPENCL_LIBRARY": "/nowhere.so"}
        plan = self.plan(gpu(), **more)
        self.assertEqual((plan["device"]["kind"], plan["device"]["name"]), ("opencl", "Paper GPU"))
        names = {node["kernel"] for node in plan["nodes"]}
        self.assertTrue(all(name.startswith("opencl.") for name in names), names)
        self.assertFalse(any(".mma" in name for name in names))
        self.assertTrue(any(".mma" in name for name in self.kernels(gpu(mma=True, mma_local_bytes=65536), "--precision", "low", **more)))
        self.assertTrue(all(name.startswith("cpu.") for name in self.kernels(gpu(), "--device", "cpu", **more)))

    def test_what_peak_prints_serves_and_rows_of_that_device_count(self):
        peak = run("peak", "--only", "fp32 fma", "--threads", "1", "--cache", "peaks", "--json")
        self.assertEqual(peak.returncode, 0, peak.stderr)
        tuned = run("tune", MODEL, "--shape", SHAPE, "--level", "fast", "--threads", "1", "--cache", "tuned", "--no-package")
        self.assertEqual(tuned.returncode, 0, tuned.stderr)
        before = pathlib.Path("tuned/tuning.db").read_bytes()
        there = self.plan(peak.stdout, "--threads", "1", cache="tuned")
        here = json.loads(run("plan", MODEL, "--shape", SHAPE, "--threads", "1", "--cache", "tuned", "--json").stdout)
        self.assertEqual(there["for"]["by"], "rows")
        self.assertGreater(there["for"]["rows"], 0)
        self.assertEqual([node["kernel"] for node in there["nodes"]], [node["kernel"] for node in here["nodes"]])
        self.assertEqual(pathlib.Path("tuned/tuning.db").read_bytes(), before)
        remote = {"remotes": [{"target": "ssh:x", "document": json.loads(peak.stdout)}]}
        self.assertEqual(self.plan(remote, "--threads", "1", cache="tuned")["nodes"], there["nodes"])
        self.fails(3, "holds 2 machines", {"remotes": remote["remotes"] * 2})

    def test_rows_of_other_devices_predict_it(self):
        paper = changed(CPU, "facts.cpu.isa", ["avx2", "fma"])
        self.assertEqual(run("db", "train", "--cache", "others").returncode, 3, "nothing was tuned")
        tuned = run("tune", MODEL, "--shape", SHAPE, "--level", "fast", "--threads", "1", "--cache", "others", "--no-package")
        self.assertEqual(tuned.returncode, 0, tuned.stderr)
        trained = run("db", "train", "--cache", "others", "--json")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        trained = json.loads(trained.stdout)
        self.assertGreater(trained["used"], 0)
        self.assertEqual((trained["refused"], len(trained["devices"]), trained["devices"][0]["bias"]), (0, 1, None))
        there = self.plan(paper, "--threads", "1", cache="others")
        self.assertEqual(there["for"], {"facts": "facts.json", "by": "other devices", "rows": 0})
        self.assertTrue(there["predicted"].startswith(f"predicted from {trained['used']} rows of 1 device"), there["predicted"])
        self.assertTrue(any(node["predicted_from"] > 0 for node in there["nodes"]))
        self.assertFalse(any(node["measured"] for node in there["nodes"] if node["ms"] > 0))
        # Kernels do not reach their bounds.
        self.assertGreater(there["predicted_ms"], self.plan(paper, "--threads", "1")["predicted_ms"])
        # What was measured here counts here.
        here = json.loads(run("plan", MODEL, "--shape", SHAPE, "--threads", "1", "--cache", "others", "--json").stdout)
        self.assertIsNone(here["predicted"])
        text = run("plan", MODEL, "--shape", SHAPE, "--for", "facts.json", "--threads", "1", "--cache", "others").stdout
        self.assertRegex(text, "1 device.*; nothing was measured there")

    def test_facts_that_no_device_has(self):
        for path, value, text in (
                ("facts.cpu.cores", 0, "facts.cpu.cores: expected 1 to 1024, got 0"),
                ("facts.cpu.cores", 2.5, "facts.cpu.cores: expected a whole number"),
                ("facts.cpu.cores", None, "facts.cpu.cores: is missing"),
                ("facts.cpu.l2_bytes", -1, "facts.cpu.l2_bytes: expected 0 to"),
                ("facts.cpu.l2_bytes", 2**64 - 1, "facts.cpu.l2_bytes: expected 0 to"),
                ("facts.cpu.cache", 1, "facts.cpu: unknown field 'cache'"),
                ("facts.gpu", 1, "facts: unknown field 'gpu'"),
                ("facts.cpu.isa", ["avx3"], "unknown instruction set 'avx3'"),
                ("facts.cpu.isa", ["avx512"], "no processor has 'avx512' without 'avx2 and fma'"),
                ("facts.cpu.isa", ["avx2", "fma", "amx_int8"], "no processor has 'amx_int8' without 'avx512_vnni'"),
                ("facts.cpu.isa", ["neon", "avx2"], "no processor has both 'neon' and 'avx2'"),
                ("facts.cpu.ceilings.0.best", 0, "'fp32 fma': no device has 0 FLOP/s"),
                ("ceilings.0.best", 1e30, "'fp32 fma': no device has 1e+30 FLOP/s"),
                ("ceilings.0.unit", "miles", "unknown unit \"miles\""),
                ("facts.cpu.ceilings.4.name", "DRAM cp", "'DRAM copy' is missing"),
                ("facts", None, "not what `fettle peak --json` prints")):
            with self.subTest(path=path, value=value):
                self.fails(3, text, changed(CPU, path, value))
        self.fails(3, "facts.accelerator: compute_units: expected 1 to 1048576, got 0", gpu(compute_units=0))
        self.fails(3, "facts.accelerator: images: expected true or false", gpu(images="no"))
        self.fails(3, "facts.accelerator.extensions: expected a text, a whole", gpu(extensions=["a"]))
        self.fails(3, "facts.accelerator: unknown field 'tensor_cores'", gpu(tensor_cores=4))
        self.fails(3, "facts.accelerator: driver: is missing", changed(gpu(), "facts.accelerator.driver", None))
        self.fails(4, "no backend \"metal\"", gpu(backend="metal"))
        for text in ("", "[]", "{", "{\"facts\": 1, \"ceilings\": []}", json.dumps({"facts": {}, "ceilings": []})):
            self.fails(3, "facts.json", text)

    def test_what_cannot_be_planned_is_told(self):
        foreign = ["neon", "dotprod"] if os.uname().machine == "x86_64" else ["avx2", "fma"]
        self.fails(4, "this build has no kernels of", changed(CPU, "facts.cpu.isa", foreign))
        self.fails(4, "facts.json is for a CPU", CPU, "--device", "opencl")
        self.fails(2, "--memory-limit", CPU, "--memory-limit", "10")
        done = run("plan", MODEL, "--for", "nowhere.json")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
