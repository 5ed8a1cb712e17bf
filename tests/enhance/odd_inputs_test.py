"""Inputs that are seldom: pictures that are to be turned, WebP, GIF, encrypted video, foreign plans: odd_inputs_test.py FETTLE_ENHANCE"""

import json
import pathlib
import subprocess

import media
from checks import check, run_parts

# A segment of Exif, little endian, of one entry: the orientation.
EXIF = "ffe1002245786966000049492a000800000001001201030001000000%02x00000000000000"


def run(program, *words):
    return subprocess.run([program, *map(str, words), "--threads", "2"], capture_output=True, text=True, timeout=100)


def refused(program, folder, name, code, word, *words):
    """One line that says why, and nothing written."""
    before = sorted(p.name for p in folder.iterdir())
    done = run(program, *words)
    check(f"{name}: exit code", done.returncode == code, f"{done.returncode}: {done.stderr}")
    check(f"{name}: one line", done.stderr.startswith("fettle: ") and done.stderr.count("\n") == 1 and word in done.stderr, done.stderr)
    check(f"{name}: files", before == sorted(p.name for p in folder.iterdir()))


def rotation(path):
    probe = subprocess.run(["ffprobe", "-v", "error", "-show_frames", "-of", "json", str(path)], capture_output=True, text=True, check=True)
    sides = json.loads(probe.stdout)["frames"][0].get("side_data_list", [])
    return next((side["rotation"] for side in sides if "rotation" in side), 0)


def check_turned(program, folder):
    """A JPEG keeps how it is to be turned; other formats cannot, which is said."""
    media.ffmpeg(*media.picture("40x24", pixels="yuv444p"), "-frames:v", "1", "-pix_fmt", "yuvj420p", folder / "plain.jpg")
    plain = (folder / "plain.jpg").read_bytes()
    for orientation, angle in ((6, -90), (3, -180), (8, 90)):
        source = folder / f"turned{orientation}.jpg"
        media.write_bytes(source, plain[:2] + bytes.fromhex(EXIF % orientation) + plain[2:])
        check(f"{source.name}: source", abs(rotation(source)) == abs(angle), rotation(source))
        done = run(program, source, "-o", folder / f"result{orientation}.jpg")
        check(f"{source.name}: exit code", done.returncode == 0, done.stderr)
        check(f"{source.name}: nothing is lost", done.stderr == "", done.stderr)
        check(f"{source.name}: turned", rotation(folder / f"result{orientation}.jpg") == rotation(source))
    done = run(program, folder / "turned6.jpg", "-o", folder / "turned.png")
    check("turned.png", done.returncode == 0 and "orientation is not carried" in done.stderr, done.stderr)


def check_colours(program, folder):
    """Another format's matrix and range, where pictures are high enough to be taken for BT.709."""
    media.ffmpeg("-f", "lavfi", "-i", "color=0xDC281E:s=64x720", "-f", "lavfi", "-i", "color=white:s=64x720", "-filter_complex",
                 "[0][1]hstack,format=rgb24", "-frames:v", "1", folder / "flat.png")  # fmt: skip
    encoders = subprocess.run(["ffmpeg", "-v", "error", "-encoders"], capture_output=True, text=True).stdout
    webp = [("flat.png", "flat.webp"), ("flat.jpg", "photo.webp")] if "libwebp" in encoders else []
    for source, name in [("flat.png", "flat.jpg"), ("flat.jpg", "again.png"), ("flat.jpg", "again.jpg"), *webp]:
        done = run(program, folder / source, "-o", folder / name, "--steps", "sharpen=0")
        check(f"{name}: exit code", done.returncode == 0, done.stderr)
        red, white = media.pixel(folder / name, 32, 360), media.pixel(folder / name, 96, 360)
        check(f"{name}: red", max(abs(a - b) for a, b in zip(red, (220, 40, 30))) <= 4, red)
        check(f"{name}: white", min(white) >= 252, white)


def check_words(program, folder):
    """Names and values of any kind: one line, in Fettle's words, without control characters."""
    for name, words, text in (("escape", ["\x1b[31m", "-o", "a.png"], "\\x1b[31m: no such file"), ("line end", ["a\nb", "-o", "a.png"], "a\\nb"),
                              ("a flag's value", ["a.png", "--version", "--version=x"], "--version: takes no value"),
                              ("no number", ["a.png", "--threads", "many"], "--threads")):
        done = run(program, *words)
        check(f"{name}: exit code", done.returncode in (2, 3), f"{done.returncode}: {done.stderr}")
        check(f"{name}: one line", done.stderr.count("\n") == 1 and "\x1b" not in done.stderr and text in done.stderr, repr(done.stderr))
        check(f"{name}: own words", "Could not convert" not in done.stderr, done.stderr)


def check_wide(program, folder):
    """Beyond the 16,384 pixels that H.264 ends at, another encoder that the container holds is taken."""
    media.ffmpeg("-f", "lavfi", "-i", "color=red:s=17000x64:r=5:d=0.4", "-c:v", "ffv1", folder / "wide.mkv")
    done = run(program, folder / "wide.mkv", "-o", folder / "wide2.mkv", "--steps", "sharpen=0", "--plan-only", "--json")
    check("wide: exit code", done.returncode == 0, done.stderr)
    named = run(program, folder / "wide.mkv", "-o", folder / "wide3.mkv", "--steps", "sharpen=0", "--encoder", "libx264", "--plan-only")
    check("wide: the named one refuses", named.returncode == 4 and "libx264" in named.stderr, named.stderr)


def check_webp(program, folder):
    """As good as the others, though its encoder counts quality the other way round."""
    encoders = subprocess.run(["ffmpeg", "-v", "error", "-encoders"], capture_output=True, text=True).stdout
    if "libwebp" not in encoders:
        return
    media.ffmpeg(*media.picture("64x48"), "-frames:v", "1", "-c:v", "libwebp", "-lossless", "1", folder / "a.webp")
    done = run(program, folder / "a.webp", "-o", folder / "b.webp", "--steps", "sharpen=0")
    check("webp: exit code", done.returncode == 0, done.stderr)
    compared = subprocess.run(["ffmpeg", "-v", "info", "-i", folder / "a.webp", "-i", folder / "b.webp", "-lavfi", "psnr", "-f", "null", "-"],
                              capture_output=True, text=True)
    decibels = float(compared.stderr.rsplit("average:", 1)[1].split()[0])
    check("webp: decibels", decibels > 36, decibels)


def check_gif(program, folder):
    """A moving GIF becomes a video; as a container it carries none."""
    media.ffmpeg(*media.picture(), folder / "moving.gif")
    refused(program, folder, "gif as output", 4, ".gif cannot hold video of any encoder here: it is for gif; use .mkv", folder / "moving.gif", "-o", folder / "x.gif")
    for name in ("x.yuv", "x.mjpeg", "x.MJPG"):  # by the suffix that was given, of several
        refused(program, folder, name, 4, f"{pathlib.Path(name).suffix} cannot hold video of any encoder here", folder / "moving.gif", "-o", folder / name)
    for name, what in (("x.y4m", "frames that are not compressed"), ("x.png", "single pictures"), ("x.mp3", "sound alone")):
        refused(program, folder, name, 4, f"it is for {what}; use .mkv", folder / "moving.gif", "-o", folder / name)
    (folder / "page.txt").write_text("no video\n")
    refused(program, folder, "text", 3, "page.txt: not a video or picture\n", folder / "page.txt", "-o", folder / "x.mp4")
    done = run(program, folder / "moving.gif", "--steps", "sharpen")
    check("gif: exit code", done.returncode == 0, done.stderr)
    check("gif: frames", len(media.frame_times(folder / "moving.gif")) == len(media.frame_times(folder / "moving_enhanced.mkv")))


def check_chapters(program, folder):
    """A track of chapters that outlasts the video is no sign of damage, and hides none."""
    (folder / "chapters.txt").write_text(";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=30\ntitle=one\n")
    media.ffmpeg(*media.picture(seconds=4), "-i", folder / "chapters.txt", "-map", "0", "-map_metadata", "1", *media.X264, "-g", "6",
                 "-movflags", "faststart", folder / "chapters.mp4")
    done = run(program, folder / "chapters.mp4", "--steps", "sharpen", "-o", folder / "chapters_out.mp4")
    check("chapters: exit code", done.returncode == 0 and "damaged" not in done.stderr, f"{done.returncode}: {done.stderr}")
    whole = (folder / "chapters.mp4").read_bytes()
    media.write_bytes(folder / "cut.mp4", whole[:len(whole) // 2])
    done = run(program, folder / "cut.mp4", "--steps", "sharpen", "-o", folder / "cut_out.mp4")
    check("cut: exit code", done.returncode == 1 and "damaged place" in done.stderr, f"{done.returncode}: {done.stderr}")


def check_late_frame(program, folder):
    """One late frame whose time of decoding is not told, beside a track without packets: no damage."""
    media.ffmpeg(*media.picture("48x32", 24), "-f", "lavfi", "-i", "sine=frequency=440:duration=1.7", "-frames:v", "1", "-c:v", "mpeg4", "-bf",
                 "2", "-c:a", "libvorbis", "-output_ts_offset", "1.4333", folder / "late.mkv")
    done = run(program, folder / "late.mkv", "--steps", "sharpen", "-o", folder / "late_out.mkv")
    check("late frame: exit code", done.returncode == 0 and "damaged" not in done.stderr, f"{done.returncode}: {done.stderr}")


def check_refusals(program, folder):
    media.ffmpeg(*media.picture(), *media.X264, folder / "plain.mp4")
    media.ffmpeg(*media.picture(), *media.X264, "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb",
                 "-encryption_kid", "a7e61c373e219033c21091fa607bf3b8", folder / "secret.mp4")
    refused(program, folder, "encrypted", 3, "is encrypted", folder / "secret.mp4", "-o", folder / "x.mp4")
    plan = json.loads(run(program, folder / "plain.mp4", "--plan-only", "--json").stdout)
    (folder / "other.mp4").write_bytes((folder / "plain.mp4").read_bytes()[:-1] + b"x")
    (folder / "plan.json").write_text(json.dumps(plan))
    refused(program, folder, "another clip's plan", 2, "is a plan of another input", folder / "other.mp4", "--plan", folder / "plan.json",
            "-o", folder / "x.mp4")
    (folder / "none.json").write_text('{"steps": []}')
    refused(program, folder, "no plan", 3, "is not a plan", folder / "plain.mp4", "--plan", folder / "none.json", "-o", folder / "x.mp4")


if __name__ == "__main__":
    run_parts(check_turned, check_colours, check_words, check_wide, check_webp, check_gif, check_chapters, check_late_frame, check_refusals)
