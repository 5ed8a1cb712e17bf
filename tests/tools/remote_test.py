#!/usr/bin/env python3
"""--remote against a real sshd on the loopback address, an ssh and an adb of our own: remote_test.py FETTLE FETTLE_DEMO RUNNERS

The sshd is this user's, with its own keys and configuration in a temporary folder; its part is skipped where
openssh-server is not installed. What stands for adb does what the real one is called with, and writes that down."""

import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FETTLE, DEMO, RUNNERS = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
SMALL = ["--shape", "picture=1x3x24x32"]
MODEL = "enhance_x2.onnx"
CUTS = int(os.environ.get("FETTLE_CUT_LINKS", "4"))
AARCH64 = os.environ.get("FETTLE_AARCH64_RUNNER")
SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")

# Runs what it is given as the remote end does, in a shell of its own.
SSH_DOUBLE = """#!/bin/sh
for command; do :; done
export TMPDIR="$DOUBLE/target"
exec sh -c "$command"
"""

# The same, but it dies half-way through the commands whose numbers $DOUBLE/break holds, counted over all links.
BREAKING_SSH_DOUBLE = f"""#!{sys.executable}
import os, pathlib, subprocess, sys, threading
place = pathlib.Path(os.environ["DOUBLE"])
shell = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env=os.environ | dict(TMPDIR=str(place / "target")))
breaking = threading.Event()

def listen():
    while some := os.read(0, 1 << 16):
        if b"\\nfettle-go\\n" in some:
            with open(place / "count", "a+") as count:
                count.write("x")
                if str(count.tell()) in (place / "break").read_text().split():
                    breaking.set()
        shell.stdin.write(some)
        shell.stdin.flush()
    shell.stdin.close()

threading.Thread(target=listen, daemon=True).start()
while some := os.read(shell.stdout.fileno(), 1 << 16):
    if breaking.is_set():
        os.write(1, some[:5])
        shell.kill()
        os.write(2, b"client_loop: send disconnect: Broken pipe\\n")
        os._exit(255)
    os.write(1, some)
"""

ADB_DOUBLE = """#!/bin/sh
echo "$*" | cut -c -60 >>"$DOUBLE/adb.log"
[ "$1 $2" = "-s emulator-5554" ] || { echo "adb: device '$2' not found" >&2; exit 1; }
case $3 in
  shell) TMPDIR="$DOUBLE/target" sh -c "$4" ;;
  push) cp "$4" "$5" && echo "$4: 1 file pushed" ;;
  pull) cp "$4" "$5" && echo "$4: 1 file pulled" ;;
  *) exit 1 ;;
esac
"""


class Remote(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name)
        for name in ("bin", "target", "work", "scratch"):
            (self.place / name).mkdir()
        os.chdir(self.place / "work")
        self.addCleanup(os.chdir, "/")
        subprocess.run([DEMO, "."], check=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("FETTLE_")}
        self.environment |= {"PATH": f"{self.place}/bin:{os.environ['PATH']}", "TMPDIR": str(self.place / "scratch"),
                             "DOUBLE": str(self.place), "FETTLE_CACHE": str(self.place / "cache"), "FETTLE_RUNNER": RUNNERS}

    def install(self, name, text):
        path = self.place / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def start(self, *words):
        return subprocess.Popen([FETTLE, *words, "--json"], env=self.environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def finish(self, process, code=0):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, err)
        return json.loads(out), err

    def run_json(self, *words, code=0):
        return self.finish(self.start(*words), code)

    def tune(self, target, *words, code=0):
        document, _ = self.run_json("tune", MODEL, *SMALL, "--level", "fast", "--remote", target, *words, code=code)
        return document["remotes"][0]

    def left_behind(self):
        """Files on the target, and processes of its jobs, once the last loop had time to look."""
        end = time.monotonic() + 5
        while True:
            files = sorted(str(path.relative_to(self.place)) for path in (self.place / "target").rglob("*"))
            listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
            processes = [line for line in listed.splitlines() if str(self.place / "target") in line]
            if not files and not processes or time.monotonic() > end:
                return files + processes
            time.sleep(0.1)


class WithSsh(Remote):
    """A double that runs commands here: the same lines, no network."""

    def setUp(self):
        super().setUp()
        self.install("ssh", SSH_DOUBLE)

    def test_one_command_ends_with_a_package_that_runs_there(self):
        row = self.tune("ssh:board")
        self.assertEqual(row["package"], row["document"]["package"])
        self.assertGreater(row["document"]["measured"], 0)
        self.assertEqual(self.left_behind(), [])
        learned = json.loads(subprocess.run([FETTLE, "db", "info", "--json"], env=self.environment, capture_output=True).stdout)
        self.assertGreaterEqual(learned["rows"], row["document"]["measured"])
        document, _ = self.run_json("bench", row["package"], *SMALL, "--iters", "2", "--remote", "ssh:board")
        bench = document["remotes"][0]["document"]
        self.assertEqual((bench["measurements"], bench["programs"], bench["plan"]), (0, None, "package"))
        self.assertEqual(bench["model"], row["package"])

    def test_the_commands_print_one_table(self):
        for words, column in ((["bench", MODEL, *SMALL, "--iters", "2"], "median ms"),
                              (["compare", MODEL, *SMALL, "-i", "picture=const:0.5", "--outputs-only"], "agrees"),
                              (["peak", "--only", "fp32 fma"], "ceiling")):
            done = subprocess.run([FETTLE, *words, "--remote", "ssh:one", "--remote", "ssh:two"], env=self.environment,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(column, done.stdout)
            for target in ("ssh:one", "ssh:two"):
                self.assertIn(target, done.stdout)
        self.assertEqual(self.left_behind(), [])

    def test_files_of_options_are_sent(self):
        subprocess.run([FETTLE, "run", MODEL, *SMALL, "-o", "picture=picture.npy"], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([FETTLE, "tune", MODEL, *SMALL, "--level", "none", "-o", "it's a.fettle"], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)
        document, _ = self.run_json("compare", MODEL, "-i", "picture=picture.npy", "--against", "it's a.fettle", "--remote", "ssh:b")
        self.assertTrue(document["remotes"][0]["document"]["outputs"][0]["ok"])

    def test_packages_of_equal_devices_are_told_apart(self):
        document, _ = self.run_json("tune", MODEL, *SMALL, "--level", "none", "--remote", "ssh:one", "--remote", "ssh:two",
                                    "-o", "made/")
        packages = {row["package"] for row in document["remotes"]}
        self.assertEqual(len(packages), 2)
        for package in packages:
            self.assertTrue(pathlib.Path(package).is_file())

    def test_links_that_break_in_each_command(self):
        self.install("ssh", BREAKING_SSH_DOUBLE)
        # The second of the eight is the first that may fail: what does not answer at all is a wrong name.
        for at in range(2, 9):
            (self.place / "break").write_text(f"{at} {at + 1}")
            (self.place / "count").unlink(missing_ok=True)
            document, err = self.run_json("bench", MODEL, *SMALL, "--iters", "2", "--remote", "ssh:board")
            self.assertGreaterEqual(document["remotes"][0]["links"], 1, f"command {at}: {err}")
            self.assertIn("the link is broken", err)
            self.assertEqual(self.left_behind(), [], f"command {at}")

    def test_what_is_refused(self):
        for words, code, text in (
                (["--remote", "ftp:board"], 2, "expected ssh:HOST"), (["--remote", "ssh:-oProxyCommand=x"], 2, "expected ssh:HOST"),
                (["--remote", "ssh:a", "--remote", "ssh:a"], 2, "given twice"),
                (["--remote", "ssh:a", "--remote", "ssh:b", "-o", "one.fettle"], 2, "need a folder"),
                (["--remote", "ssh:a", "--runner", "nowhere"], 3, "no such file"),
                (["--remote", "ssh:a", "--runner", "."], 4, "there is no runner for"),
                (["--remote", "adb:x"], 4, "adb: cannot be started" if not shutil.which("adb") else "not found")):
            done = subprocess.run([FETTLE, "tune", MODEL, *SMALL, *words], env=self.environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)
        document, _ = self.run_json("bench", MODEL, *SMALL, "--threads", "1", "--device", "opencl:nowhere", "--strict-device",
                                    "--remote", "ssh:a", code=4)
        self.assertIn("nowhere", document["remotes"][0]["error"])
        self.assertEqual(self.left_behind(), [])

    def test_a_target_that_never_answers_fails_at_once(self):
        self.install("ssh", "#!/bin/sh\necho 'ssh: connect to host board port 22: Connection refused' >&2\nexit 255\n")
        document, _ = self.run_json("bench", MODEL, "--remote", "ssh:board", "--remote-hold", "86400", code=4)
        self.assertIn("Connection refused", document["remotes"][0]["error"])


    def test_a_job_that_nobody_asks_for_is_removed(self):
        process = self.start("bench", MODEL, *SMALL, "--seconds", "600", "--remote", "ssh:board", "--remote-hold", "2")
        self.wait_for_job()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        end = time.monotonic() + 20
        while list((self.place / "target").iterdir()) and time.monotonic() < end:
            time.sleep(0.2)
        self.assertEqual(self.left_behind(), [])

    def wait_for_job(self, seconds=0):
        """Until there is one that has used the processor for so long."""
        end = time.monotonic() + 60
        while not any(used >= seconds for used in self.seconds_of_jobs()):
            self.assertLess(time.monotonic(), end, "no job was started")
            time.sleep(0.05)

    def seconds_of_jobs(self):
        for path in (self.place / "target").glob("*/job.pid"):
            times = pathlib.Path("/proc", path.read_text().strip() or "0", "stat")
            if times.exists():
                yield sum(map(int, times.read_text().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def test_the_same_command_finds_its_job_again(self):
        words = ["bench", MODEL, *SMALL, "--seconds", "600", "--remote", "ssh:board"]
        first = self.start(*words)
        self.wait_for_job()
        job = next((self.place / "target").glob("*/job.pid")).read_text()
        killed = self.start(*words)
        document, _ = self.finish(first, code=1)
        self.assertIn("started again", document["remotes"][0]["error"])
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        second = self.start(*words)
        self.wait_for_job(seconds=2)
        found = [path.read_text() for path in (self.place / "target").glob("*/job.pid")]
        self.assertEqual(found, [job])
        second.send_signal(signal.SIGINT)
        document, _ = self.finish(second, code=1)
        self.assertGreater(document["remotes"][0]["document"]["iterations"], 1)
        self.assertEqual(self.left_behind(), [])

    def test_an_interrupted_job_gives_what_it_has(self):
        process = self.start("bench", MODEL, *SMALL, "--seconds", "600", "--remote", "ssh:board")
        self.wait_for_job(seconds=2)
        process.send_signal(signal.SIGINT)
        document, _ = self.finish(process, code=1)
        self.assertTrue(document["remotes"][0]["document"]["interrupted"])
        self.assertEqual(self.left_behind(), [])


class WithAdb(Remote):
    def setUp(self):
        super().setUp()
        self.install("adb", ADB_DOUBLE)

    def test_the_commands_that_adb_is_given(self):
        row = self.tune("adb:emulator-5554", "--no-package")
        self.assertGreater(row["document"]["measured"], 0)
        lines = (self.place / "adb.log").read_text().splitlines()
        spelled = [re.sub(r"^-s emulator-5554 (push|pull|shell).*", r"\1", line) for line in lines if line.startswith("-s")]
        self.assertEqual([word for word, last in zip(spelled, [""] + spelled) if word != last],
                         ["shell", "push", "shell", "push", "shell", "pull", "shell"])
        self.assertEqual(self.left_behind(), [])

    def test_a_device_that_is_not_there(self):
        document, _ = self.run_json("bench", MODEL, "--remote", "adb:nothing", code=4)
        self.assertIn("device 'nothing' not found", document["remotes"][0]["error"])


@unittest.skipUnless(AARCH64, "no runner for 64-bit ARM (scripts/check --full remote makes one)")
class WithAarch64(Remote):
    """The whole program for 64-bit ARM under qemu-user, with the C library that its runner brings."""

    def setUp(self):
        super().setUp()
        self.install("ssh", SSH_DOUBLE)
        self.install("uname", "#!/bin/sh\necho aarch64\n")
        runner = self.place / "runners" / "aarch64"
        runner.mkdir(parents=True)
        subprocess.run(["tar", "xf", AARCH64, "-C", runner], check=True)
        (runner / "run").write_text('here=${0%/*}\nexec qemu-aarch64 "$here/libc/loader" --library-path "$here/lib:$here/libc" '
                                    '"$here/fettle" "$@"\n')
        subprocess.run(["tar", "cf", "runner.tar", "fettle", "lib", "libc", "run"], cwd=runner, check=True)
        self.environment["FETTLE_RUNNER"] = str(runner.parent)

    def test_another_architecture_is_tuned(self):
        row = self.tune("ssh:board")
        self.assertGreater(row["document"]["measured"], 0)
        document, _ = self.run_json("bench", row["package"], *SMALL, "--iters", "2", "--remote", "ssh:board")
        bench = document["remotes"][0]["document"]
        self.assertEqual((bench["measurements"], bench["programs"], bench["plan"]), (0, None, "package"))
        rows = json.loads(subprocess.run([FETTLE, "db", "list", "--json"], env=self.environment, capture_output=True).stdout)["rows"]
        self.assertTrue(all("neon" in row["device"] for row in rows) and rows)
        document, _ = self.run_json("compare", MODEL, *SMALL, "--remote", "ssh:board")
        self.assertTrue(document["remotes"][0]["document"]["outputs"][0]["ok"])
        self.assertEqual(self.left_behind(), [])


class Runners(unittest.TestCase):
    def test_a_program_with_the_loader_of_android_goes_alone(self):
        """What its system has is not looked for on the PC."""
        loader, android = b"/lib64/ld-linux-x86-64.so.2\0", b"/system/bin/linker64\0"
        program = pathlib.Path(FETTLE).read_bytes()
        if loader not in program:
            self.skipTest("this machine is no x86-64")
        with tempfile.TemporaryDirectory() as folder:
            built = pathlib.Path(folder, "fettle")
            built.write_bytes(program.replace(loader, android.ljust(len(loader), b"\0")))
            runner = subprocess.run([ROOT / "scripts/make-runner", built, folder], capture_output=True, text=True, check=True)
            listed = subprocess.run(["tar", "-tf", runner.stdout.strip()], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual([name for name in listed if not name.endswith("/")], ["./fettle", "./run"])


@unittest.skipUnless(SSHD, "openssh-server is not installed")
class WithSshd(Remote):
    """The real thing on the loopback address."""

    def setUp(self):
        super().setUp()
        keys = self.place / "keys"
        keys.mkdir(mode=0o700)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
        shutil.copy(keys / "user.pub", keys / "authorized_keys")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (keys / "sshd_config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {keys}/host\nPidFile {keys}/sshd.pid\nUsePAM no\nStrictModes no\n"
            f"AuthorizedKeysFile {keys}/authorized_keys\nPermitRootLogin yes\nSetEnv TMPDIR={self.place}/target\n")
        (keys / "ssh_config").write_text(
            f"Host loopback\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n IdentityFile {keys}/user\n"
            f" UserKnownHostsFile {keys}/known\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n")
        self.install("ssh", f"#!/bin/sh\nexec {shutil.which('ssh')} -F {keys}/ssh_config \"$@\"\n")
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.log = open(self.place / "sshd.log", "w")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(keys / "sshd_config")], stderr=self.log)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)

    def connections(self):
        """The processes of the sshd that stand for links."""
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout
        return [int(pid) for pid, parent in (line.split() for line in listed.splitlines()) if int(parent) == self.server.pid]

    def cut(self):
        """Whether there was a link."""
        connections = self.connections()
        for pid in connections:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return bool(connections)

    def test_a_cold_tune(self):
        row = self.tune("ssh:loopback")
        self.assertGreater(row["document"]["measured"], 0)
        self.assertEqual(row["links"], 0)
        self.assertTrue(pathlib.Path(row["package"]).is_file())
        self.assertEqual(self.left_behind(), [])

    def test_links_cut_in_the_middle(self):
        links = 0
        for cut in range(CUTS):
            process = self.start("tune", MODEL, *SMALL, "--level", "fast", "--no-package", "--remote", "ssh:loopback",
                                 "--seed", str(cut))
            done = threading.Event()

            def cut_now_and_then():
                cuts = 0
                while not done.wait(0.15 + 0.05 * (cut % 7)) and cuts < 3:
                    cuts += self.cut()

            cutter = threading.Thread(target=cut_now_and_then)
            # The first answer must come: what fails there is a wrong name.
            while not list((self.place / "target").iterdir()) and process.poll() is None:
                time.sleep(0.01)
            cutter.start()
            document, err = self.finish(process)
            done.set()
            cutter.join()
            row = document["remotes"][0]
            self.assertGreaterEqual(row["links"], 1, err)
            self.assertGreater(row["document"]["measured"] + row["document"]["reused"], 0)
            self.assertEqual(self.left_behind(), [], f"cut {cut}")
            links += row["links"]
        print(f"{CUTS} tunings ended, over {links} links that were made again")


if __name__ == "__main__":
    outcome = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], exit=False).result
    skipped = len(outcome.skipped)
    bad = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - skipped - bad} passed, {bad} failed, {skipped} skipped")
    sys.exit(1 if bad else 0)
