"""Runs the Python lines of README.md and docs/python.md and examples/python/*.py, each in a folder with the demonstration
model, its picture and a small language model: run_documents.py. The last line counts."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from small_decoder import small_decoder

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "build" / "release" / "bin" / "fettle-demo"


def programs():
    """(name, source)."""
    for page in (ROOT / "README.md", ROOT / "docs" / "python.md"):
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M), 1):
            yield f"{page.name}, block {number}", block
    for path in sorted((ROOT / "examples" / "python").glob("*.py")):
        yield path.name, path.read_text()


def main():
    passed = failed = skipped = 0
    environment = dict(os.environ, PATH=f"{DEMO.parent}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        demo = pathlib.Path(folder, "demo")
        demo.mkdir()
        subprocess.run([DEMO, demo], check=True, stdout=subprocess.DEVNULL)
        demo.joinpath("model.gguf").write_bytes(small_decoder())
        for name, source in programs():
            if "import cv2" in source and importlib.util.find_spec("cv2") is None:
                skipped += 1
                print(f"skipped: {name}: cv2 and a camera are not here")
                continue
            here = pathlib.Path(folder, str(passed + failed))
            shutil.copytree(demo, here)
            done = subprocess.run([sys.executable, "-c", source], cwd=here, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if done.returncode == 0 and b"[]" not in done.stdout:  # no line of theirs prints an empty list
                passed += 1
            else:
                failed += 1
                print(f"{name}:\n{done.stdout.decode()}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
