"""The alert step as a user has it: its file, its frames in the picture, kills, and what it refuses: alert_test.py FETTLE_ENHANCE"""

import json
import pathlib
import signal
import subprocess
import time

import media
from checks import check, run_parts

# Less than what is usual, as one drawing is no proof of the network.
SCORE = "0.1"
RULES = ["--alert-score", SCORE, "--alert-votes", "3/5"]


def run(program, *words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=300)


def phone_clip(path, frames, pixels="yuv420p", size="320x180", rate=25):
    """A wall, a hand and a phone of 9x16 pixels in it, at 200, 100."""
    scene = f"color=0x9a948c:s={size}:r={rate},format=rgb24"
    boxes = [(196, 108, 14, 16, "0xc68c6a"), (200, 100, 9, 16, "0x16161a"), (201, 102, 7, 12, "0xe4ecf8"), (202, 104, 5, 2, "0x7088a8"),
             (202, 109, 4, 2, "0x8898b0")]  # fmt: skip
    drawn = ",".join(f"drawbox={x}:{y}:{w}:{h}:{colour}:fill" for x, y, w, h, colour in boxes)
    media.ffmpeg("-f", "lavfi", "-i", scene, "-vf", f"{drawn},noise=alls=4:allf=t,format={pixels}", "-frames:v", frames, *media.X264,
                 "-crf", "20", "-g", "50", path)  # fmt: skip


def alerts_of(path):
    return json.loads(pathlib.Path(path).read_text())


def luma_of(path, frame):
    """The rows of one decoded frame, in 8 bits."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-vf", f"select='eq(n,{frame})'", "-vsync", "0", "-f", "rawvideo",
                           "-pix_fmt", "gray", "-"], check=True, capture_output=True)  # fmt: skip
    width = media.video_of(path)["width"]
    return [done.stdout[i : i + width] for i in range(0, len(done.stdout), width)]


def check_file(program, folder):
    """What is written, and where it stands."""
    source, result = folder / "phone.mkv", folder / "told.mkv"
    phone_clip(source, 30)
    done = run(program, source, "-o", result, "--steps", "alert=0", *RULES, "--json")
    check("exit code", done.returncode == 0, done.stderr)
    document = alerts_of(folder / "told.mkv.alerts.json")
    check("document", [document[k] for k in ("kind", "version", "input", "width", "height", "frames")]
          == ["alerts", 1, "phone.mkv", 320, 180, 30], {k: document[k] for k in document if k != "alerts"})  # fmt: skip
    check("rules", document["votes"] == {"seen": 3, "of": 5} and document["score"] == float(SCORE), document["votes"])
    check("count", json.loads(done.stdout)["alerts"] == {"file": str(folder / "told.mkv.alerts.json"), "count": len(document["alerts"])})
    over = [a for a in document["alerts"] if any(190 < b["box"][0] + b["box"][2] / 2 < 218 and 92 < b["box"][1] + b["box"][3] / 2 < 124
                                                 for b in a["boxes"])]  # fmt: skip
    check("the phone is told of", len(over) >= 1 and sum(len(a["boxes"]) for a in over) >= 20, document["alerts"])
    for alert in document["alerts"]:
        frames = [b["frame"] for b in alert["boxes"]]
        check("order", frames == sorted(set(frames)) and alert["first"]["frame"] == frames[0] and alert["last"]["frame"] == frames[-1], frames)
        check("times", all(abs(b["time"] - b["frame"] / 25) < 1e-3 for b in alert["boxes"]), alert["boxes"][:3])
        check("scores", max(b["score"] for b in alert["boxes"]) == alert["best_score"] >= float(SCORE), alert["best_score"])
    usual = run(program, source, "-o", folder / "usual.json", "--steps", "alert")
    told = alerts_of(folder / "usual.json")
    check("usual rules", usual.returncode == 0 and (told["score"], told["votes"]) == (0.55, {"seen": 15, "of": 30}), told)
    alone = run(program, source, "-o", folder / "alone.json", "--steps", "alert", *RULES, "--threads", "2", "--json")
    check("the file alone", alone.returncode == 0 and (folder / "alone.json").read_text() == (folder / "told.mkv.alerts.json").read_text(),
          alone.stderr)  # fmt: skip
    check("the file alone: speed", json.loads(alone.stdout)["frames_per_second"] > 0, alone.stdout)
    enlarged = run(program, source, "-o", folder / "large.mkv", "--steps", "alert=0,superres", "--network", "fast", *RULES)
    check("before another step", enlarged.returncode == 0 and alerts_of(folder / "large.mkv.alerts.json")["alerts"] == document["alerts"],
          enlarged.stderr)  # fmt: skip
    doubled = run(program, source, "-o", folder / "fluid.mkv", "--steps", "alert,interpolate", *RULES)
    check("frames between are not looked at", doubled.returncode == 0
          and alerts_of(folder / "fluid.mkv.alerts.json")["alerts"] == document["alerts"], doubled.stderr)  # fmt: skip
    return document["alerts"]


def check_frames(program, folder):
    """Drawn around what is told of, once it passed the vote, in 8 and in 10 bits; with 0 frames stay."""
    for pixels in ("yuv420p", "yuv420p10le", "gray"):
        source, drawn, plain = (folder / f"{pixels}{kind}.mkv" for kind in ("", "_drawn", "_plain"))
        phone_clip(source, 12, pixels)
        exact = [*RULES, "--encoder", "libx264", "--crf", "0", "--preset", "ultrafast"]
        for path, steps in ((drawn, "alert"), (plain, "alert=0")):
            done = run(program, source, "-o", path, "--steps", steps, *exact)
            check(f"{pixels}: {steps}", done.returncode == 0, done.stderr)
        seen = alerts_of(str(drawn) + ".alerts.json")["alerts"]
        check(f"{pixels}: the same file", (pathlib.Path(str(drawn) + ".alerts.json").read_bytes()
                                          == pathlib.Path(str(plain) + ".alerts.json").read_bytes()))  # fmt: skip
        check(f"{pixels}: an alert", len(seen) > 0)
        for frame, marked in ((0, False), (11, True)):
            before, after, without = (luma_of(path, frame) for path in (source, drawn, plain))
            changed = sum(abs(a - b) > 8 for x, y in zip(before, after) for a, b in zip(x, y))
            check(f"{pixels}: frame {frame}", (changed > 20) == marked, changed)
            check(f"{pixels}: without", sum(abs(a - b) > 2 for x, y in zip(before, without) for a, b in zip(x, y)) == 0)


def check_resume(program, folder):
    """kill -9 after the first segment, and a damaged row file: equal bytes of both files."""
    source, whole = folder / "long.mkv", folder / "whole.mkv"
    phone_clip(source, 400)  # two segments
    words = ["--steps", "alert", "--alert-score", "0.02", "--alert-votes", "3/5", "--preset", "ultrafast", "--threads", "2", "--json"]
    check("whole", run(program, source, "-o", whole, *words).returncode == 0)
    wanted = whole.read_bytes(), (folder / "whole.mkv.alerts.json").read_bytes()
    for damage in (False, True):
        result = folder / f"killed{damage}.mkv"
        job = pathlib.Path(str(result) + ".fettle-job")
        killed = subprocess.Popen([program, source, "-o", result, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while killed.poll() is None and not (job / "journal").exists():
            time.sleep(0.002)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        if damage and (job / "segment-00000.rows").exists():
            (job / "segment-00000.rows").write_text("0 0 [[1,2,3,4,5]]\n")
        again = run(program, source, "-o", result, *words)
        check("goes on", again.returncode == 0, again.stderr)
        check("equal bytes", (result.read_bytes(), (folder / f"killed{damage}.mkv.alerts.json").read_bytes()) == wanted, damage)
        check("nothing left", not job.exists())
    begun = folder / "other.mkv"
    job = subprocess.Popen([program, source, "-o", begun, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    manifest = pathlib.Path(str(begun) + ".fettle-job") / "manifest.json"
    while job.poll() is None and not manifest.exists():
        time.sleep(0.002)
    job.send_signal(signal.SIGKILL)
    job.communicate()
    if manifest.exists():
        other = run(program, source, "-o", begun, *(w.replace("3/5", "1/2") for w in words))
        check("other votes", other.returncode == 2 and "alert_votes" in other.stderr, other.stderr)


def check_pictures(program, folder):
    media.ffmpeg("-i", folder / "phone.mkv", "-frames:v", "1", folder / "phone.png")
    done = run(program, folder / "phone.png", "-o", folder / "framed.png", "--steps", "alert", "--alert-score", SCORE)
    document = alerts_of(folder / "framed.png.alerts.json")
    check("picture", done.returncode == 0 and document["frames"] == 1 and document["votes"] == {"seen": 1, "of": 1}, done.stderr)
    alone = run(program, folder / "phone.png", "-o", folder / "picture.json", "--steps", "alert", "--alert-score", SCORE)
    check("picture: the file alone", alone.returncode == 0 and alerts_of(folder / "picture.json") == document, alone.stderr)


def check_refusals(program, folder):
    source = folder / "phone.mkv"

    def refused(name, words, *arguments, output="refused.mkv"):
        done = run(program, source, "-o", folder / output, *arguments)
        lines = done.stderr.strip().splitlines()
        check(name, done.returncode == 2 and len(lines) == 1 and words in lines[0], f"{done.returncode} {done.stderr}")
        check(f"{name}: nothing written", not (folder / "refused.mkv").exists() and not (folder / "refused.mkv.fettle-job").exists())

    refused("no such step", "--alert-file: alert is not among the steps", "--steps", "contrast", "--alert-file", folder / "a.json")
    refused("no such step: votes", "--alert-votes: alert", "--steps", "contrast", "--alert-votes", "2/3")
    for votes in ("3", "0/3", "4/3", "3/99", "a/b", "3/5x", "/5", "3/"):
        refused(f"votes {votes}", "expected SEEN/OF", "--steps", "alert", "--alert-votes", votes)
    refused("score", "--alert-score", "--steps", "alert", "--alert-score", "1.5")
    refused("twice", "once", "--steps", "alert,alert")
    refused("after interpolate", "before interpolate", "--steps", "interpolate,alert")
    refused("strength", "expected a strength of 0 to 1", "--steps", "alert=2")
    refused("over the input", "as it is the input", "--steps", "alert", "--alert-file", source)
    refused("over the output", "as it is the output", "--steps", "alert", "--alert-file", folder / "refused.mkv")
    refused("no folder", "no such folder", "--steps", "alert", "--alert-file", folder / "none/a.json")
    (folder / "mine.json").write_text("mine")
    refused("a file of somebody", "already exists", "--steps", "alert", "--alert-file", folder / "mine.json")
    refused("two files", "is to hold the alerts already", "--steps", "alert", "--alert-file", folder / "b.json", output="c.json")
    refused("json without alerts", "json", "--steps", "contrast", output="d.json")
    check("somebody's file stays", (folder / "mine.json").read_text() == "mine")
    of_folder = run(program, folder, "-o", folder / "all", "--steps", "alert", "--alert-file", folder / "a.json")
    check("a folder", of_folder.returncode == 2 and "not for a folder" in of_folder.stderr, of_folder.stderr)


if __name__ == "__main__":
    run_parts(check_file, check_frames, check_resume, check_pictures, check_refusals)
