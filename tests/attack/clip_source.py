"""Short videos of every kind by chance alone, made by ffmpeg; clips.py puts tests/enhance on the path first."""

import re

import media

# Of sources: container -> codecs of video that it holds, of sound.
MP4 = (["libx264", "libx265", "mpeg4", "libvpx-vp9"], ["aac", "libmp3lame", "ac3", "libopus", "alac"])
SOURCES = {
    "mp4": MP4,
    "mov": (["libx264", "prores_ks", "qtrle", "png", "mjpeg"], ["aac", "pcm_s16le"]),
    "mkv": (["libx264", "libx265", "mpeg4", "libvpx-vp9", "ffv1", "mpeg2video", "prores_ks"], ["aac", "flac", "libopus", "ac3", "libvorbis"]),
    "ts": (["libx264", "libx265", "mpeg2video"], ["aac", "mp2", "ac3"]),
    "avi": (["mpeg4", "ffv1", "mjpeg"], ["libmp3lame", "pcm_s16le"]),
    "webm": (["libvpx-vp9"], ["libopus", "libvorbis"]),
    "nut": (["libx264", "ffv1", "mpeg4"], ["flac", "aac"]),
    "flv": (["libx264"], ["aac"]),
    "mpg": (["mpeg2video"], ["mp2"]),
    "wmv": (["wmv2", "mpeg4"], ["wmav2", "libmp3lame"]),
}
PIXELS = {
    "libx264": ["yuv420p"] * 4 + ["yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "gray"],
    "libx265": ["yuv420p", "yuv420p10le"],
    "libvpx-vp9": ["yuv420p", "yuva420p", "yuv444p"],
    "ffv1": ["yuv420p", "yuv422p10le", "bgr0", "bgra", "yuva444p10le", "gray"],
    "prores_ks": ["yuv422p10le", "yuva444p10le"],
    "qtrle": ["rgb24", "argb"],
    "png": ["rgb24", "rgba"],
    "mjpeg": ["yuvj420p"],
}
ALPHA = ("yuva", "bgra", "argb", "rgba")


class Clip:
    """A source's description, by chance alone."""

    def __init__(self, chance):
        self.container = chance.choice(list(SOURCES))
        videos, sounds = SOURCES[self.container]
        self.codec = chance.choice(videos)
        self.pixels = chance.choice(PIXELS.get(self.codec, ["yuv420p"]))
        least = 16 if self.codec in ("mpeg2video", "libx265") else 2
        self.size = [max(least, chance.choice([16, 32, 33, 48, 64, 65, 80])) for _ in range(2)]
        if re.search("42[02]|411", self.pixels) and self.codec != "ffv1":
            self.size = [side - side % 2 for side in self.size]
        self.rate = chance.choice(["25", "25", "24", "30000/1001", "12", "50", "24000/1001", "30"])
        if self.codec == "mpeg2video" and self.rate == "12":
            self.rate = "25"
        # Long ones fill two segments and more.
        self.long = chance.random() < 0.05
        self.frames = 540 if self.long else chance.choice([1, 2, 3, 5, 8, 12, 20, 25])
        self.variable = self.container in ("mkv", "mp4", "ts") and self.codec != "mpeg2video" and chance.random() < 0.3
        self.sounds = [chance.choice(sounds) for _ in range(chance.choice([0, 1, 1, 1, 2]))]
        if self.container in ("flv", "avi", "mpg", "wmv"):
            del self.sounds[1:]
        self.sound_seconds = chance.choice([0.3, 1, 1, 1.7])
        self.words = self.video_words(chance)
        self.extras(chance)

    def video_words(self, chance):
        words = ["-c:v", self.codec, "-pix_fmt", self.pixels, "-threads", "1"]
        if self.codec in ("libx264", "libx265"):
            words += ["-preset", "ultrafast", "-bf", str(chance.choice([0, 0, 1, 2, 3])), "-g", str(chance.choice([4, 12, 250]))]
        if self.codec == "libx265":
            words += ["-x265-params", "log-level=none"]
        if self.codec == "libx264" and chance.random() < 0.15:
            words += ["-flags", "+ildct"]
        if self.codec in ("mpeg4", "mpeg2video"):
            words += ["-bf", str(chance.choice([0, 2])), "-g", "6"]
        if self.codec == "libvpx-vp9":
            words += ["-deadline", "realtime", "-cpu-used", "8"]
        if chance.random() < 0.2:
            words += ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
        return words

    def extras(self, chance):
        """Begins, subtitles, attachments, chapters, turns, tags."""
        self.offset = chance.choice([0, 0, 0, 0.5, 1.4333, 10.01]) if self.container in ("mkv", "mp4", "ts", "mov") else 0
        self.subtitles = {"mkv": "srt", "mp4": "mov_text"}.get(self.container) if chance.random() < 0.3 else None
        self.attachment = self.container == "mkv" and chance.random() < 0.2
        self.chapters = self.container in ("mkv", "mp4", "mov") and chance.random() < 0.2
        self.turned = self.container in ("mp4", "mov") and chance.random() < 0.15
        self.timecode = self.container == "mov" and chance.random() < 0.2
        self.cut = self.container in ("mp4", "mov") and not self.variable and self.frames > 8 and chance.random() < 0.2
        self.tags = chance.random() < 0.3

    def make(self, folder):
        """The file, or None where ffmpeg makes no such."""
        pattern = f"testsrc2=s={'x'.join(str(side + side % 2) for side in self.size)}:r={self.rate}:d={60 if self.long else 3}"
        filters = ["crop={}:{}:0:0:exact=1".format(*self.size)] if any(side % 2 for side in self.size) else []
        if self.variable:
            filters.append("select='not(mod(n,3))+not(mod(n,7))'")
        if self.pixels.startswith(ALPHA):
            filters += ["format=rgba", "colorchannelmixer=aa=0.5"]
        else:
            filters.insert(0, "format=yuv444p")
        words = ["-f", "lavfi", "-i", pattern]
        for i in range(len(self.sounds)):
            words += ["-f", "lavfi", "-i", f"sine=frequency={440 + 200 * i}:duration={self.sound_seconds}:r={(44100, 48000)[i % 2]}"]
        maps = [word for i in range(1 + len(self.sounds)) for word in ("-map", str(i))]
        inputs = 1 + len(self.sounds)
        if self.subtitles:
            words += ["-i", folder / "words.srt"]
            maps += ["-map", str(inputs), "-c:s", self.subtitles]
            inputs += 1
        if self.chapters:
            words += ["-i", folder / "chapters.txt"]
            maps += ["-map_metadata", str(inputs)]
        for i, sound in enumerate(self.sounds):
            maps += [f"-c:a:{i}", sound]
        maps += ["-attach", folder / "letters.ttf", "-metadata:s:t", "mimetype=application/x-truetype-font"] if self.attachment else []
        maps += ["-metadata", "title=a title", "-metadata:s:a", "language=deu"] if self.tags else []
        maps += ["-timecode", "01:00:00:00"] if self.timecode else []
        maps += ["-vsync", "vfr"] if self.variable else []
        maps += ["-output_ts_offset", str(self.offset)] if self.offset else []
        path = folder / f"source.{self.container}"
        media.ffmpeg(*words, *maps, "-vf", ",".join(filters), "-frames:v", str(self.frames), *self.words, "-strict", "-2", path)
        if self.cut or self.turned:
            whole = folder / f"whole.{self.container}"
            path.rename(whole)
            media.ffmpeg(*(["-ss", "0.3"] if self.cut else []), "-i", whole, "-map", "0", "-map", "-0:d?", "-c", "copy",
                         *(["-metadata:s:v", "rotate=90"] if self.turned else []), path)
        return path
