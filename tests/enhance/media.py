"""One-second files of every kind that fettle-enhance is to carry, made by ffmpeg, and what ffprobe says of them."""

import concurrent.futures
import functools
import json
import pathlib
import shutil
import subprocess


def tools_missing():
    """The reason to skip, or None."""
    missing = [name for name in ("ffmpeg", "ffprobe") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)}" if missing else None


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-nostdin", *map(str, words)], check=True)


def picture(size="64x48", rate=12, seconds=1, pixels="yuv420p"):
    return ["-f", "lavfi", "-i", f"testsrc2=s={size}:r={rate}:d={seconds},format={pixels}"]


TONE = ["-f", "lavfi", "-i", "sine=frequency=440:duration=1"]
X264 = ["-c:v", "libx264", "-preset", "ultrafast", "-threads", "1"]


def texts(folder):
    """A subtitle file, chapters, and something to attach."""
    (folder / "words.srt").write_text("1\n00:00:00,100 --> 00:00:00,400\nfirst\n\n2\n00:00:00,500 --> 00:00:00,900\nsecond\n")
    (folder / "words.ass").write_text("[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\nFormat: Name, Fontname, Fontsize\n"
                                      "Style: Default,Serif,20\n\n[Events]\nFormat: Layer, Start, End, Style, Text\n"
                                      "Dialogue: 0,0:00:00.10,0:00:00.90,Default,words\n")
    (folder / "chapters.txt").write_text(";FFMETADATA1\ntitle=A title\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=500\ntitle=one\n"
                                         "[CHAPTER]\nTIMEBASE=1/1000\nSTART=500\nEND=1000\ntitle=two\n")
    (folder / "letters.ttf").write_bytes(bytes(range(256)) * 4)


def files(folder):
    """(name, arguments of ffmpeg); each is one second or one frame."""
    yield "plain.mp4", [*picture(), *X264]
    yield "audio.mp4", [*picture(), *TONE, *X264, "-c:a", "aac", "-metadata", "title=A title"]
    yield "surround.mkv", [*picture(), "-f", "lavfi", "-i", "anoisesrc=d=1:a=0.1", *X264, "-c:a", "ac3", "-ac", "6"]
    yield "vfr.mkv", [*picture(rate=50), "-vf", "select='not(mod(n,3))+not(mod(n,7))'", *X264, "-vsync", "vfr"]
    yield "vfr.mp4", [*picture(rate=50), "-vf", "select='not(mod(n,3))+not(mod(n,7))'", *X264, "-vsync", "vfr",
                      "-video_track_timescale", "90000"]
    yield "odd_rate.mp4", [*picture(rate="5094/100"), *X264]
    yield "late.mkv", [*picture(), *TONE, *X264, "-c:a", "aac", "-output_ts_offset", "1.5"]
    yield "anamorphic.mp4", [*picture(), "-vf", "setsar=16/11", *X264]
    yield "deep.mkv", [*picture(pixels="yuv420p10le"), *X264, "-colorspace", "bt2020nc", "-color_primaries", "bt2020",
                       "-color_trc", "smpte2084", "-color_range", "tv"]
    yield "full_range.mp4", [*picture(pixels="yuvj420p"), *X264, "-colorspace", "bt709", "-color_primaries", "bt709",
                             "-color_trc", "bt709"]
    yield "whole_chroma.mkv", [*picture(pixels="yuv444p"), *X264]
    yield "gray.mkv", [*picture(pixels="gray"), *X264]
    yield "rgb.mkv", [*picture(pixels="rgb24"), "-c:v", "ffv1", "-pix_fmt", "bgr0"]
    yield "open_gop.ts", [*picture(rate=25), *TONE, "-c:v", "mpeg2video", "-g", "6", "-bf", "2", "-c:a", "mp2"]
    yield "old.avi", [*picture(), *TONE, "-c:v", "mpeg4", "-bf", "2", "-c:a", "mp3"]
    yield "interlaced.mkv", [*picture(rate=25), "-vf", "interlace", *X264, "-flags", "+ildct"]
    yield "black_start.mkv", [*picture(), "-vf", "fade=in:0:10", *X264]
    yield "subtitles.mkv", [*picture(), *TONE, "-i", folder / "words.srt", "-i", folder / "words.ass", "-i",
                            folder / "chapters.txt", "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-map_metadata", "4",
                            "-attach", folder / "letters.ttf", "-attach", folder / "words.ass",
                            "-metadata:s:t:0", "mimetype=application/x-truetype-font",
                            "-metadata:s:t:1", "mimetype=font/of-tomorrow", *X264,
                            "-c:a", "flac", "-c:s", "copy", "-metadata:s:a", "language=deu", "-disposition:s:1", "forced"]
    yield "subtitles.mp4", [*picture(), "-i", folder / "words.srt", "-i", folder / "chapters.txt", "-map", "0", "-map", "1",
                            "-map_metadata", "2", *X264, "-c:s", "mov_text"]
    yield "1x1.mkv", [*picture("4x4", pixels="yuv444p"), "-vf", "crop=1:1", "-c:v", "ffv1"]
    yield "33x17.mkv", [*picture("34x18", pixels="yuv444p"), "-vf", "crop=33:17", "-c:v", "libx264", "-preset", "ultrafast"]
    yield "wide.mkv", [*picture("1026x2", rate=4), *X264]
    yield "odd_subsampled.mkv", [*picture("34x18"), "-vf", "crop=33:17:exact=1", "-c:v", "ffv1"]
    yield "single.mp4", [*picture(), *X264, "-frames:v", "1"]
    yield "single_sound.mkv", [*picture(), *TONE, *X264, "-frames:v", "1", "-c:a", "flac"]
    yield "elementary.264", [*picture(), *X264, "-bf", "0"]


def make(folder):
    """All files of `files` below `folder`; their paths."""
    texts(folder)
    made = dict(files(folder))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: ffmpeg(*made[name], folder / name), made))
    paths = [folder / name for name in made]
    ffmpeg(*picture(), *TONE, *X264, "-c:a", "aac", folder / "upright.mp4")
    turned = folder / "turned.mp4"
    ffmpeg("-i", folder / "upright.mp4", "-c", "copy", "-metadata:s:v", "rotate=90", turned)
    cover = folder / "cover.mp4"
    ffmpeg(*picture(), "-frames:v", "1", folder / "cover.png")
    ffmpeg("-i", folder / "upright.mp4", "-i", folder / "cover.png", "-map", "0", "-map", "1", "-c", "copy",
           "-disposition:v:1", "attached_pic", cover)
    (folder / "cover.png").unlink()
    return [*paths, turned, cover]


@functools.lru_cache(maxsize=None)
def probe(path):
    """All that ffprobe knows: streams, chapters, packets with hashes, decoded frames."""
    words = ["-show_streams", "-show_chapters", "-show_packets", "-show_frames", "-show_data_hash", "md5"]
    done = subprocess.run(["ffprobe", "-v", "error", "-of", "json", *words, str(path)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def video_of(path):
    """The stream of moving pictures."""
    return next(s for s in probe(path)["streams"] if s["codec_type"] == "video" and not s["disposition"]["attached_pic"])


def frame_times(path):
    """Presentation times of all decoded frames, in seconds as ffprobe prints them; None where there is none."""
    index = video_of(path)["index"]
    frames = [f for f in probe(path)["packets_and_frames"] if f["type"] == "frame" and f["stream_index"] == index]
    times = [f.get("best_effort_timestamp_time") for f in frames]
    return [None if time is None else float(time) for time in times]


def other_packets(path):
    """Of each stream but the video: kind, codec, language, disposition, and the packets' times and hashes."""
    found = probe(path)
    video = video_of(path)["index"]
    packets = [p for p in found["packets_and_frames"] if p["type"] == "packet"]
    result = []
    for stream in found["streams"]:
        if stream["index"] == video:
            continue
        mine = [(p.get("pts_time"), p.get("data_hash")) for p in packets if p["stream_index"] == stream["index"]]
        flags = sorted(name for name, value in stream["disposition"].items() if value)
        result.append((stream["codec_type"], stream.get("codec_name"), stream.get("tags", {}).get("language"), flags,
                       stream.get("extradata_size") if stream["codec_type"] == "attachment" else None, mine))
    return result


def chapters(path):
    return [(c["start_time"], c["end_time"], c.get("tags", {}).get("title")) for c in probe(path)["chapters"]]


def tags(path):
    """What the video looks like beside its size."""
    stream = video_of(path)
    names = ("pix_fmt", "color_range", "color_space", "color_primaries", "color_transfer", "sample_aspect_ratio")
    rotation = [data["rotation"] for data in stream.get("side_data_list", []) if "rotation" in data]
    # "tv" is what it is where nobody says.
    return {**{name: stream.get(name) for name in names}, "rotation": rotation, "color_range": stream.get("color_range", "tv")}


def pixel(path, x, y):
    """Red, green and blue of a picture at a place, as viewers show them."""
    words = ["-i", str(path), "-vf", f"format=rgb24,crop=1:1:{x}:{y}", "-frames:v", "1", "-f", "rawvideo", "-"]
    return tuple(subprocess.run(["ffmpeg", "-v", "error", *words], capture_output=True, check=True).stdout)


def write_bytes(path, data):
    pathlib.Path(path).write_bytes(data)
