"""A folder goes on where it was interrupted, and nobody's file is replaced: folder_test.py FETTLE_ENHANCE [KILLS [SEED]]"""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

import media
from checks import check, run_parts

KILLS, SEED = int((sys.argv[2:3] or ["8"])[0]), int((sys.argv[3:4] or ["1"])[0])
WORDS = ["--steps", "sharpen", "--preset", "ultrafast", "--threads", "2", "--json"]


def line(program, folder, result, *more):
    return [program, folder, "-o", result, *WORDS, *more]


def run(program, folder, result, *more):
    done = subprocess.run(line(program, folder, result, *more), capture_output=True, text=True, timeout=100)
    return done, json.loads(done.stdout)


def outputs(folder):
    """Bytes of every file but the hidden record."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def make(folder):
    clips = folder / "clips"
    (clips / "below" / "deeper").mkdir(parents=True)
    for i in range(3):
        media.ffmpeg(*media.picture("160x120", 25, 1 + i), *media.X264, clips / f"clip{i}.mkv")
    media.ffmpeg(*media.picture("160x120", 25, 2), *media.X264, clips / "clip1.264")
    for i, name in enumerate(("a.png", "b.png", "below/a.png", "below/deeper/c.jpg")):
        media.ffmpeg(*media.picture("37x23", 25, 1), "-ss", str(i / 25), "-frames:v", "1", clips / name)
    (clips / "words.txt").write_text("no video")


def check_kills(program, folder):
    """kill -9 at random moments: what was finished stays, and the last run says that all is there."""
    begin = time.monotonic()
    _, whole = run(program, folder / "clips", folder / "whole", "--recursive")
    seconds = time.monotonic() - begin
    check("whole: all done", whole["failed"] == 0 and whole["skipped"] == 0 and len(whole["files"]) == 8, whole)
    wanted, moments, kills, skipped = outputs(folder / "whole"), random.Random(SEED), 0, 0
    result = folder / "killed"
    while kills < KILLS:
        shutil.rmtree(result, ignore_errors=True)
        seen = {}
        while True:
            job = subprocess.Popen(line(program, folder / "clips", result, "--recursive"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                out, err = job.communicate(timeout=moments.uniform(0.05, 0.7) * seconds if kills < KILLS else None)
                break
            except subprocess.TimeoutExpired:
                job.kill()
                job.communicate()
                kills += 1
            for name in wanted:
                path = result / name
                if path.exists():
                    check(f"{name}: made once", seen.setdefault(name, path.stat().st_ino) == path.stat().st_ino)
        check("killed: exit code", job.returncode == 0, f"{job.returncode}: {err}")
        skipped += json.loads(out)["skipped"]
        check("killed: equal bytes", outputs(result) == wanted, sorted(outputs(result)))
    check("killed: something was done before", skipped > 0, skipped)


def check_again(program, folder):
    """The same command on a finished folder has nothing to do; another one is refused."""
    clips, result = folder / "clips", folder / "whole"
    before = {path: path.stat().st_mtime_ns for path in result.rglob("*") if path.is_file() and path.name[0] != "."}
    # As kills leave it after a file took its place: the journal of a job with all its frames, and one that goes.
    rests = [result / "clip0.mkv.fettle-job-over", result / "clip1.mkv.fettle-job"]
    for rest in rests:
        rest.mkdir()
        (rest / "journal").write_text('{"complete":true}\n')
    done, document = run(program, clips, result, "--recursive")
    check("again: what a kill has left of a job that is over goes", not any(rest.exists() for rest in rests))
    check("again: exit code", done.returncode == 0 and document["skipped"] == 8 and document["failed"] == 0, done.stderr)
    check("again: why", {one["skipped_because"] for one in document["files"]} == {"done by an earlier run"}, document)
    check("again: untouched", before == {path: path.stat().st_mtime_ns for path in before})
    done, document = run(program, clips, result, "--recursive", "--crf", "30")
    check("other settings: refused", done.returncode == 2 and document["failed"] == 8 and "--skip-existing" in done.stderr, done.stderr)
    done, document = run(program, clips, result, "--recursive", "--crf", "30", "--skip-existing")
    check("--skip-existing", done.returncode == 0 and document["skipped"] == 8, done.stderr)
    check("nothing replaced", before == {path: path.stat().st_mtime_ns for path in before})


def check_others(program, folder):
    """Files of others stay; inputs that changed are done again only where they may."""
    clips, result = folder / "few", folder / "few_result"
    clips.mkdir()
    result.mkdir()
    for name in ("a.png", "b.png"):
        shutil.copy(folder / "clips" / name, clips / name)
    (result / "a.png").write_bytes(b"somebody's")
    done, document = run(program, clips, result)
    check("others: refused", done.returncode == 2 and document["failed"] == 1 and document["skipped"] == 0, done.stderr)
    check("others: stays", (result / "a.png").read_bytes() == b"somebody's" and (result / "b.png").exists())
    done, document = run(program, clips, result, "--skip-existing")
    check("others: skipped", done.returncode == 0 and document["skipped"] == 2, done.stderr)
    shutil.copy(clips / "a.png", clips / "b.png")
    made = (result / "b.png").read_bytes()
    done, _ = run(program, clips, result)
    check("changed input: refused", done.returncode == 2 and (result / "b.png").read_bytes() == made, done.stderr)
    done, document = run(program, clips, result, "--overwrite")
    check("--overwrite", done.returncode == 0 and document["skipped"] == 0 and (result / "a.png").read_bytes() != b"somebody's", done.stderr)
    both = subprocess.run(line(program, clips, result, "--overwrite", "--skip-existing"), capture_output=True, text=True)
    check("one of the two", both.returncode == 2, both.stderr)


def check_left_out(program, folder):
    """What is not among the jobs is said."""
    done, document = run(program, folder / "clips", folder / "flat", "--plan-only")
    check("folders", any("--recursive" in one and "1 folder: below" in one for one in document["warnings"]), document["warnings"])
    check("other files", any("1 file whose name is not that of a video or picture: words.txt" in one for one in document["warnings"]), done.stderr)
    check("both on stderr", done.stderr.count("warning: left out") == 2, done.stderr)
    inside = folder / "inside"
    (inside / "clips" / "x.mkv.fettle-job").mkdir(parents=True)
    shutil.copy(folder / "clips" / "a.png", inside / "clips")
    shutil.copy(folder / "clips" / "clip0.mkv", inside / "clips" / "x.mkv.fettle-job" / "segment-00000.nut")
    for _ in range(2):
        done, document = run(program, inside, inside / "clips" / "out", "--recursive")
        check("an output folder inside", done.returncode == 0 and len(document["files"]) == 1, document)
    wrong = subprocess.run(line(program, folder / "clips", folder / "clips" / "words.txt"), capture_output=True, text=True)
    check("a file as a folder's output", wrong.returncode == 2 and "is a file; the output of a folder is a folder" in wrong.stderr, wrong.stderr)
    lone = subprocess.run(line(program, folder / "clips" / "a.png", folder / "x.png", "--recursive"), capture_output=True, text=True)
    check("--recursive of a file", lone.returncode == 2 and "not a folder" in lone.stderr, lone.stderr)


def check_one_file(program, folder):
    source, result = folder / "clips" / "clip0.mkv", folder / "one.mkv"
    result.write_bytes(b"somebody's")
    done, document = run(program, source, result, "--skip-existing")
    check("a file: skipped", done.returncode == 0 and "already exists" in document["skipped_because"], done.stderr)
    check("a file: stays", result.read_bytes() == b"somebody's")
    check("a file: nothing beside it", not pathlib.Path(str(result) + ".fettle-job").exists())


if __name__ == "__main__":
    run_parts(check_kills, check_again, check_others, check_left_out, check_one_file, make=make)
