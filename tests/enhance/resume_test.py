"""A killed job goes on and ends in the same bytes: resume_test.py FETTLE_ENHANCE [KILLS [SEED]]"""

import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import media

passed, failed = 0, 0


def check(name, condition, got=""):
    global passed, failed
    passed, failed = passed + bool(condition), failed + (not condition)
    if not condition:
        print(f"FAILED {name}: {got}")


def line(program, source, result, *more):
    return [program, source, "-o", result, "--preset", "ultrafast", "--threads", "2", "--network", "fast", "--json", *more]


def job_of(result):
    return pathlib.Path(str(result) + ".fettle-job")


def check_kills(program, source, folder, kills, seed):
    """kill -9 at random moments of a run, again and again, until one ends by itself."""
    begin = time.monotonic()
    whole = folder / "whole.mkv"
    subprocess.run(line(program, source, whole), check=True, capture_output=True)
    seconds = time.monotonic() - begin
    wanted = whole.read_bytes()
    moments = random.Random(seed)
    done, resumed = 0, 0
    while done < kills:
        result = folder / "killed.mkv"
        result.unlink(missing_ok=True)
        while True:
            run = subprocess.Popen(line(program, source, result), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                out, err = run.communicate(timeout=moments.uniform(0.02, 1) * seconds if done < kills else None)
                break
            except subprocess.TimeoutExpired:
                run.kill()
                run.communicate()
                done += 1
        check("the run that ends", run.returncode == 0, err)
        check("equal bytes", result.exists() and result.read_bytes() == wanted)
        check("nothing left", not job_of(result).exists())
        resumed += json.loads(out)["resumed_frames"] if run.returncode == 0 else 0
    print(f"{done} kills in {time.monotonic() - begin:.0f} s, {resumed} frames were not done again")


def start_and_stop(program, source, result, number):
    """Begins a job and ends it by a signal once a segment is there."""
    run = subprocess.Popen(line(program, source, result), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and run.poll() is None and not (job_of(result) / "segment-00000.nut").exists():
        time.sleep(0.005)
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    return run.returncode, err


def check_stop(program, source, folder):
    """Ctrl-C keeps what is done; other settings do not go on with it; the parts play."""
    result = folder / "stopped.mkv"
    code, err = start_and_stop(program, source, result, signal.SIGINT)
    check("Ctrl-C: exit code", code == 1 and "the same command goes on" in err, f"{code}: {err}")
    check("Ctrl-C: no output", not result.exists())
    part = job_of(result) / "segment-00000.nut"
    check("Ctrl-C: the part plays", part.exists() and media.frame_times(part))
    other = subprocess.run(line(program, source, result, "--crf", "30"), capture_output=True, text=True)
    check("other settings", other.returncode == 2 and "encoder_options" in other.stderr, other.stderr)
    (job_of(result) / "journal").open("a").write('{"frames":')
    part.write_bytes(part.read_bytes()[:-1])
    again = subprocess.run(line(program, source, result), capture_output=True, text=True)
    check("a damaged part is done again", again.returncode == 0 and json.loads(again.stdout)["resumed_frames"] == 0, again.stderr)
    check("equal bytes after damage", result.read_bytes() == (folder / "whole.mkv").read_bytes())
    begun = folder / "anew.mkv"
    start_and_stop(program, source, begun, signal.SIGKILL)
    anew = subprocess.run(line(program, source, begun, "--crf", "30", "--restart"), capture_output=True, text=True)
    check("--restart", anew.returncode == 0 and json.loads(anew.stdout)["resumed_frames"] == 0, anew.stderr)


def main():
    program, kills, seed = sys.argv[1], int((sys.argv[2:3] or ["8"])[0]), int((sys.argv[3:4] or ["1"])[0])
    reason = media.tools_missing()
    if reason:
        print(f"skipped: {reason}")
        print("0 passed, 0 failed, 1 skipped")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "long.mkv"
        media.ffmpeg(*media.picture("160x120", 50, 24), "-f", "lavfi", "-i", "sine=duration=24", "-c:v", "libx264", "-preset",
                     "ultrafast", "-g", "40", "-c:a", "flac", source)
        check_kills(program, source, folder, kills, seed)
        check_stop(program, source, folder)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
