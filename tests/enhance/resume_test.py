"""A killed job goes on and ends in the same bytes: resume_test.py FETTLE_ENHANCE [KILLS [SEED]]"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import media
from checks import check, run_in_folder


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
                out, err = run.communicate()
                done += 1
                if result.exists() and not job_of(result).exists():
                    break  # killed after the job was over
        check("the run that ends", run.returncode in (0, -signal.SIGKILL), err)
        check("equal bytes", result.exists() and result.read_bytes() == wanted)
        check("nothing left", not job_of(result).exists())
        resumed += json.loads(out)["resumed_frames"] if run.returncode == 0 else 0
    print(f"{done} kills in {time.monotonic() - begin:.0f} s, {resumed} frames were not done again")


def is_under_way(result):
    """Whether a job has frames to make: it is neither over nor ending."""
    journal = job_of(result) / "journal"
    return not result.exists() and journal.exists() and '"complete"' not in journal.read_text()


def check_kill_after_the_move(program, source, folder):
    """An output beside a job with all its frames is that job's own; beside another it is somebody's."""
    result = folder / "moved.mkv"
    for _ in range(10):  # a run may end before the signal, or be ending
        result.unlink(missing_ok=True)
        shutil.rmtree(job_of(result), ignore_errors=True)
        start_and_stop(program, source, result, signal.SIGKILL)
        if is_under_way(result):
            break
    check("killed before its end", is_under_way(result))
    result.write_bytes(b"somebody's")
    refused = subprocess.run(line(program, source, result), capture_output=True, text=True)
    check("an output of somebody", refused.returncode == 2 and "already exists" in refused.stderr, refused.stderr)
    (job_of(result) / "journal").open("a").write('{"complete":true}\n')
    again = subprocess.run(line(program, source, result), capture_output=True, text=True)
    check("an output of the job itself is its to make again", "already exists" not in again.stderr, again.stderr)


def start_and_stop(program, source, result, number, *more):
    """Begins a job and ends it by a signal once a segment is there."""
    run = subprocess.Popen(line(program, source, result, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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
    check("Ctrl-C: exit code", code == 1 and "the same command continues" in err, f"{code}: {err}")
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


def check_people(program, source, folder):
    """What is covered depends on frames before: a job that goes on covers the same."""
    words = ["--steps", "background-blur,privacy-head"]
    whole, killed = folder / "people.mkv", folder / "people_killed.mkv"
    subprocess.run(line(program, source, whole, *words), check=True, capture_output=True)
    start_and_stop(program, source, killed, signal.SIGINT, *words)
    again = subprocess.run(line(program, source, killed, *words), capture_output=True, text=True)
    check("people: goes on", again.returncode == 0 and json.loads(again.stdout)["resumed_frames"] > 0, again.stderr)
    check("people: equal bytes", killed.read_bytes() == whole.read_bytes())


def check_pace(program, source, folder):
    """A rate that is missed is answered by a faster network between segments; the journal keeps which."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    result = folder / "paced.mkv"
    words = [program, source, "-o", result, "--steps", "superres", "--preset", "ultrafast", "--threads", "2", "--fps", "4000", "--json"]
    subprocess.run([*words, "--plan-only"], check=True, capture_output=True)
    timings = folder / "cache/fettle/enhance.json"
    # A machine that was ten thousand times as fast when it was timed: the widest seems to keep the rate on any.
    timings.write_text(json.dumps({key: ms / 10000 for key, ms in json.loads(timings.read_text()).items()}))

    def segments():
        rows = [json.loads(row) for row in (job_of(result) / "journal").read_text().splitlines()]
        return [row for row in rows if "network" in row]  # the line behind the last one says that all are there

    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and not ((job_of(result) / "journal").exists() and segments()):
        time.sleep(0.002)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    done = segments()
    check("pace: begun by the widest", done[0]["network"] == "best", done)
    names = [f"segment-{i:05}.nut" for i in range(len(done))]  # a file without a line would be made again
    files = {name: (job_of(result) / name).read_bytes() for name in names}
    again = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    def is_faster():
        """Whether the second run wrote a segment, which says that it listens to Ctrl-C, and the next one is of the faster network."""
        text = (job_of(result) / "journal").read_text()
        return text.count("\n") > len(done) and '"next":"fast"' in text

    while again.poll() is None and not is_faster():
        time.sleep(0.005)
    again.send_signal(signal.SIGINT)
    _, err = again.communicate(timeout=100)
    check("pace: goes on", again.returncode == 1 and "the same command" in err, f"{again.returncode} {err}")
    rows = segments()
    check("pace: what is done stays", rows[:len(done)] == done and all((job_of(result) / name).read_bytes() == data for name, data in files.items()))
    check("pace: faster from then on", rows[-1]["next"] == "fast" and {row["network"] for row in rows} <= {"best", "fast"}, rows)
    last = subprocess.run(words, capture_output=True, text=True)
    check("pace: the faster one goes on", "from frame" not in last.stderr, last.stderr)
    check("pace: done", last.returncode == 0 and json.loads(last.stdout)["frames_out"] == 1200, last.stderr)


def main():
    program, kills, seed = sys.argv[1], int((sys.argv[2:3] or ["8"])[0]), int((sys.argv[3:4] or ["1"])[0])

    def check_all(folder):
        source = folder / "long.mkv"
        media.ffmpeg(*media.picture("160x120", 50, 24), "-f", "lavfi", "-i", "sine=duration=24", "-c:v", "libx264", "-preset",
                     "ultrafast", "-g", "40", "-c:a", "flac", source)
        check_kills(program, source, folder, kills, seed)
        for part in (check_stop, check_kill_after_the_move, check_people, check_pace):
            part(program, source, folder)

    run_in_folder(check_all)


if __name__ == "__main__":
    main()
