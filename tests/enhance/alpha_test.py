"""Transparency is kept where it can be, enlarged, and else said to be lost: alpha_test.py FETTLE_ENHANCE"""

import json
import subprocess

import media
from checks import check, run_parts

# Columns of the source and their alpha.
BANDS = [(0, 32, 0), (32, 64, 255), (64, 96, 128)]
ALPHA = "if(lt(X,32),0,if(lt(X,64),255,128))"
# Name, codec, its pixels and options.
SOURCES = [("ffv1.mkv", "ffv1", "bgra", []), ("qtrle.mov", "qtrle", "argb", []), ("png.mov", "png", "rgba", []),
           ("prores.mov", "prores_ks", "yuva444p10le", []), ("vp9.webm", "libvpx-vp9", "yuva420p", ["-auto-alt-ref", "0", "-crf", "4", "-b:v", "0"])]
# What is made of them: source, output, more words, the codec that is found there, losses.
KEPT = [("ffv1.mkv", "a.mkv", [], "prores", ["RGB becomes YUV and its colours are rounded"]), ("ffv1.mkv", "b.avi", [], "ffv1", None),
        ("qtrle.mov", "c.mov", [], "prores", None), ("qtrle.mov", "d.mov", ["--encoder", "qtrle"], "qtrle", None),
        ("png.mov", "e.mov", ["--encoder", "png"], "png", None), ("png.mov", "f.mkv", ["--encoder", "ffv1"], "ffv1", None),
        ("prores.mov", "g.mov", [], "prores", ["12 bits become 10"]), ("prores.mov", "h.webm", [], "vp9", None),
        ("vp9.webm", "i.webm", [], "vp9", []), ("vp9.webm", "j.mkv", ["--steps", "superres,deepen"], "prores", None),
        ("ffv1.mkv", "k.mkv", ["--steps", "interpolate,superres"], "prores", None)]
LOST = [("ffv1.mkv", "l.mp4", [], "transparency is lost, and RGB becomes YUV and its colours are rounded"),
        ("prores.mov", "m.mp4", [], "transparency is lost, and 12 bits become 10"),
        ("vp9.webm", "n.mkv", ["--encoder", "libx264"], "transparency is lost"),
        ("vp9.webm", "o.avi", ["--encoder", "mpeg4"], "transparency is lost"),
        ("vp9.webm", "p.webm", ["--encoder", "libvpx-vp9", "--crf", "9"], None)]


def run(program, *words):
    words = [program, *map(str, words), "--threads", "2", "--network", "fast"]
    return subprocess.run(words, capture_output=True, text=True, timeout=100)


def alpha_of(path, codec):
    """(width, height, bytes) of the first and the last frame's alpha."""
    decoder = ["-c:v", "libvpx-vp9"] if codec == "vp9" else []
    stream = media.video_of(path)
    words = ["ffmpeg", "-v", "error", *decoder, "-i", str(path), "-vf", "format=rgba,alphaextract,format=gray", "-f", "rawvideo", "-"]
    planes = subprocess.run(words, capture_output=True, check=True).stdout
    size = stream["width"] * stream["height"]
    return stream["width"], stream["height"], planes[:size], planes[-size:]


def check_alpha(name, path, codec, scale=2):
    """Even bands stay what they are up to a column from their ends."""
    worst = {"vp9": 24, "prores": 2}.get(codec, 1)
    width, height, *planes = alpha_of(path, codec)
    check(f"{name}: size", (width, height) == (96 * scale, 64 * scale), (width, height))
    for plane in planes:
        for left, right, wanted in BANDS:
            edge = 8 if codec == "vp9" else 1
            columns = range(left * scale + (left > 0) * scale * edge, right * scale - scale * edge)
            errors = [abs(plane[y * width + x] - wanted) for y in range(0, height, 7) for x in columns]
            check(f"{name}: {wanted} in {left}..{right}", errors and max(errors) <= worst, max(errors, default=None))


def make(folder):
    moving = f"testsrc2=s=96x64:r=12:d=0.5,format=yuva444p,geq=lum='p(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='{ALPHA}'"
    media.ffmpeg("-f", "lavfi", "-i", moving, "-c:v", "ffv1", "-pix_fmt", "bgra", folder / "ffv1.mkv")
    for name, codec, pixels, options in SOURCES[1:]:
        media.ffmpeg("-i", folder / "ffv1.mkv", "-c:v", codec, "-pix_fmt", pixels, *options, folder / name)
    media.ffmpeg(*media.picture("96x64", pixels="bgra", seconds=0.5), "-c:v", "ffv1", folder / "opaque.mkv")
    media.ffmpeg("-i", folder / "ffv1.mkv", "-frames:v", "1", folder / "picture.png")


def check_kept(program, folder):
    for source, name, words, codec, losses in KEPT:
        done = run(program, folder / source, "-o", folder / name, *([] if "--steps" in words else ["--steps", "superres"]), *words, "--json")
        check(f"{source} {name}: exit code", done.returncode == 0, done.stderr)
        if done.returncode != 0:
            continue
        document = json.loads(done.stdout)
        check(f"{source} {name}: codec", media.video_of(folder / name)["codec_name"] == codec, media.video_of(folder / name))
        check(f"{source} {name}: not lost", "transparency" not in done.stderr, done.stderr)
        if losses is not None:
            check(f"{source} {name}: losses", [loss for loss in document["losses"] if "rounds times" not in loss] == losses, document["losses"])
        told = media.video_of(folder / name).get("tags", {})
        check(f"{source} {name}: alpha_mode", (told.get("alpha_mode") or told.get("ALPHA_MODE")) == ("1" if codec == "vp9" else None), told)
        check_alpha(f"{source} {name}", folder / name, codec)


def check_lost(program, folder):
    """What is lost is said before work, and refused by --strict."""
    for source, name, words, loss in LOST:
        words = [folder / source, "-o", folder / name, "--steps", "superres", *words]
        planned = run(program, *words, "--plan-only", "--json")
        losses = json.loads(planned.stdout)["losses"]
        check(f"{name}: losses", loss is None or loss in losses, losses)
        shown = run(program, *words, "--plan-only")
        check(f"{name}: shown", loss is None or "transparency is lost" in shown.stdout, shown.stdout)
        strict = run(program, *words, "--strict")
        check(f"{name}: strict", strict.returncode == (4 if losses else 0), f"{strict.returncode}: {strict.stderr}")
        check(f"{name}: nothing written", (folder / name).exists() == (not losses))


def check_opaque(program, folder):
    """Alpha that hides nothing is no loss, and needs no encoder of its own."""
    done = run(program, folder / "opaque.mkv", "-o", folder / "opaque.mp4", "--steps", "superres", "--json")
    check("opaque: exit code", done.returncode == 0, done.stderr)
    check("opaque: not said", "transparency" not in done.stderr, done.stderr)
    check("opaque: codec", media.video_of(folder / "opaque.mp4")["codec_name"] == "h264")


def check_formats(program, folder):
    """Encoders of RGB keep colours, encoders of YUV get no RGB, grey keeps its bits."""
    media.ffmpeg(*media.picture("96x64", seconds=0.5), *media.X264, folder / "colours.mkv")
    media.ffmpeg(*media.picture("96x64", pixels="gray16le", seconds=0.5), "-c:v", "ffv1", folder / "grey.mkv")
    for source, encoder, name, pixels in (("colours.mkv", "qtrle", "q.mov", "rgb24"), ("colours.mkv", "png", "q.avi", "rgb24"),
                                          ("grey.mkv", "png", "r.mov", "gray16be"), ("grey.mkv", "libvpx-vp9", "s.mkv", "yuv444p12le")):
        done = run(program, folder / source, "-o", folder / name, "--encoder", encoder, "--steps", "sharpen")
        check(f"{encoder}: exit code", done.returncode == 0, done.stderr)
        check(f"{encoder}: pixels", done.returncode == 0 and media.video_of(folder / name)["pix_fmt"] == pixels, media.video_of(folder / name))


def check_pictures(program, folder):
    """Pictures alike: PNG keeps it, JPEG has none."""
    done = run(program, folder / "picture.png", "-o", folder / "large.png", "--steps", "superres", "--strict")
    check("picture: exit code", done.returncode == 0, done.stderr)
    check_alpha("picture", folder / "large.png", "png")
    done = run(program, folder / "picture.png", "-o", folder / "large.jpg", "--steps", "superres")
    check("jpeg: said", done.returncode == 0 and "transparency is lost" in done.stderr, done.stderr)
    done = run(program, folder / "picture.png", "-o", folder / "strict.jpg", "--steps", "superres", "--strict")
    check("jpeg: strict", done.returncode == 4 and not (folder / "strict.jpg").exists(), done.stderr)


if __name__ == "__main__":
    run_parts(check_kept, check_lost, check_opaque, check_formats, check_pictures, make=make)
