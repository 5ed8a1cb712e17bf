"""Jobs on a local Ray cluster, one of whose workers is killed: ray_test.py FETTLE_ENHANCE"""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import media
from checks import check, run_in_folder

MODULE = pathlib.Path(__file__).resolve().parents[2] / "apps/enhance/ray/enhance_folder.py"
STEPS = ["--steps", "superres", "--network", "best", "--preset", "ultrafast", "--threads", "1"]


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def program_at(output):
    """The process that works on an output."""
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"fettle-enhance") and str(output).encode() in words:
                return int(place.name)
        except OSError:
            continue
    return None


def kill_a_worker(out, run):
    """The worker of a file that has a segment; its program must go with it. The file's output, or None."""
    end = time.monotonic() + 120
    while time.monotonic() < end and run.poll() is None:
        for journal in out.glob("*.fettle-job/journal"):
            output = journal.parent.with_suffix("")
            pid = program_at(output)
            if pid is None:
                continue
            os.kill(parent_of(pid), signal.SIGKILL)
            gone = time.monotonic() + 10
            while program_at(output) == pid and time.monotonic() < gone:
                time.sleep(0.02)
            check("the program goes with its worker", program_at(output) != pid)
            return output
        time.sleep(0.02)
    return None


def check_cluster(program, folder):
    clips, out, alone = folder / "clips", folder / "out", folder / "alone"
    clips.mkdir()
    for i, size in enumerate(("96x64", "64x96", "80x80")):
        media.ffmpeg(*media.picture(size, 50, 30), *media.X264, "-g", "40", clips / f"{i}.mkv")
    (clips / "broken.mkv").write_bytes(b"no video")
    run = subprocess.Popen([sys.executable, MODULE, clips, "-o", out, "--program", program, "--json", *STEPS],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    killed = kill_a_worker(out, run)
    check("a worker was killed", killed)
    stdout, stderr = run.communicate(timeout=300)
    check("exit code of the broken file", run.returncode == 3, f"{run.returncode} {stderr[-500:]}")
    document = json.loads(stdout)
    files = {pathlib.Path(one["input"]).name: one for one in document["files"]}
    check("one summary", len(files) == 4 and document["failed"] == 1 and "error" in files["broken.mkv"], stdout[:500])
    again = next((one for one in document["files"] if one.get("output") == str(killed)), {})
    check("begun again", document["retried"] >= 1 and again.get("attempts", 0) > 1, again)
    check("from its journal", again.get("resumed_frames", 0) >= 250, again.get("resumed_frames"))
    subprocess.run([program, clips, "-o", alone, *STEPS], capture_output=True)
    for name in ("0.mkv", "1.mkv", "2.mkv"):
        check(f"{name}: equal bytes", (out / name).read_bytes() == (alone / name).read_bytes())
    check("nothing left", not list(out.glob("*.fettle-job")))
    once_more = subprocess.run([sys.executable, MODULE, clips, "-o", out, "--program", program, "--json", *STEPS], capture_output=True, text=True)
    check("outputs that are there", once_more.returncode == 2 and json.loads(once_more.stdout)["failed"] == 4, once_more.stderr[-300:])


def main():
    ray = importlib.util.find_spec("ray")
    run_in_folder(lambda folder: check_cluster(sys.argv[1], folder), missing=None if ray else "no ray")


if __name__ == "__main__":
    main()
