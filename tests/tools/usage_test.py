"""What the program says of a command line, and where its output goes. usage: usage_test.py FETTLE FETTLE_DEMO"""

import fcntl
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
CLI_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md"
SMALL = ["--shape", "picture=1x3x8x12"]


def environment(extra=None):
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith("FETTLE_") and key not in ("COLUMNS", "NO_COLOR")}
    # Named: builds for debugging keep what they learn to themselves otherwise.
    return {**kept, "FETTLE_CACHE": os.getcwd() + "/cache", **(extra or {})}


def run(*arguments, env=None, data=None):
    return subprocess.run([FETTLE, *arguments], capture_output=True, text=data is None, env=environment(env), input=data,
                          timeout=300)


class Usage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([DEMO, cls.folder.name], check=True)
        os.chdir(cls.folder.name)
        cls.model = "enhance_x2.onnx"
        # The same network with names that no table has room for.
        model = pathlib.Path(cls.model).read_bytes()
        cls.long_names = "long.onnx"
        pathlib.Path(cls.long_names).write_bytes(with_long_names(model))

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def says(self, code, text, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(text, result.stderr)
        return result

    def test_a_refusal_is_told_once_for_all_groups_that_it_is_true_of(self):
        explain = ("plan", self.model, *SMALL, "--no-cache", "--explain")
        nodes = json.loads(run(*explain, "--json").stdout)["nodes"]
        text = run(*explain, "--wide").stdout
        lines = [line.removeprefix("  not ").split(": ", 1) for line in text.splitlines()
                 if line.startswith("  not ") and "of other operators" not in line]
        told = {(kernel, reason) for kernels, reason in lines for kernel in kernels.split(", ")}
        # Kernels of other operators are counted in one line of each block.
        of_others = re.compile("computes .* only")
        self.assertEqual({row for row in told if "of other operators" not in row[0]},
                         {(one["kernel"], one["reason"]) for node in nodes for one in node["rejected"]
                          if not of_others.match(one["reason"])})
        self.assertIn(" of other operators (--json names them)", text)
        self.assertNotRegex(text, "computes .* only")
        self.assertIn("all groups\n  not cpu.", text)
        self.assertLess(2 * len(lines), sum(len(node["rejected"]) for node in nodes))

    def test_misspelt_words_are_answered_by_the_nearest(self):
        self.says(2, "unknown command 'benhc'; did you mean 'bench'?", "benhc", self.model)
        self.says(2, "unknown command 'lsit'; did you mean 'list'?", "db", "lsit")
        self.says(2, "unknown command 'frobnicate'; there are ", "frobnicate")
        self.says(2, "unknown option '-x' (", "db", "export", "-x")
        self.says(2, "unknown option '-o'; the file is a word of its own: fettle db export FILE", "db", "export", "-o", "a")
        self.says(2, "--level: expected wide|none|", "tune", self.model, "--level", "wid")
        self.says(2, "--max-size: expected a size such as 8MB, 1GB or 4096, got 'abc'", "db", "prune", "--max-size", "abc")
        self.says(2, "--json: takes no value", "run", self.model, "--json=maybe")
        self.says(2, "run: a flag takes no value", "run", self.model, "--wide=a\nb")
        self.says(3, "has no input 'pictur'; it has 'picture'", "run", self.model, "--shape", "pictur=1x3x8x8")
        self.says(3, "expected 1x3x(height)x(width), got 1x4x8x8", "run", self.model, "--shape", "picture=1x4x8x8")
        self.says(3, "layout 'NHWX': no tensor of this model can have it; there are 'NHWC'", "plan", self.model, *SMALL,
                  "--solver", "single:NHWX")
        for name, text in (("a.gif", "pictures are written as .png or .jpg"), ("a.npz", "arrays are written as .npy, each in a")):
            self.says(2, f"-o {name}: {text}", "run", self.model, *SMALL, "-o", name)
        self.says(2, "got 'a\\nb\\x1b'", "plan", self.model, "--sort", "a\nb\x1b")
        self.says(2, "run: unknown option '--preciison'; did you mean '--precision'?", "run", self.model,
                  "--preciison", "low")
        # The option is to blame, not what is missing or too much besides.
        for arguments in (("run", "--itres", "3"), ("run", "--itres", "3", self.model), ("run", self.model, "--itres=3")):
            self.assertNotIn("MODEL", self.says(2, "unknown option '--itres'; did you mean '--iters'?", *arguments).stderr)
        self.says(2, "MODEL", "run")
        # Values that look like options belong to the options before them.
        self.says(3, "--no-such.npy", "run", self.model, "-i", "--no-such.npy")

    def test_help_and_version_in_every_spelling(self):
        version = run("--version").stdout
        self.assertRegex(version, r"^\d+\.\d+\.\d+\n$")
        for words in (("version",), ("run", "--version"), ("db", "list", "--version")):
            self.assertEqual(run(*words).stdout, version)
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertEqual(run("help", "db", "list").stdout, run("db", "list", "--help").stdout)
        self.assertIn("--labels", run("help", "run").stdout)
        listed = re.findall(r"^  ([a-z-]+)  ", run("help").stdout.split("Subcommands:")[1], re.M)
        self.assertEqual(len(listed), 19)
        self.assertNotIn("compile-worker", listed)

    def test_shells_complete_commands_options_and_values(self):
        script = run("completion", "bash").stdout

        def completed(*words):
            quoted = " ".join(shlex.quote(word) for word in ("fettle", *words))
            line = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _fettle_words; echo \"${{COMPREPLY[@]}}\""
            return subprocess.run(["bash", "-c", script + line], capture_output=True, text=True, check=True).stdout.split()

        self.assertEqual(completed("be"), ["bench"])
        self.assertEqual(completed("tune-kernel", "--strat"), ["--strategy"])
        self.assertEqual(completed("--json", "db", "ver"), ["verify"])
        self.assertEqual(completed("run", "m.onnx", "--precision", ""), ["high", "normal", "low"])
        self.assertIn("portfolio", completed("tune-kernel", "k.json", "--strategy", ""))
        self.assertNotIn("compile-worker", completed(""))
        self.says(2, "SHELL", "completion", "csh")

    def test_the_pages_of_packages_have_every_option(self):
        whole = json.loads(run("--help", "--json").stdout)
        fish = run("completion", "fish").stdout
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("manual", folder).returncode, 0)
            pages = {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}
        self.assertEqual(set(pages), {"fettle.1"} | {f"fettle-{command['command']}.1" for command in whole["commands"]})
        for command in whole["commands"]:
            page = pages[f"fettle-{command['command']}.1"]
            for option in command["options"] + [option for sub in command["commands"] for option in sub["options"]]:
                name = option["names"][0]
                if not option["has_effect"]:
                    continue
                self.assertIn(name.replace("-", "\\-"), page, command["command"])
                if name.startswith("--"):
                    self.assertRegex(fish, rf"seen_subcommand_from {command['command']}\b.* -l {name[2:]}\b")
        for shell, words in (("fish", ["-n"]), ("zsh", ["-n"])):
            if shutil.which(shell):
                script = run("completion", shell).stdout
                done = subprocess.run([shell, *words, "/dev/stdin"], input=script, text=True, capture_output=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)
        self.says(1, "nowhere", "manual", "nowhere/at/all")

    def test_help_is_a_document_too(self):
        whole = json.loads(run("--help", "--json").stdout)
        self.assertEqual([command["command"] for command in whole["commands"]],
                         re.findall(r"^  ([a-z-]+)  ", run("help").stdout.split("Subcommands:")[1], re.M))
        for words in (("run", "--help", "--json"), ("help", "run", "--json")):
            self.assertEqual(json.loads(run(*words).stdout), whole["commands"][0])
        options = {option["names"][0]: option for option in whole["commands"][0]["options"]}
        self.assertEqual((options["--threads"]["variable"], options["--threads"]["has_effect"]), ("FETTLE_THREADS", True))
        self.assertEqual((options["--strict"]["value"], options["MODEL"]["required"]), (None, True))
        self.assertEqual(options["--layout-transform-dump"]["needs"], ["--layout-transform"])
        self.assertIn("--output", options)
        (shape,) = (option for option in json.loads(run("devices", "--help", "--json").stdout)["options"]
                    if option["names"] == ["--shape"])
        self.assertFalse(shape["has_effect"])

    def test_output_that_cannot_be_written_is_a_failure(self):
        for arguments in (["--help"], ["run", "--help"], ["version"], ["devices"], ["inspect", self.model, "--json"],
                          ["run", self.model, "--shape", "picture=1x3x64x64", "-o", "-"]):  # more than a buffer
            with open("/dev/full", "w") as full:
                result = subprocess.run([FETTLE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, env=environment())
            self.assertEqual(result.returncode, 1, arguments)
            self.assertEqual(result.stderr.count("standard output"), 1, result.stderr)

    def test_messages_that_cannot_be_written_end_nothing(self):
        with open("/dev/full", "w") as full:
            for arguments in (["run", self.model, "-o", "quiet.npy"], ["run", "missing.onnx"]):  # a warning, a failure
                result = subprocess.run([FETTLE, *arguments], stdout=subprocess.PIPE, stderr=full, env=environment())
                self.assertEqual(result.returncode, 0 if "-o" in arguments else 3)
        self.assertTrue(os.path.exists("quiet.npy"))

    def test_files_take_no_place_of_closed_streams(self):
        # Without streams to hold their numbers, the output would be number 2, and warnings would be written into it.
        for closed in ("2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
            result = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", FETTLE, "run", self.model, "-o", "closed.raw"],
                                    stdout=subprocess.DEVNULL, env=environment())
            self.assertEqual(result.returncode, 1 if ">&- 2" in closed else 0, closed)
            self.assertEqual(os.path.getsize("closed.raw"), 3 * 2 * 2 * 4, closed)

    def test_places_are_looked_at_before_long_work(self):
        # The model is not there either: only what is looked at first is told.
        for arguments in (("tune", "none.onnx"), ("report", "none.onnx"), ("quantise", "none.onnx", "--data", "none.png"),
                          ("tune-kernel", "none.json")):
            for place, why in (("no/folder/out", "cannot be written: no such folder"), (".", "Is a directory")):
                result = run(*arguments, "-o", place)
                if result.returncode != 4:  # a build without pages
                    # A model's place is named as an input is.
                    is_model = arguments[0] == "quantise" and place == "."
                    self.assertEqual(result.returncode, 3 if is_model else 1, result.stderr)
                    self.assertIn(f"{place}: ", result.stderr)
                    self.assertIn("is a folder" if is_model else why, result.stderr)
        self.assertIn(run("report", "none.onnx", "-o", "page.html").returncode, (3, 4))
        self.assertFalse(os.path.exists("page.html"))

    def test_failures_are_documents_too(self):
        usage = (2, "invalid argument")
        for (code, status), arguments in ((usage, ("run", "--no-such")), (usage, ("frobnicate",)),
                                          (usage, ("run", self.model, "--threads", "x")),
                                          ((3, "not found"), ("run", "missing.onnx")),
                                          ((3, "not found"), ("db", "info", "--cache", "nowhere")),
                                          ((4, "unsupported"), ("run", self.model, "--memory", "image"))):
            result = run(*arguments, "--json")
            self.assertEqual(result.returncode, code, result.stderr)
            error = json.loads(result.stdout)["error"]
            self.assertEqual((error["exit_code"], error["status"]), (code, status))
            self.assertIn(error["message"], result.stderr)
        result = run("run", "missing.onnx", env={"FETTLE_JSON": "1"})
        self.assertEqual(json.loads(result.stdout)["error"]["exit_code"], 3)
        self.assertEqual(run("run", "missing.onnx").stdout, "")

    def test_messages_name_what_was_used(self):
        self.says(2, "FETTLE_THREADS", "run", self.model, env={"FETTLE_THREADS": "many"})
        self.says(2, "--threads", "run", self.model, "--threads", "many", env={"FETTLE_THREADS": "2"})
        self.says(2, "--iter:", "run", self.model, "--iter", "0")
        self.says(4, "FETTLE_MEMORY", "run", self.model, env={"FETTLE_MEMORY": "image"})
        report = json.loads(run("run", self.model, *SMALL, "--json", env={"FETTLE_PRECISION": "low"}).stdout)
        warned = any("FETTLE_PRECISION low" in warning for warning in report["warnings"])
        self.assertEqual(warned, report["precision"]["device"] == "high", report)

    def test_values_say_what_was_expected(self):
        for option, wanted, values in (("--threads", "a whole number of 0 to 1024", ("-1", "1025", "2.5", "nan")),
                                       ("--precision", "high|normal|low", ("best", "HIGH")),
                                       ("--kernel-ms", "a number of 0 or more", ("-1", "nan", "inf", "1e400")),
                                       ("--queue-window", "a whole number of 0 or more", ("-1", "99999999999999999999")),
                                       ("--seed", "a whole number of 0 or more", ("-1", "x", "99999999999999999999")),
                                       ("--shape", "NAME=1x3x224x224", ("1x3",))):
            for value in values:
                result = self.says(2, f"{option}: expected {wanted}, got '{value}'\n", "run", self.model, f"{option}={value}")
                self.assertEqual(result.stderr.count("\n"), 1)
        for arguments in (("bench", self.model, "--seconds"), ("compare", self.model, "--atol"), ("tune", self.model, "--budget"),
                          ("gemm", "--alpha"), ("plan", self.model, "--min-sqnr")):
            for value in ("nan", "inf"):
                self.says(2, f"got '{value}'", *arguments, value)
        self.says(2, "run: 'b.onnx' is one argument too many\n", "run", self.model, "b.onnx", "c.onnx")
        self.says(2, "--iters: given more than once\n", "run", self.model, "--iters", "2", "--iters", "3")
        self.says(2, "--threads: a value is missing\n", "run", self.model, "--threads")
        self.says(2, "a command is required: run, bench, ")
        self.says(2, "a command is required: info, list, ", "db")
        self.says(3, "-o: a file name is missing", "run", self.model, *SMALL, "-o", "")
        self.says(3, "input 'picture': a file name is missing", "run", self.model, *SMALL, "-i", "picture=")

    def test_folders_and_devices_are_no_text(self):
        for place in (".", "/dev/zero"):
            for arguments in (("run", self.model, *SMALL, "--labels", place), ("test", ".", "--skip-list", place),
                              ("bench", self.model, *SMALL, "--compare", place), ("peak", "--only", "clock", "--compare", place)):
                self.says(3, f"{place}: not a regular file", *arguments)

    def test_options_without_effect_say_so(self):
        for option, arguments in (("--seed", ("inspect", self.model, "--seed", "3")),
                                  ("--threads", ("inspect", self.model, "--threads", "3")),
                                  ("--shape", ("devices", "--shape", "x=1")),
                                  ("--top", ("run", self.model, *SMALL, "--top", "3")),
                                  ("--preprocess", ("run", self.model, *SMALL, "--preprocess", "none")),
                                  ("--svm", ("run", self.model, *SMALL, "--svm", "fine")),
                                  ("--kernel-ms", ("run", self.model, *SMALL, "--kernel-ms", "2")),
                                  ("--packed-weights", ("tune", self.model, *SMALL, "--level", "none", "--no-package",
                                                        "--packed-weights"))):
            self.assertRegex(self.says(0, "warning", *arguments).stderr, option)
        self.assertEqual(run("inspect", self.model, *SMALL).stderr, "")

    def test_one_output_is_one_file(self):
        self.assertEqual(run("run", self.model, *SMALL, "-o", "out.npy").returncode, 0)
        self.assertEqual(run("run", self.model, *SMALL, "-o", "out.raw").returncode, 0)
        self.assertEqual(run("run", self.model, *SMALL, "-o", "plain").returncode, 0)
        raw = pathlib.Path("out.raw").read_bytes()
        self.assertEqual(len(raw), 3 * 16 * 24 * 4)
        self.assertEqual(pathlib.Path("plain").read_bytes(), raw)
        self.assertTrue(pathlib.Path("out.npy").read_bytes().endswith(raw))
        piped = run("run", self.model, *SMALL, "-o", "-", data=b"")
        self.assertEqual(piped.stdout, raw)
        self.says(2, "-o -", "run", self.model, *SMALL, "-o", "-", "--json")
        self.assertEqual(run("run", self.model, *SMALL, "-o", "folder/").returncode, 0)
        self.assertTrue(pathlib.Path("folder/enhanced.npy").exists())
        self.assertEqual(run("run", self.model, *SMALL, "-o", "folder").returncode, 0)
        self.says(2, ".png or .jpg", "run", self.model, *SMALL, "-o", "out.gif")
        self.says(3, "'enhanced' has two files, one.npy and two.npy", "run", self.model, *SMALL, "-o", "one.npy", "-o",
                  "enhanced=two.npy")
        self.says(3, "two folders, one/ and two/", "run", self.model, *SMALL, "-o", "one/", "-o", "two/")

    def test_models_from_standard_input(self):
        data = pathlib.Path(self.model).read_bytes()
        result = run("inspect", "-", "--json", data=data)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["ops"], {"Resize": 1, "Pad": 1, "Conv": 1, "Clip": 1})
        result = run("run", "-", data=data[:300])
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"standard input", result.stderr)

    def test_numbers_that_are_none_are_null(self):
        report = json.loads(run("run", self.model, *SMALL, "-i", "picture=const:nan", "--json").stdout)
        (output,) = report["outputs"]
        if output["nonfinite"] == 3 * 16 * 24:
            self.assertEqual((output["min"], output["max"], output["mean"]), (None, None, None))
        (given,) = report["inputs"]
        self.assertEqual(given["dtype"], "f32")

    def commands(self):
        """Every command that prints tables, on names that are too long for any of them."""
        run("tune", self.long_names, *SMALL, "--level", "fast", "-o", "long.fettle", "--threads", "1")
        return [("run", self.long_names, *SMALL), ("run", self.long_names, *SMALL, "-o", "a" * 60 + "/"),
                ("bench", self.long_names, *SMALL, "--iters", "2"),
                ("bench", self.long_names, *SMALL, "--iters", "2", "--profile"),
                ("compare", self.long_names, *SMALL), ("inspect", self.long_names, *SMALL, "--ops", "--tensors"),
                ("inspect", "long.fettle"), ("plan", self.long_names, *SMALL), ("devices",), ("peak", "--only", "fp32"),
                ("plan", self.long_names, *SMALL, "--explain"), ("tune", self.long_names, *SMALL, "--no-package"),
                ("gemm", "--ladder", "--m", "33", "--n", "47", "--k", "65", "--warmup", "0", "--iters", "1"),
                ("gemm", "--m", "33", "--n", "47", "--k", "65", "--dtype", "i8", "--warmup", "0", "--iters", "1"),
                ("db", "info"), ("db", "list"), ("db", "verify")]

    def test_a_package_of_the_cpu_is_tuned_without_measuring(self):
        run("tune", self.model, *SMALL, "--level", "fast", "-o", "again.fettle")
        done = run("tune", "again.fettle", *SMALL, "--level", "none", "--no-package")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_tables_fit_80_columns(self):
        for arguments in (*self.commands(), ("--help",), ("tune", "--help"), ("bench", "--help")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            # A line that ends in a path is as long as the path, which is to be copied.
            lines = [line for line in result.stdout.splitlines() if not line.endswith("/enhanced.npy")]
            widest = max(lines, key=len)
            self.assertLessEqual(len(widest), 80, (arguments, widest))
        where = run("run", self.long_names, *SMALL, "-o", "a" * 60 + "/").stdout
        self.assertIn("out enhanced: " + "a" * 60 + "/enhanced.npy\n", where)
        for arguments in (("bench", self.long_names, *SMALL, "--iters", "2", "--profile"), ("plan", self.long_names, *SMALL)):
            self.assertIn("…", run(*arguments).stdout)
            self.assertIn("very_long_name_" * 12, run(*arguments, "--wide").stdout)
            self.assertIn("very_long_name_" * 12, run(*arguments, "--json").stdout)
            for width in (70, 60):
                narrow = run(*arguments, env={"COLUMNS": str(width)}).stdout
                self.assertLessEqual(max(len(line) for line in narrow.splitlines()), width, narrow)

    def terminal(self, width, *arguments, env=None):
        """What the program writes to a terminal of `width` columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        process = subprocess.Popen([FETTLE, *arguments], stdout=slave, stderr=slave, env=environment(env))
        os.close(slave)
        written = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            written += piece
        os.close(master)
        self.assertEqual(process.wait(), 0, written)
        return written.decode()

    def test_tables_are_as_wide_as_the_terminal(self):
        arguments = ("plan", self.long_names, *SMALL)
        for width in (64, 132):
            lines = self.terminal(width, *arguments).splitlines()
            self.assertTrue(width - 12 <= max(len(line) for line in lines) <= width, lines)

    def test_escape_codes_only_where_they_are_taken(self):
        arguments = ("bench", self.model, *SMALL, "--seconds", "0.5")
        self.assertIn("\x1b[K", self.terminal(80, *arguments, env={"TERM": "xterm"}))
        self.assertNotIn("\x1b", self.terminal(80, *arguments, env={"TERM": "dumb"}))
        self.assertNotIn("\x1b", self.terminal(80, *arguments, env={"TERM": "xterm", "NO_COLOR": "1"}))

    def test_sort(self):
        def column(title, *arguments):
            lines = run(*arguments, "--wide").stdout.splitlines()
            first = next(i for i, line in enumerate(lines) if line.startswith("node "))
            rows = []
            for line in lines[first + 1:]:
                if not line.strip():
                    break
                rows.append(re.split(r"  +", line))
            return [row[re.split(r"  +", lines[first]).index(title)] for row in rows]

        profile = ("bench", self.model, *SMALL, "--iters", "3", "--profile")
        times = [float(ms) for ms in column("ms", *profile, "--sort", "time")]
        self.assertEqual(times, sorted(times, reverse=True))
        names = column("node", *profile, "--sort", "name")
        self.assertEqual(names, sorted(names))
        lost = [float(ms) for ms in column("lost ms", *profile)]
        self.assertEqual(lost, sorted(lost, reverse=True))
        self.assertEqual(sorted(column("node", *profile)), sorted(column("node", *profile, "--sort", "order")))
        plan = column("us", "plan", self.model, *SMALL, "--no-cache", "--sort", "time")
        plan = [float(us.lstrip("~")) for us in plan]
        self.assertEqual(plan, sorted(plan, reverse=True))
        self.says(2, "--sort", "plan", self.model, "--sort", "size")

    def test_no_share_of_the_roofline_over_all_of_it(self):
        # Whatever else runs while ceilings are measured makes them too low; the next ones are measured anew.
        for _ in range(4):
            report = json.loads(run("bench", self.model, "--shape", "picture=1x3x96x128", "--iters", "20", "--json", "--no-cache").stdout)
            over = [part for part in [report, *report["ops"]] if part["roofline_share"] > 1]
            if not over:
                break
        self.assertEqual(over, [])
        self.assertTrue(any(op["roofline_share"] > 0 for op in report["ops"]))

    def test_one_is_singular(self):
        said = run("bench", self.model, *SMALL, "--iters", "1", "--threads", "1").stdout
        self.assertIn("1 run ", said)
        self.assertIn("1 thread)", said)

    def test_precision_is_said(self):
        for arguments in (("tune", self.model, *SMALL, "--no-package", "--level", "none"), ("plan", self.model, *SMALL),
                          ("peak", "--only", "fp32"), ("bench", self.model, *SMALL, "--iters", "1"), ("run", self.model, *SMALL),
                          ("inspect", self.model), ("compare", self.model, *SMALL)):
            # A CPU that multiplies bf16 allows normal.
            self.assertRegex(re.sub(r"\s+", " ", run(*arguments).stdout),
                             "precision: wanted high, device (high|normal), used high", arguments)
            precision = json.loads(run(*arguments, "--json").stdout)["precision"]
            self.assertIn(precision.pop("device"), ("high", "normal"))
            self.assertEqual(precision, {"wanted": "high", "used": "high", "reason": None, "fp32_layers": []})

    def test_documents_are_as_the_page_says(self):
        fields = documented_fields(CLI_PAGE.read_text())
        run("tune", self.model, *SMALL, "--level", "fast", "-o", "small.fettle", "--threads", "1")
        pathlib.Path("case/test_data_set_0").mkdir(parents=True, exist_ok=True)
        pathlib.Path("case/model.onnx").write_bytes(pathlib.Path(self.model).read_bytes())
        run("run", self.model, *SMALL, "-o", "picture=case/test_data_set_0/input_0.pb", "-o",
            "enhanced=case/test_data_set_0/output_0.pb")
        pathlib.Path("labels.txt").write_text("a\nb\n")
        run("run", self.model, *SMALL, "-o", "picture=data.npy")
        checked = set()
        for name, arguments in (
                ("run", ("run", self.model, *SMALL)), ("run", ("run", self.model, *SMALL, "--labels", "labels.txt")),
                ("bench", ("bench", self.model, *SMALL, "--iters", "2")), ("test", ("test", "case")),
                ("compare", ("compare", self.model, *SMALL)), ("inspect", ("inspect", self.model)),
                ("inspect", ("inspect", "small.fettle", "--tensors")), ("tune", ("tune", self.model, *SMALL, "--no-package")),
                ("plan", ("plan", self.model, *SMALL)), ("devices", ("devices",)), ("peak", ("peak", "--only", "fp")),
                ("completion", ("completion", "zsh")),
                ("quantise", ("quantise", self.model, "--data", "data.npy", "-o", "small_int8.onnx")),
                ("db info", ("db", "info")), ("db list", ("db", "list")), ("db verify", ("db", "verify")),
                ("db export", ("db", "export", "rows.jsonl")), ("db import", ("db", "import", "rows.jsonl")),
                ("db merge", ("db", "merge", "cache/tuning.db", "--cache", "other")), ("db train", ("db", "train", "--cache", "other")),
                ("db prune", ("db", "prune", "--kernel", "none")), ("gemm", ("gemm", "--m", "5", "--iters", "1", "--evals", "0")),
                ("--help", ("--help",)), ("--help", ("db", "list", "--help"))):
            result = run(*arguments, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.agree(name, fields[name], json.loads(result.stdout))
            checked.add(name)
        # `enhance` is checked by tests/enhance, the others by scripts/check-cli.
        self.assertEqual(set(fields) - checked, {"tune-kernel", "tune-kernel --replay", "plan --problem", "--remote", "plan --problem CONTEST",
                                                 "enhance", "generate", "bench --generate", "bench --solver", "report", "advise", "sweep", "quantise MODEL.gguf"})

    def agree(self, where, wanted, got):
        """`got` holds the fields of `wanted` ({name: (optional, is list, fields)}) and no other."""
        self.assertIsInstance(got, dict, where)
        missing = {name for name, (optional, _, _) in wanted.items() if not optional} - set(got)
        self.assertEqual((missing, set(got) - set(wanted)), (set(), set()), where)
        for name, (_, is_list, inner) in wanted.items():
            if name not in got or got[name] is None:
                continue
            if is_list:
                self.assertIsInstance(got[name], list, f"{where} {name}")
            if inner:
                for item in got[name] if is_list else [got[name]]:
                    self.agree(f"{where} {name}", inner, item)


SHARED = {"precision": "wanted, device, used, reason, fp32_layers[]", "device": "kind, name, threads, cores?, fingerprint?"}


def parse_fields(text, top=True):
    """{name: (optional, is list, fields or None)} of "a, b[] {c, d}, e?"."""
    fields, at = {}, 0
    while at < len(text):
        match = re.compile(r"(\w+)(\?)?(\[\])?\s*").match(text, at)
        name, optional, is_list = match.group(1), bool(match.group(2)), bool(match.group(3))
        at, inner = match.end(), None
        if text[at:at + 1] == "{":
            end, depth = at, 0
            while end == at or depth > 0:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            inner = parse_fields(text[at + 1:end - 1].strip(), top=False)
            at = end
        elif top and name in SHARED:
            inner = parse_fields(SHARED[name], top=False)
        fields[name] = (optional, is_list, inner)
        at = re.compile(r"\s*,?\s*").match(text, at).end()
    return fields


def documented_fields(page):
    """The table below `## Fields`, by command."""
    section = page.split("## Fields")[1].split("\n## ")[0]
    return {command: parse_fields(text) for command, text in re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", section, re.M)}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def encoded(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def with_fields(message, field, change):
    """The protobuf message with `change` of each of its sub-messages of that number."""
    out, at = bytearray(), 0
    while at < len(message):
        begin = at
        tag, at = varint(message, at)
        if tag & 7 == 2:
            size, at = varint(message, at)
            at += size
            if tag >> 3 == field:
                piece = change(message[at - size:at])
                out += encoded(tag) + encoded(len(piece)) + piece
                continue
        else:
            at = varint(message, at)[1] if tag & 7 == 0 else at + (8 if tag & 7 == 1 else 4)
        out += message[begin:at]
    return bytes(out)


def with_long_names(model):
    """The ONNX model with a name of 187 letters for each node."""
    count = 0

    def named(node):
        nonlocal count
        count += 1
        name = b"node_%d_" % count + b"very_long_name_" * 12
        return node + b"\x1a" + encoded(len(name)) + name

    return with_fields(model, 7, lambda graph: with_fields(graph, 1, named))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
