"""Work that may fail, die or take too long, in a process of its own."""

import os
import shutil
import signal

LIMIT = 900  # seconds


def bounded(folder, work):
    """Calls work(PART) in a process that starts as a copy of this one, which has loaded all packages; PART becomes FOLDER, with a
    model or the reason in `failed`."""
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        try:
            work(part)
        except BaseException as error:  # whatever an exporter raises is its answer
            cause = error.__cause__ or error
            (part / "failed").write_text(f"{type(cause).__name__}: {' '.join(str(cause).split())[:400]}\n")
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        (part / "failed").write_text("it died, or took too long\n")
    if (part / "failed").exists():
        (part / "model.onnx").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
