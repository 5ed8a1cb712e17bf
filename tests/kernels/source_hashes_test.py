#!/usr/bin/env python3
"""Which kernels' hashes (cmake/source_hashes.cmake) an edit of one source changes."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
CMAKE = sys.argv.pop(1) if len(sys.argv) > 1 else "cmake"


class SourceHashes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        for part in ("kernels", "tensor", "device"):
            shutil.copytree(SOURCE / "src" / part, cls.root / "src" / part)
        cls.before = cls.hashes()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def hashes(cls, toolchain="compiler 1"):
        output = cls.root / "hashes.cc"
        script = SOURCE / "cmake" / "source_hashes.cmake"
        subprocess.run([CMAKE, "-D", f"ROOT={cls.root}", "-D", f"TOOLCHAIN={toolchain}", "-D", f"OUTPUT={output}",
                        "-P", script], check=True)
        text = output.read_text()
        rows = dict(re.findall(r'\{"([^"]+)", "([0-9a-f]{16})"\}', text))
        rows["build"] = re.search(r'BuildId\(\) \{ return "([0-9a-f]{16}) ', text).group(1)
        return rows

    def changed(self, path):
        """The kernels whose hash changes with `path`, which always changes the build's."""
        file = self.root / "src" / path
        text = file.read_text()
        file.write_text(text + "\n// edited\n")
        after = self.hashes()
        file.write_text(text)
        self.assertEqual(self.before.keys(), after.keys())
        self.assertNotEqual(self.before["build"], after["build"])
        return {name for name in after if after[name] != self.before[name]} - {"build"}

    def test_every_kernel_of_the_tables_has_a_hash(self):
        defined = set()
        for file in (SOURCE / "src" / "kernels").rglob("*.cc"):
            text = file.read_text()
            if re.search(r"^const KernelDesc k", text, re.M):
                defined |= set(re.findall(r'\.name = "([a-z0-9_.]+)"', text))
        self.assertGreater(len(defined), 60)
        self.assertEqual(defined - self.before.keys(), set())

    def test_opencl_source_of_one_kernel(self):
        self.assertEqual(self.changed("kernels/opencl/conv/local.cl"), {"opencl.conv.local"})
        self.assertEqual(self.changed("kernels/opencl/softmax/rows.cl"), {"opencl.softmax.rows"})

    def test_source_of_one_cpu_kernel(self):
        self.assertEqual(self.changed("kernels/cpu/norm/lrn.cc"), {"cpu.norm.lrn"})

    def test_what_several_kernels_are_made_of(self):
        products = self.changed("kernels/cpu/gemm/microkernel.cc")
        self.assertLessEqual({"cpu.conv.gemm.nhwc", "cpu.conv.winograd43.nhwc", "cpu.matmul.gemm"}, products)
        self.assertFalse([name for name in products if name.startswith("opencl.")])
        tiles = self.changed("kernels/opencl/conv/tile.clh")
        self.assertLessEqual({"opencl.conv.direct", "opencl.conv.pointwise.f16"}, tiles)
        self.assertNotIn("opencl.softmax.rows", tiles)
        self.assertIn("cpu.move", self.changed("kernels/move/plan_pad.cc"))

    def test_the_loops_are_part_of_what_they_measure(self):
        self.assertIn("cpu.probe", self.changed("kernels/cpu/probe/loops_simd.cc"))

    def test_the_contract_is_part_of_all(self):
        changed = self.changed("kernels/kernel.h")
        self.assertEqual({name for name in self.before if name not in changed}, {"build", "cpu.probe"})

    def test_a_table_is_part_of_none(self):
        self.assertEqual(self.changed("kernels/cpu/table.cc"), set())

    def test_compiler_and_flags_are_part_of_all(self):
        after = self.hashes("compiler 2")
        self.assertFalse([name for name in after if after[name] == self.before[name]])


if __name__ == "__main__":
    unittest.main()
