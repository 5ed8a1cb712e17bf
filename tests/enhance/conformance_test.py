"""Nothing lost: every file of media.py through fettle-enhance: conformance_test.py FETTLE_ENHANCE"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess

import media
from checks import check, run_parts

# The pixels that become others, because no encoder here has them.
OTHER_PIXELS = {"full_range.mp4": "yuv420p", "rgb.mkv": "yuv444p", "odd_subsampled.mkv": "yuv420p"}
# Colours that RGB does not have and the result needs.
OTHER_TAGS = {"rgb.mkv", "full_range.mp4"}
# Containers without times of presentation.
WITHOUT_TIMES = {"elementary.264", "old.avi"}


def run(program, *words):
    return subprocess.run([program, *map(str, words), "--threads", "2"], capture_output=True, text=True, timeout=100)


def check_equal(name, what, before, after):
    check(f"{name}: {what}", before == after, f"{before} became {after}")


def close(before, after):
    """Times of frames: exact but for the six digits of ffprobe, and Matroska's milliseconds."""
    return len(before) == len(after) and all(a is None or b is None or abs(a - b) < 2e-6 for a, b in zip(before, after))


def check_file(program, path, folder):
    name = path.name
    result = folder / ("result_" + (path.stem + ".mkv" if path.suffix == ".264" else name))
    done = run(program, path, "-o", result, "--json", "--preset", "ultrafast")
    check(f"{name}: exit code", done.returncode == 0, f"{done.returncode}: {done.stderr}")
    if done.returncode != 0:
        return
    document = json.loads(done.stdout)
    before, after = media.frame_times(path), media.frame_times(result)
    check(f"{name}: frames", len(before) == len(after) == document["frames_out"], f"{len(before)} became {len(after)}")
    if name not in WITHOUT_TIMES:
        check(f"{name}: times", close(before, after), f"{before} became {after}")
    old, new = media.video_of(path), media.video_of(result)
    check_equal(name, "size", (2 * old["width"], 2 * old["height"]), (new["width"], new["height"]))
    check_equal(name, "packets of other streams", media.other_packets(path), media.other_packets(result))
    check_equal(name, "chapters", media.chapters(path), media.chapters(result))
    wanted, got = media.tags(path), media.tags(result)
    wanted["pix_fmt"] = OTHER_PIXELS.get(name, wanted["pix_fmt"])
    if name in OTHER_TAGS:
        wanted, got = wanted["pix_fmt"].replace("yuvj", "yuv"), got["pix_fmt"].replace("yuvj", "yuv")
    check_equal(name, "tags", wanted, got)
    check(f"{name}: nothing left beside it", not pathlib.Path(str(result) + ".fettle-job").exists())


def check_chain(program, folder):
    """Every step alone and together; what reaches the encoder does not depend on the threads."""
    source = folder / "plain.mp4"
    for steps, scale in (("sharpen", 1), ("contrast=1", 1), ("lowlight,clarity", 1), ("deepen,sharpen", 1),
                         ("superres=0.5,sharpen=2,contrast", 2), ("superres,superres", 4)):
        result = folder / f"{steps}.mkv"
        done = run(program, source, "-o", result, "--steps", steps, "--preset", "ultrafast", "--json")
        check(f"{steps}: exit code", done.returncode == 0, done.stderr)
        check(f"{steps}: done", all(time["ms"] > 0 for time in json.loads(done.stdout)["times"]), done.stdout)
        check(f"{steps}: size", media.video_of(result)["width"] == scale * 64)
    sums = set()
    for threads in ("1", "3"):
        done = subprocess.run([program, source, "-o", folder / f"threads{threads}.mkv", "--threads", threads, "--encoder", "libx264",
                               "--crf", "0", "--preset", "ultrafast"], capture_output=True, text=True)
        made = subprocess.run(["ffmpeg", "-v", "error", "-i", folder / f"threads{threads}.mkv", "-f", "md5", "-"],
                              capture_output=True, text=True)
        sums.add(made.stdout)
    check("pixels by 1 and 3 threads", len(sums) == 1 and "MD5" in sums.pop(), str(done.stderr))


def check_between(program, folder):
    """A frame between each two, exactly half way, whatever the rate; everything else as it was."""
    for name in ("vfr.mp4", "audio.mp4", "old.avi", "single.mp4"):
        path, result = folder / name, folder / f"between_{pathlib.Path(name).stem}.mp4"
        done = run(program, path, "-o", result, "--steps", "interpolate,sharpen", "--network", "fast", "--preset", "ultrafast")
        check(f"{name}: between: exit code", done.returncode == 0, done.stderr)
        before, after = media.frame_times(path), media.frame_times(result)
        check(f"{name}: between: frames", len(after) == 2 * len(before) - 1, f"{len(before)} became {len(after)}")
        if name not in WITHOUT_TIMES:
            wanted = [t for a, b in zip(before, before[1:]) for t in (a, (a + b) / 2)] + before[-1:]
            check(f"{name}: between: times", close(wanted, after), f"{before} became {after}")
        if name == "audio.mp4":
            check_equal(name, "between: packets of other streams", media.other_packets(path), media.other_packets(result))


def check_people(program, folder):
    """Steps that look for people keep frames, times and pixels; alone, in a chain, and on what is made between."""
    for name, steps in (("vfr.mp4", "privacy"), ("single.mp4", "background-blur,privacy-head=2"), ("old.avi", "interpolate,privacy")):
        path, result = folder / name, folder / f"people_{pathlib.Path(name).stem}.mkv"
        done = run(program, path, "-o", result, "--steps", steps, "--network", "fast", "--preset", "ultrafast", "--json")
        check(f"{name}: {steps}: exit code", done.returncode == 0, done.stderr)
        before, after = media.frame_times(path), media.frame_times(result)
        check_equal(name, f"{steps}: frames", len(before) * 2 - 1 if "interpolate" in steps else len(before), len(after))
        check_equal(name, f"{steps}: pixels", media.video_of(path)["pix_fmt"], media.video_of(result)["pix_fmt"])
        gains = [row.get("gain", "") for row in json.loads(done.stdout)["times"]]
        check(f"{name}: {steps}: what was found", any("people in" in gain for gain in gains), gains)


def check_light(program, folder):
    """HDR10: what frames alone have of the master's light is the stream's afterwards."""
    light = "hdr10=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400"
    media.ffmpeg(*media.picture(pixels="yuv420p10le"), "-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
                 "log-level=none:" + light, folder / "light.mkv")
    done = run(program, folder / "light.mkv", "-o", folder / "result_light.mkv", "--preset", "ultrafast")
    check("HDR10: exit code", done.returncode == 0, done.stderr)
    data = {d["side_data_type"]: d for d in media.video_of(folder / "result_light.mkv").get("side_data_list", [])}
    check("HDR10: master", data.get("Mastering display metadata", {}).get("max_luminance") == "1000/1", data)
    check("HDR10: brightest", data.get("Content light level metadata", {}).get("max_content") == 1000, data)


def check_damage(program, folder):
    """What can be decoded comes out, and the exit code says that it is not all."""
    half = (folder / "black_start.mkv").read_bytes()
    media.write_bytes(folder / "cut.mkv", half[:len(half) // 2])
    holes = bytearray((folder / "subtitles.mkv").read_bytes())
    for at in range(len(holes) // 3, len(holes) // 3 + 200):
        holes[at] ^= 0x5A
    media.write_bytes(folder / "holes.mkv", holes)
    # Matroska goes on behind what it does not understand, and tells nobody.
    for name, codes in (("cut.mkv", [1]), ("holes.mkv", [0, 1, 3])):
        done = run(program, folder / name, "-o", folder / f"result_{name}", "--preset", "ultrafast")
        check(f"{name}: ends", done.returncode in codes and ("damaged place" in done.stderr) == (done.returncode == 1),
              f"{done.returncode}: {done.stderr}")  # fmt: skip
        if done.returncode in (0, 1):
            before, after = media.frame_times(folder / name), media.frame_times(folder / f"result_{name}")
            check_equal(name, "frames", len(before), len(after))
    movie = (folder / "audio.mp4").read_bytes()
    media.write_bytes(folder / "headless.mp4", movie[:len(movie) // 2])
    refusals(program, folder, [([folder / "headless.mp4"], 3)])


def refusals(program, folder, lines):
    """One line, an exit code, and nothing written."""
    for words, code in lines:
        before = sorted(p.name for p in folder.iterdir())
        done = run(program, *words)
        name = " ".join(str(w) for w in words)
        check(f"{name}: exit code", done.returncode == code, f"{done.returncode}: {done.stderr}")
        check(f"{name}: one line", done.stderr.startswith("fettle: ") and done.stderr.count("\n") == 1, done.stderr)
        check_equal(name, "files", before, sorted(p.name for p in folder.iterdir()))


def check_refusals(program, folder):
    plain = folder / "plain.mp4"
    (folder / "words.txt").write_text("not a video\n")
    media.ffmpeg(*media.TONE, "-c:a", "flac", folder / "sound.mkv")
    (folder / "nothing.mp4").write_bytes(b"")
    (folder / "none").mkdir()
    refusals(program, folder, [
        ([folder / "missing.mp4"], 3), ([folder / "words.txt"], 3), ([folder / "sound.mkv"], 3), ([folder / "nothing.mp4"], 3),
        ([folder / "none"], 3), ([plain, "-o", plain], 2), ([plain, "-o", folder / "vfr.mkv"], 2),
        ([plain, "-o", folder / "no/such/folder.mp4"], 2), ([plain, "-o", folder / "x.unknown"], 2),
        ([plain, "--steps", "superes", "-o", folder / "x.mp4"], 2), ([plain, "--steps", "sharpen=9", "-o", folder / "x.mp4"], 2),
        ([plain, "--steps", "privacy=0", "-o", folder / "x.mp4"], 2), ([plain, "--steps", "privacy", "--preview", "-o", folder / "x.mp4"], 2),
        ([plain, "--steps", "privacy-head", "--report", folder / "x.html", "-o", folder / "x.mp4"], 2),
        ([plain, "--encoder", "x264", "-o", folder / "x.mp4"], 2), ([plain, "--encoder", "libx264", "-o", folder / "x.webm"], 4),
        ([plain, "--preset", "swift", "-o", folder / "x.mp4"], 2), ([plain, "--overwite"], 2), ([], 2),
        ([folder / "subtitles.mkv", "-o", folder / "x.mp4", "--strict"], 4)])
    done = run(program, plain, "--steps", "superes", "-o", folder / "x.mp4")
    check("the nearest step", "did you mean 'superres'? There are: superres, " in done.stderr, done.stderr)
    done = run(program, plain, "--steps", "wxyzwxyz", "-o", folder / "x.mp4")
    check("no step is near", "unknown step 'wxyzwxyz'; there are: " in done.stderr, done.stderr)
    done = run(program, plain, "--encoder", "x264", "-o", folder / "x.mp4")
    check("the nearest encoder", "unknown encoder 'x264'; there are: libx264, " in done.stderr, done.stderr)
    done = run(program, plain, "--preset", "fats", "-o", folder / "x.mp4")
    check("the nearest preset", "has no 'fats', did you mean 'fast'? There are: fast, " in done.stderr, done.stderr)
    done = run(program, plain, "--qqqqqqq")
    check("no option is near", "unknown option '--qqqqqqq' (fettle enhance --help lists them)" in done.stderr, done.stderr)
    done = run(program, folder / "subtitles.mkv", "-o", folder / "lost.mp4", "--plan-only")
    check("losses are named before", "attachments" in done.stdout and not (folder / "lost.mp4").exists(), done.stdout)


def check_command(program, folder):
    """`fettle enhance` is this program where it is beside fettle, and one line where it is nowhere."""
    fettle = pathlib.Path(program).resolve().with_name("fettle")
    if not fettle.exists():
        return
    for words in (["enhance", "--help"], ["help", "enhance"]):
        done = subprocess.run([fettle, *words], capture_output=True, text=True)
        check(f"fettle {' '.join(words)}", done.returncode == 0 and "--plan-only" in done.stdout, done.stderr)
    check("fettle --help", " enhance " in subprocess.run([fettle, "--help"], capture_output=True, text=True).stdout)
    (folder / "alone").mkdir()
    alone = shutil.copy(fettle, folder / "alone" / "fettle")
    done = subprocess.run([alone, "enhance", "x.mp4"], capture_output=True, text=True, env={**os.environ, "PATH": str(folder / "alone")})
    check("fettle alone", done.returncode == 4 and "fettle-enhance is neither beside fettle nor on the PATH" in done.stderr and
          done.stderr.count("\n") == 1, f"{done.returncode}: {done.stderr}")


def check_pictures(program, folder):
    pictures = folder / "pictures"
    pictures.mkdir()
    for name, pixels in (("a.png", "rgb24"), ("b.jpg", "yuvj420p"), ("c.png", "rgba"), ("d.png", "gray"), ("e.png", "rgb48be")):
        media.ffmpeg(*media.picture("37x23", pixels=pixels if pixels != "yuvj420p" else "yuv444p"), "-frames:v", "1",
                     "-pix_fmt", pixels, pictures / name)
    planned = run(program, pictures, "--plan-only", "--json")
    check("folder: plan", planned.returncode == 0 and not (folder / "pictures_enhanced").exists(), planned.stderr)
    done = run(program, pictures, "--json")
    check("folder: exit code", done.returncode == 0, done.stderr)
    document = json.loads(done.stdout)
    check_equal("folder", "files", 5, len(document["files"]))
    for path in sorted(pictures.iterdir()):
        old, new = media.video_of(path), media.video_of(folder / "pictures_enhanced" / path.name)
        check_equal(path.name, "size", (2 * old["width"], 2 * old["height"]), (new["width"], new["height"]))
        check_equal(path.name, "pixels", old["pix_fmt"], new["pix_fmt"])
    media.ffmpeg(*media.picture("48x32"), *media.X264, pictures / "f.mkv")
    (pictures / "g.mkv").write_bytes(b"no video")
    several = run(program, pictures, "-o", folder / "several", "--jobs", "3", "--json")
    files = json.loads(several.stdout)["files"]
    check("jobs: exit code", several.returncode == 3 and "g.mkv" in several.stderr, several.stderr)
    check_equal("jobs", "order", [path.name for path in sorted(pictures.iterdir())], [pathlib.Path(one["input"]).name for one in files])
    check_equal("jobs", "failed", ["g.mkv"], [pathlib.Path(one["input"]).name for one in files if "error" in one])
    for path in sorted((folder / "pictures_enhanced").glob("[a-z]*")):
        check("jobs: " + path.name, path.read_bytes() == (folder / "several" / path.name).read_bytes())
    again = run(program, pictures, "--json")
    told = json.loads(again.stdout)
    check("folder: again", again.returncode == 3 and (told["failed"], told["skipped"]) == (1, 5), again.stderr)


def check_files(program, folder):
    paths = media.make(folder)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda path: check_file(program, path, folder), paths))


if __name__ == "__main__":
    run_parts(check_files, check_chain, check_between, check_people, check_light, check_damage, check_refusals, check_pictures, check_command)
