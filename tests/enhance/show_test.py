"""What a person sees: the page in a browser, split pictures, and q on a terminal: show_test.py FETTLE_ENHANCE"""

import base64
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import termios
import time

import media
from checks import check, run_in_folder


def make(folder):
    """Two scenes."""
    source = folder / "two <scenes>.mkv"
    media.ffmpeg("-f", "lavfi", "-i", "color=white:s=96x64:r=12:d=1", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=12:d=2",
                 "-filter_complex", "[0][1]concat=n=2,format=yuv420p", *media.X264, source)  # fmt: skip
    return source


def check_page(program, source, folder):
    page, result = folder / "page.html", folder / "shown.mkv"
    done = subprocess.run([program, source, "-o", result, "--steps", "superres", "--network", "fast", "--report", page, "--preview",
                           "--json"], capture_output=True, text=True)  # fmt: skip
    check("page: exit code", done.returncode == 0, done.stderr)
    scenes = json.loads(done.stdout)["scenes"]
    check("scenes", [(s["first"], s["frames"]) for s in scenes] == [(0, 12), (12, 24)], scenes)
    split = sorted((folder / "shown_preview").iterdir())
    check("previews", [p.name for p in split] == ["scene-00001.png", "scene-00002.png"], split)
    stream = media.video_of(split[1])
    check("preview: size", (stream["width"], stream["height"]) == (192, 128), stream)
    text = page.read_text()
    check("page: whole", text.count("data:image/jpeg;base64,") == 4 and "http" not in text and "<scenes>" not in text)
    for name, file in zip(("after", "before"), re.findall("data:image/jpeg;base64,([^\"]*)", text)):
        media.write_bytes(folder / f"{name}.jpg", base64.b64decode(file))
        check(f"page: white is white {name}", min(media.pixel(folder / f"{name}.jpg", 40, 40)) >= 253, media.pixel(folder / f"{name}.jpg", 40, 40))
    check("preview: white is white", min(media.pixel(split[0], 40, 40)) >= 253, media.pixel(split[0], 40, 40))
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        print("no browser: the page was not opened")
        return
    moved = """<script>const s=document.querySelectorAll('input')[1];s.value=30;s.dispatchEvent(new Event('input'));
    document.title=document.querySelectorAll('.before')[1].style.clipPath+
      [...document.images].map(i=>i.complete&&i.naturalWidth).join()+' '+
      parseInt(getComputedStyle(document.body).color.slice(4))</script></body>"""
    page.write_text(text.replace("</body>", moved))
    for theme, setting, light in (("light", 1, range(0, 100)), ("dark", 0, range(156, 256))):
        shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser",
                                f"--blink-settings=preferredColorScheme={setting}", "--dump-dom", page.as_uri()],
                               capture_output=True, text=True, timeout=90)  # fmt: skip
        title = re.search("<title>(.*?)</title>", shown.stdout)
        found, _, letters = title[1].rpartition(" ") if title else (shown.stderr[-300:], "", "")
        check(f"page, {theme}: slider and pictures", found.replace(" ", "") == "inset(0px70%0px0px)192,192,192,192", found)
        check(f"page, {theme}: letters", letters.isdigit() and int(letters) in light, letters)


def check_pages_refused(program, source, folder):
    """No page in the place of a video or of somebody's file, nor one that cannot be written when all is done."""
    (folder / "mine.html").write_text("mine")
    for page, words in ((source, "as it is the input"), (folder / "refused.mkv", "as it is the output"), (folder / "none/a.html", "no such folder"),
                        (folder, "is a folder"), (folder / "mine.html", "already exists")):  # fmt: skip
        done = subprocess.run([program, source, "-o", folder / "refused.mkv", "--report", page], capture_output=True, text=True)
        check(f"refused: {words}", done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    check("refused: nothing written", not list(folder.glob("refused*")) and (folder / "mine.html").read_text() == "mine")


def check_key(program, folder):
    """q ends the job, what is done is kept, and the terminal is as it was."""
    source = folder / "long.mkv"
    media.ffmpeg(*media.picture("48x32", 50, 120), *media.X264, "-g", "40", source)
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    job = subprocess.Popen([program, source, "-o", folder / "quit.mkv", "--steps", "superres", "--network", "fast"], stdin=theirs,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                           preexec_fn=lambda: __import__("fcntl").ioctl(0, termios.TIOCSCTTY, 0))  # fmt: skip
    end = time.monotonic() + 300
    while time.monotonic() < end and not (folder / "quit.mkv.fettle-job" / "segment-00000.nut").exists() and job.poll() is None:
        time.sleep(0.01)
    check("q: a segment is there", (folder / "quit.mkv.fettle-job" / "segment-00000.nut").exists())
    os.write(ours, b"xq")
    _, err = job.communicate(timeout=200)
    check("q: stopped", job.returncode == 1 and "the same command continues" in err, f"{job.returncode} {err}")
    check("q: terminal", termios.tcgetattr(theirs) == before)
    check("q: kept", (folder / "quit.mkv.fettle-job" / "journal").exists() and not (folder / "quit.mkv").exists())


def main():
    def body(folder):
        source = make(folder)
        check_page(sys.argv[1], source, folder)
        check_pages_refused(sys.argv[1], source, folder)
        check_key(sys.argv[1], folder)

    run_in_folder(body)


if __name__ == "__main__":
    main()
