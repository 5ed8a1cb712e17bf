"""What --help says of every command. usage: help_test.py FETTLE FETTLE_DEMO"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FETTLE, DEMO = sys.argv[1:3]


def run(*arguments):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}
    return subprocess.run([FETTLE, *arguments], capture_output=True, text=True, timeout=60, env={**kept, "COLUMNS": "80"})


def commands():
    """(words of a command, its row), those of `db` too."""
    def below(row, words):
        for one in row["commands"]:
            yield [*words, one["command"]], one
            yield from below(one, [*words, one["command"]])
    return list(below(json.loads(run("--help", "--json").stdout), []))


class Help(unittest.TestCase):
    def options(self):
        for words, row in commands():
            for option in row["options"]:
                yield " ".join([*words, option["names"][0]]), option

    def test_numbers_and_choices_say_their_default(self):
        for name, option in self.options():
            value = option["value"] or ""
            if option["required"] or not (value.startswith(("INT", "UINT", "FLOAT")) or "{" in value):
                continue
            if "--layout-transform" in name or name.endswith(("--older-than", "--max-size")):  # what does nothing unless given
                continue
            self.assertIn("default", option["description"], name)

    def test_times_and_sizes_have_units(self):
        for name, option in self.options():
            if re.search(r"--(seconds|budget|case-seconds|compile-seconds|remote-hold)$", name):
                self.assertIn("seconds", option["description"], name)
            if name.endswith(("--memory-limit", "--max-size", "--max-memory")):
                self.assertRegex(option["description"], "MB", name)
            if name.endswith("--min-sqnr"):
                self.assertIn("dB", option["description"], name)

    def test_choices_are_listed_once(self):
        for name, option in self.options():
            listed = re.search(r"\{([^{}]+)\}", option["value"] or "")
            if listed:
                self.assertNotIn(listed.group(1).replace(",", "|"), option["description"], name)

    def test_no_library_speaks(self):
        for words, _ in commands():
            if words == ["enhance"]:
                continue
            text = run(*words, "--help").stdout
            for foreign in ("NONNEGATIVE", "POSITIVE", " in [", "INT:INT", "Display program", "(=1000b)"):
                self.assertNotIn(foreign, text, words)
            self.assertLessEqual(max(len(line) for line in text.splitlines()), 80, words)

    def test_messages_name_the_whole_command(self):
        for words, row in commands():
            if words in (["enhance"], ["db"]):
                continue
            said = run(*words, "--no-such-option")
            self.assertEqual(said.returncode, 2)
            self.assertTrue(said.stderr.startswith(f"fettle: {' '.join(words)}: unknown option"), said.stderr)
            if any(option["positional"] and option["required"] for option in row["options"]):
                said = run(*words)
                self.assertEqual(said.returncode, 2)
                self.assertRegex(said.stderr, rf"^fettle: {' '.join(words)}: .* is required \(fettle {' '.join(words)} --help\)\n$")
        for words, text in ((("db", "list", "x"), "db list: 'x' is one argument too many"),
                            (("db", "prune"), "db prune: at least one of --kernel, --device, --build, --older-than, --max-size is required"),
                            (("db", "import", "nowhere"), "nowhere: no such file")):
            self.assertIn(text, run(*words).stderr)

    def test_files_that_are_not_there_are_told_in_one_way(self):
        for code, text, words in ((3, "none.onnx: no such file", ("run", "none.onnx")), (3, "none.json: no such file", ("tune-kernel", "none.json")),
                                  (3, "none: no such file", ("plan", "--problem", "none")), (3, "none: no such file", ("peak", "--compare", "none")),
                                  (3, "none: no such file", ("db", "merge", "none"))):
            said = run(*words)
            self.assertEqual((said.returncode, said.stderr), (code, f"fettle: {text}\n"))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([DEMO, folder], check=True, timeout=60)
            model = f"{folder}/enhance_x2.onnx"
            for words in (("plan", model, "--costs", "none.db"), ("run", model, "--labels", "none"), ("run", model, "-i", "none.npy")):
                said = run(*words)
                self.assertEqual(said.returncode, 3)
                self.assertRegex(said.stderr, r"none(\.db|\.npy)?: no such file\n$")
            # Before any time is spent.
            for words in (("tune", model, "-o"), ("report", model, "-o"), ("advise", model, "--apply"), ("quantise", model, "--data", model, "-o")):
                said = run(*words, f"{folder}/none/a")
                self.assertEqual(said.returncode, 1, said.stderr)
                self.assertTrue(said.stderr.endswith("none/a: cannot be written: no such folder\n"), said.stderr)

    def test_enhance_is_found_on_the_path(self):
        """As where a wheel's program, which has none beside it, hides another."""
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy2(FETTLE, folder)
            elsewhere = pathlib.Path(folder, "elsewhere", "fettle-enhance")
            elsewhere.parent.mkdir()
            environment = {**os.environ, "PATH": str(elsewhere.parent)}
            line = [alone, "enhance", "a.mp4", "-o", "b.mp4"]
            none = subprocess.run(line, capture_output=True, text=True, timeout=60, env=environment)
            self.assertEqual(none.returncode, 4)
            self.assertIn("fettle-enhance is neither beside fettle nor on the PATH", none.stderr)
            elsewhere.write_text("#!/bin/sh\necho found \"$@\"\n")
            elsewhere.chmod(0o755)
            found = subprocess.run(line, capture_output=True, text=True, timeout=60, env=environment)
            self.assertEqual(found.stdout, "found a.mp4 -o b.mp4\n", found.stderr)

    def test_the_demo_writes_nothing_for_a_wrong_word(self):
        for words, code in ((["--help"], 0), (["-x"], 2), ([], 2), (["--before-after", "a.png"], 2)):
            said = subprocess.run([DEMO, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(said.returncode, code, words)
            self.assertIn("usage: fettle-demo DIR", said.stdout if code == 0 else said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
