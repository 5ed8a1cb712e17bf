"""The wheel of a build with and without the program, and the command of an environment."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

import fettle

PACKAGE = pathlib.Path(fettle.__file__).parent
BACKEND = pathlib.Path(__file__).resolve().parent.parent.parent / "bindings" / "python"


class Wheel(unittest.TestCase):
    def names(self, *files):
        """What a wheel of a build of these files has in it; its extension is not compiled."""
        sys.path.insert(0, str(BACKEND))
        try:
            import wheel_backend
        finally:
            sys.path.remove(str(BACKEND))
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                path = pathlib.Path(folder, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(PACKAGE / "_native.abi3.so", path)
            with mock.patch.dict(os.environ, {"FETTLE_BUILD": folder}), \
                    mock.patch.object(wheel_backend, "compile_extension", lambda library, output: output.write_bytes(b"")):
                name = wheel_backend.build_wheel(folder)
            with zipfile.ZipFile(pathlib.Path(folder, name)) as wheel:
                return [name.split("/", 1)[1] for name in wheel.namelist()]

    def test_a_build_without_the_program_has_no_command(self):
        names = self.names("lib/libfettle.so")
        self.assertIn("__init__.py", names)
        self.assertNotIn("entry_points.txt", names)
        self.assertNotIn("bin/fettle", names)

    def test_a_build_with_the_program_has_its_command(self):
        names = self.names("both/libfettle.so", "both/bin/fettle")
        self.assertIn("entry_points.txt", names)
        self.assertIn("bin/fettle", names)


class Command(unittest.TestCase):
    def test_without_the_program_it_is_the_next_one_on_the_path(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("mine", "#!/bin/sh\nexit 9\n"), ("other", "#!/bin/sh\necho $1 from elsewhere\n")):
                path = pathlib.Path(folder, name, "fettle")
                path.parent.mkdir()
                path.write_text(text)
                path.chmod(0o755)
            code = ("import sys; sys.argv = sys.argv[1:]; import fettle.program as p; p._brought = lambda: None; p.main()")
            words = [sys.executable, "-c", code, f"{folder}/mine/fettle", "version"]
            for path, said in ((f"{folder}/mine:{folder}/other:/usr/bin:/bin", "version from elsewhere\n"), (f"{folder}/mine", "")):
                done = subprocess.run(words, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
                self.assertEqual(done.stdout, said, done.stderr)
                self.assertEqual("neither in this Python package nor elsewhere" in done.stderr, not said)


if __name__ == "__main__":
    unittest.main()
