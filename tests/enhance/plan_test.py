"""What an input needs, what time allows, and plans that are edited and replayed: plan_test.py FETTLE_ENHANCE"""

import json
import os
import subprocess

import media
from checks import check, run_parts


def run(program, *words):
    return subprocess.run([program, *map(str, words), "--threads", "1"], capture_output=True, text=True, timeout=100)


def plan_of(program, path, *words):
    done = run(program, path, "-o", path.parent / "planned.mkv", "--plan-only", "--json", *words)
    check(f"{path.name}: plan", done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def make(folder):
    """Clips that need one step or another."""
    moving = ["-f", "lavfi", "-i", "mandelbrot=s=192x128:r=12:start_scale=0.5,format=yuv420p", "-frames:v", "12"]
    x264 = ["-c:v", "libx264", "-threads", "1"]
    grey = ["-f", "lavfi", "-i", "gradients=s=192x128:r=12:d=1:c0=0x303030:c1=0xd0d0d0:nb_colors=2:seed=1"]
    veil = "scale=192:128,format=yuv420p,lutyuv=y='120+(val-126)*0.45'"
    media.ffmpeg(*moving, *x264, "-crf", "40", folder / "coarse.mkv")
    media.ffmpeg(*moving, *x264, "-crf", "12", folder / "fine.mkv")
    media.ffmpeg(*moving, "-c:v", "mpeg4", "-q:v", "20", folder / "mpeg4.mkv")
    media.ffmpeg(*grey, "-vf", "noise=c0s=12:c0f=t,format=yuv420p", *x264, "-crf", "4", folder / "noisy.mkv")
    media.ffmpeg("-i", folder / "noisy.mkv", "-f", "lavfi", "-i", "color=0xe0e0e0:s=192x128:r=12:d=1", "-filter_complex",
                 "[0:v][1:v]concat,format=yuv420p", *x264, "-crf", "4", folder / "mixed.mkv")  # fmt: skip
    media.ffmpeg(*moving, "-vf", "fade=t=out:s=0:n=24", *x264, "-crf", "12", folder / "fading.mkv")
    media.ffmpeg(*moving, "-vf", veil, *x264, "-crf", "12", folder / "veiled.mkv")
    for name, levels in (("dark", "16+(val-16)*0.25"), ("flat", "34+(val-16)*0.36")):
        media.ffmpeg(*moving, "-vf", f"scale=192:128,format=yuv420p,lutyuv=y='{levels}'", *x264, "-crf", "12", folder / f"{name}.mkv")


# What is advised: the steps that must be there, and those that must not.
ADVISED = {
    "coarse.mkv": ({"deblock", "superres"}, {"denoise"}),
    "fine.mkv": ({"superres"}, {"deblock"}),
    "mpeg4.mkv": ({"deblock"}, {"denoise"}),
    "noisy.mkv": ({"denoise"}, {"deblock"}),
    "veiled.mkv": ({"clarity"}, {"deblock", "contrast", "lowlight"}),
    "dark.mkv": ({"lowlight"}, {"clarity", "contrast"}),
    "flat.mkv": ({"contrast"}, {"clarity", "lowlight"}),
}


def check_advice(program, folder):
    for name, (wanted, unwanted) in ADVISED.items():
        plan = plan_of(program, folder / name)
        steps = {step["step"] for step in plan["steps"]}
        check(f"{name}: advice", wanted <= steps and not unwanted & steps, f"{sorted(steps)} of {plan['survey']['all']}")
        reasons = {choice["what"]: choice["reason"] for choice in plan["choices"]}
        check(f"{name}: reasons", all(reasons[step] for step in wanted | unwanted), reasons)
    tried = next(choice for choice in plan_of(program, folder / "coarse.mkv")["choices"] if choice["what"] == "deblock")
    check("tried", "dB on a recoded sample" in tried["reason"] or "dB here" in tried["reason"], tried)
    places = plan_of(program, folder / "fading.mkv")["survey"]["samples"]
    seconds, light = ([place[key] for place in places] for key in ("seconds", "light"))
    check("places behind one key frame", len(places) == 5 and sorted(set(seconds)) == seconds, seconds)
    check("and what is there", sorted(set(light), reverse=True) == light, light)
    text = run(program, folder / "coarse.mkv", "-o", folder / "planned.mkv", "--plan-only", "--explain").stdout
    check("explained", "at 0.0 s" in text and "→ deblock (level" in text and "by its decoder" in text, text)


def check_scenes(program, folder):
    """One chain, of which each scene takes what it needs."""
    plan = plan_of(program, folder / "mixed.mkv", "--network", "fast")
    check("mixed: denoise for one half", "denoise" in {step["step"] for step in plan["steps"]} and plan["own_noise"], plan["steps"])
    reason = next(choice["reason"] for choice in plan["choices"] if choice["what"] == "denoise")
    check("mixed: says where", "of 5 places have 2.5 or more" in reason and "each scene by its own" in reason, reason)

    def acting(*words):
        done = run(program, folder / "mixed.mkv", "-o", folder / "mixed_done.mkv", "--overwrite", "--steps", "denoise", "--network", "fast",
                   "--json", *words)  # fmt: skip
        check("mixed: done", done.returncode == 0, done.stderr)
        return [[step["step"] for step in scene["steps"] if step["acts"]] for scene in json.loads(done.stdout)["scenes"]]

    check("mixed: the noisy scene alone", acting() == [["denoise"], []], acting())
    edited = {**plan, "steps": [{"step": "denoise"}], "own_noise": False, "noise": 5}
    (folder / "mixed.json").write_text(json.dumps(edited))
    done = run(program, folder / "mixed.mkv", "-o", folder / "edited.mkv", "--plan", folder / "mixed.json", "--json")
    check("mixed: a plan's own sigma holds everywhere", all(scene["steps"][0]["acts"] for scene in json.loads(done.stdout)["scenes"]), done.stderr)


def check_replay(program, folder):
    source = folder / "coarse.mkv"
    plan = plan_of(program, source)
    check("level", 34 < plan["level"] < 51 and plan["survey"]["all"]["level_told"], plan["level"])
    plan["steps"] = [{"step": "deblock", "strength": 0.5}, {"step": "contrast"}]
    edited = folder / "edited.json"
    edited.write_text(json.dumps(plan))
    again = plan_of(program, source, "--plan", edited)
    check("edited steps", again["steps"] == [{"step": "deblock", "strength": 0.5}, {"step": "contrast", "strength": 0.3}], again["steps"])
    done = run(program, source, "-o", folder / "replayed.mkv", "--plan", edited, "--json")
    check("replayed", done.returncode == 0 and json.loads(done.stdout)["width"] == 192, done.stderr)

    def refused(name, code, words, *arguments):
        result = run(program, *arguments, "-o", folder / "refused.mkv")
        lines = result.stderr.strip().splitlines()
        check(name, result.returncode == code and len(lines) == 1 and words in lines[0], f"{result.returncode} {result.stderr}")

    refused("another clip", 2, "another input", folder / "fine.mkv", "--plan", edited)
    refused("no file", 3, "cannot be read", source, "--plan", folder / "none.json")
    refused("no plan", 3, "not a JSON object", source, "--plan", source)
    (folder / "odd.json").write_text(json.dumps({**plan, "steps": [{"step": "deblok"}]}))
    refused("unknown step", 2, "did you mean 'deblock'", source, "--plan", folder / "odd.json")
    (folder / "odd.json").write_text(json.dumps({**plan, "steps": []}))
    refused("a folder as a plan", 3, "cannot be read", source, "--plan", folder)
    refused("no steps", 2, "the plan has no steps", source, "--plan", folder / "odd.json")
    (folder / "odd.json").write_text(json.dumps({**plan, "steps": [{"strength": 1}]}))
    refused("unnamed step", 3, "is not a plan", source, "--plan", folder / "odd.json")
    refused("plan of a folder", 2, "not for a folder", folder, "--plan", edited)


def check_budget(program, folder):
    """The widest network that is in time, timed once."""
    source = folder / "coarse.mkv"
    for words, network in ((["--fps", "0.01"], "best"), (["--fps", "1e7"], "fast"), (["--budget", "best"], "best"),
                           (["--network", "good"], "good")):  # fmt: skip
        plan = plan_of(program, source, *words)
        check(f"{words}: network", plan["network"] == network, plan["network"])
    timings = folder / "cache/fettle/enhance.json"
    kept = timings.read_text() if timings.exists() else ""
    check("timings", kept.count(" deblock=1,superres=1 by ") == 3, kept)
    plan_of(program, source, "--fps", "3")
    check("timed once", timings.read_text() == kept)
    timings.write_text("{")
    reasons = {choice["what"]: choice["reason"] for choice in plan_of(program, source)["choices"]}
    check("reason", "12 frames a second are wanted" in reasons["network"] and "if no other program runs" in reasons["network"], reasons)
    cores = len(os.sched_getaffinity(0))
    words = [program, source, "-o", folder / "planned.mkv", "--plan-only", "--json", "--threads", str(cores + 1)]
    shared = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    text = next(choice["reason"] for choice in shared["choices"] if choice["what"] == "network")
    check("threads share cores", f"{cores + 1} threads on {cores} cores" in text, text)
    check("share of the cores", 0 < shared["processor_share"] <= 1, shared["processor_share"])
    check("a share that is left is told", ("other programs run" in text) == (shared["processor_share"] < 0.9), text)
    for words in (["--fps", "0"], ["--fps", "nan"], ["--steps", "sharpen=nan"], ["--alert-score", "nan"],
                   ["--fps", "5", "--network", "good"], ["--fps", "5", "--budget", "best"], ["--budget", "most"]):
        done = run(program, source, *words)
        check(f"{words}: refused", done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr)


def check_odd_sizes(program, folder):
    """deblock and denoise keep the size, whatever it is, and the depth."""
    for name, size, pixels in (("odd.png", "37x23", "gray"), ("tiny.png", "1x1", "rgb24"), ("deep.png", "34x35", "rgb48be")):
        media.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s=64x64,format=rgb24,scale={size.replace('x', ':')}", "-frames:v", "1",
                     "-pix_fmt", pixels, folder / name)  # fmt: skip
        plan = plan_of(program, folder / name, "--steps", "deblock,denoise")
        (folder / "odd.json").write_text(json.dumps({**plan, "level": 40, "noise": 5}))
        done = run(program, folder / name, "-o", folder / ("restored_" + name), "--plan", folder / "odd.json", "--json")
        check(name, done.returncode == 0, done.stderr)
        if done.returncode == 0:
            result = json.loads(done.stdout)
            check(f"{name}: size", f"{result['width']}x{result['height']}" == size, result)


if __name__ == "__main__":
    run_parts(check_advice, check_scenes, check_replay, check_budget, check_odd_sizes, make=make)
