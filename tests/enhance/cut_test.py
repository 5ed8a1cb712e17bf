"""Parts of videos and sizes of results, compared with the input by ffprobe: cut_test.py FETTLE_ENHANCE"""

import json
import subprocess
import time

import media
from checks import check, run_parts

FAST = ["--preset", "ultrafast", "--threads", "2", "--overwrite"]


def enhance(program, source, result, *words):
    steps = [] if "--steps" in words else ["--steps", "contrast"]
    return subprocess.run([program, str(source), "-o", str(result), *FAST, *steps, *words], capture_output=True, text=True, timeout=120)


def made(program, source, result, *words):
    done = enhance(program, source, result, *words)
    check(f"{source.name} {' '.join(words)}", done.returncode == 0, done.stderr)
    return result


def near(got, wanted, tick=0.0011):
    return len(got) == len(wanted) and all(abs(a - b) <= tick for a, b in zip(got, wanted))


def make_film(folder, name, *words):
    """Five seconds of 10 frames each with sound, key frames 2 s apart, frames out of order, words and chapters."""
    (folder / "words.srt").write_text("1\n00:00:00,500 --> 00:00:02,700\nover the start\n\n"
                                      "2\n00:00:03,000 --> 00:00:03,500\nwithin\n\n3\n00:00:04,700 --> 00:00:04,900\nbehind\n")
    (folder / "chapters.txt").write_text(";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=one\n"
                                         "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=5000\ntitle=two\n")
    film = folder / name
    media.ffmpeg(*media.picture(rate=10, seconds=5), "-f", "lavfi", "-i", "sine=frequency=440:duration=5", "-i",
                 folder / "words.srt", "-i", folder / "chapters.txt", "-map", "0", "-map", "1", "-map", "2", "-map_metadata", "3",
                 "-c:v", "libx264", "-g", "20", "-bf", "2", "-threads", "1", "-c:a", "aac", *words, film)
    return film


def sound_of(path):
    return [float(p["pts_time"]) for p in media.probe(path)["packets_and_frames"]
            if p["type"] == "packet" and p["codec_type"] == "audio"]


def texts_of(path):
    return [(float(p["pts_time"]), float(p["duration_time"])) for p in media.probe(path)["packets_and_frames"]
            if p["type"] == "packet" and p["codec_type"] == "subtitle"]


def check_part(program, folder):
    film = make_film(folder, "film.mkv", "-c:s", "srt")
    # Between key frames; 2.45 is no frame's time.
    part = made(program, film, folder / "part.mkv", "--start", "2.45", "--duration", "0:00:02")
    wanted = [t - 2.45 for t in media.frame_times(film) if 2.45 <= t < 4.45]
    check("20 frames", len(wanted) == 20 and near(media.frame_times(part), wanted), (media.frame_times(part), wanted))
    sound = [t - 2.45 for t in sound_of(film) if 2.45 <= t < 4.45]
    check("sound at its times", near(sound_of(part), sound), (sound_of(part)[:3], sound[:3]))
    (shown, length), within, _ = texts_of(film)
    texts = [0, shown + length - 2.45, within[0] - 2.45, within[1]]
    check("what is shown at the start, what is within", near([t for pair in texts_of(part) for t in pair], texts), texts_of(part))
    check("its chapter", [(float(a), round(float(b), 3), c) for a, b, c in media.chapters(part)] == [(0, 2, "two")],
          media.chapters(part))
    # Frames are those of the film: the same pixels by the same steps.
    whole = made(program, film, folder / "whole.mkv", "--crf", "0")
    exact = made(program, film, folder / "exact.mkv", "--crf", "0", "--start", "2.5")
    pixels = [subprocess.run(["ffmpeg", "-v", "error", *seek, "-i", str(path), "-map", "0:v", "-f", "framemd5", "-"],
                             capture_output=True, text=True, check=True).stdout.splitlines() for path, seek in
              ((whole, []), (exact, []))]
    hashes = [[line.split(",")[-1] for line in lines if not line.startswith("#")] for lines in pixels]
    check("the same frames", len(hashes[1]) == 25 and hashes[1] == hashes[0][25:], [len(one) for one in hashes])
    document = json.loads(enhance(program, film, folder / "part.mkv", "--start", "1", "--json").stdout)
    check("what was cut", document["cut"] == {"start": 1, "duration": None} and document["frames_in"] == 40, document.get("cut"))


def check_containers(program, folder):
    film = make_film(folder, "film.mp4", "-c:s", "mov_text")
    part = made(program, film, folder / "part.mp4", "--start", "1.03", "--duration", "1.5")
    wanted = [t - 1.03 for t in media.frame_times(film) if 1.03 <= t < 2.53]
    check("times in mp4", near(media.frame_times(part), wanted), (media.frame_times(part), wanted))
    check("sound in mp4", near(sound_of(part), [t - 1.03 for t in sound_of(film) if 1.03 <= t < 2.53]), sound_of(part)[:3])
    stream = folder / "film.ts"
    media.ffmpeg("-i", film, "-map", "0:v", "-map", "0:a", "-c", "copy", stream)
    begin = min(sound_of(stream)[0], media.frame_times(stream)[0])
    part = made(program, stream, folder / "part of a stream.mkv", "--start", "2.05", "--duration", "1")
    wanted = [t - 2.05 for t in media.frame_times(stream) if begin + 2.05 <= t < begin + 3.05]
    check("from a stream that begins late", near(media.frame_times(part), wanted), (begin, media.frame_times(part), wanted))
    part = made(program, film, folder / "twice.mkv", "--start", "2", "--duration", "1", "--steps", "interpolate")
    check("with frames between", len(media.frame_times(part)) == 19, media.frame_times(part))


def check_resume(program, folder):
    film = folder / "long.mkv"
    media.ffmpeg(*media.picture("320x240", 50, 24), *media.X264, "-g", "100", film)
    words = ["--start", "3.01", "--duration", "18"]
    whole = made(program, film, folder / "long part.mkv", *words).read_bytes()
    result = folder / "killed.mkv"
    job = folder / "killed.mkv.fettle-job"
    for _ in range(5):  # until a run is killed before its end
        result.unlink(missing_ok=True)
        run = subprocess.Popen([program, str(film), "-o", str(result), *FAST, "--steps", "contrast", *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while time.monotonic() < end and run.poll() is None and not (job / "segment-00000.nut").exists():
            time.sleep(0.002)
        run.kill()
        run.communicate()
        if job.exists():
            break
    check("a run was killed before its end", job.exists())
    other = enhance(program, film, result, "--start", "3.02", "--duration", "18")
    check("another part does not go on with it", other.returncode == 2 and "start was" in other.stderr, other.stderr)
    other = enhance(program, film, result, *words, "--size", "160x120")
    check("nor another size", other.returncode == 2 and "size was" in other.stderr, other.stderr)
    check("the same bytes after a kill", made(program, film, result, *words).read_bytes() == whole)


def check_sizes(program, folder):
    film = folder / "wide.mkv"
    media.ffmpeg(*media.picture("128x96"), *media.X264, film)
    for words, size, shape in ((["--size", "96x72"], (96, 72), "1:1"), (["--size", "200x100"], (200, 100), "2:3"),
                               (["--size", "320x240", "--steps", "superres"], (320, 240), "1:1")):
        stream = media.video_of(made(program, film, folder / f"{words[1]}.mkv", *words))
        check(f"{words}", (stream["width"], stream["height"]) == size, stream)
        check(f"the shape of {words}", stream.get("sample_aspect_ratio", "1:1") == shape, stream.get("sample_aspect_ratio"))
    picture = folder / "picture.png"
    media.ffmpeg("-i", film, "-frames:v", "1", picture)
    stream = media.video_of(made(program, picture, folder / "sized.png", "--size", "101x77"))
    check("a picture of any size", (stream["width"], stream["height"]) == (101, 77), stream)


def check_refusals(program, folder):
    film, raw = folder / "film.mkv", folder / "raw.264"
    media.ffmpeg("-i", film, "-map", "0:v", "-c", "copy", raw)
    media.ffmpeg("-i", film, "-frames:v", "1", folder / "one.png")
    for source, words, code, text in (
            (film, ["--start", "7"], 2, "no frame is shown from --start on; it ends at 5"),
            (film, ["--start", "-1"], 2, "--start: expected seconds or h:m:s, as 83.5 or 0:01:23.5, got '-1'"),
            (film, ["--start", "1:61"], 2, "got '1:61'"), (film, ["--start", "1.5:10"], 2, "got '1.5:10'"),
            (film, ["--start", "nan"], 2, "got 'nan'"), (film, ["--start", "1:2:3:4"], 2, "got '1:2:3:4'"),
            (film, ["--duration", "0"], 2, "--duration: expected seconds over 0"),
            (film, ["--size", "65x48"], 2, "--size 65x48: its width is odd, and yuv420p has one chroma sample for two pixels"),
            (film, ["--size", "64x49"], 2, "its height is odd"), (film, ["--size", "64"], 2, "as 1920x1080, got '64'"),
            (film, ["--size", "0x4"], 2, "got '0x4'"), (film, ["--size", "32768x32768"], 2, "is more than 2^28 pixels"),
            (raw, ["--start", "1"], 4, "its frames have no times"),
            (folder / "one.png", ["--start", "1"], 2, "--start and --duration are for videos")):
        done = enhance(program, source, folder / ("refused.png" if source.suffix == ".png" else "refused.mkv"), *words)
        lines = done.stderr.splitlines()
        check(f"refuses {words}", done.returncode == code and len(lines) == 1 and text in lines[0], (done.returncode, done.stderr))
        check("nothing is left", not (folder / "refused.mkv").exists() and not (folder / "refused.mkv.fettle-job").exists())


if __name__ == "__main__":
    run_parts(check_part, check_containers, check_resume, check_sizes, check_refusals)
