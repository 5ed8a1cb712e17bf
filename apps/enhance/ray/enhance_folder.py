#!/usr/bin/env python3
"""A folder through fettle-enhance on a Ray cluster, a task for each file: enhance_folder.py FOLDER [-o OUTPUT] [WORDS...]

WORDS go to fettle-enhance as they are. FOLDER, OUTPUT and the program must lie at the same place for all machines. Whichever
worker is free takes the next file. A file whose worker is lost goes to another one, which goes on after the last segment that
the journal beside the output notes. Needs `pip install ray`; exit codes are those of docs/cli.md.
"""

import argparse
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>


def die_with_parent():
    """A lost worker must not leave its program at work: it would hold the job that another worker is to go on with."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


def job_of(output):
    return pathlib.Path(output + ".fettle-job")


def enhance(program, source, output, words, tally):
    """One file, in a worker: the program's document, with an `error` where it failed."""
    import ray

    ray.get(tally.begin.remote(source))
    if "--overwrite" not in words and pathlib.Path(output).exists() and not job_of(output).exists():
        # Outputs that stood there before were refused by the driver: an earlier attempt has made this one.
        return {"input": source, "output": output, "code": 0}
    run = subprocess.run([program, source, "-o", output, "--json", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)  # fmt: skip
    try:
        document = json.loads(run.stdout)
    except ValueError:
        line = run.stderr.strip().splitlines()[-1:] or [f"ended by {run.returncode}"]
        document = {"error": {"message": line[0], "exit_code": run.returncode}}
    return {"input": source, "output": output, **document, "code": run.returncode}


class Tally:
    """How often each file was begun."""

    def __init__(self):
        self.begun = {}

    def begin(self, source):
        self.begun[source] = self.begun.get(source, 0) + 1

    def counts(self):
        return self.begun


def failure(source, message, code):
    return {"input": source, "error": {"message": message, "exit_code": code}, "code": code}


def jobs_of(program, folder, output, more):
    """(input, output) of each file, as the program itself pairs them, and documents of those that it does not take."""
    words = [program, folder, "--plan-only", "--json", "--steps", "contrast", "--network", "fast", *more]
    run = subprocess.run(words + (["-o", output] if output else []), capture_output=True, text=True)
    document = json.loads(run.stdout)
    if "files" not in document:
        raise SystemExit(fail(document.get("error", {}).get("message", "no folder"), run.returncode or 2))
    jobs = [(one["input"], one["output"]) for one in document["files"] if "error" not in one]
    refused = [failure(one["input"], **one_error(one)) for one in document["files"] if "error" in one]
    return jobs, refused


def of_there(source, place, skips):
    """What stood there before the first task: skipped where that is wanted, else refused."""
    if skips:
        return {"input": source, "output": place, "skipped_because": "already exists (--skip-existing)", "code": 0}
    return failure(source, f"{place}: already exists (--overwrite replaces it, --skip-existing leaves it)", 2)


def one_error(document):
    return {"message": document["error"]["message"], "code": document["error"]["exit_code"]}


def fail(message, code):
    print(f"fettle: {message}", file=sys.stderr)
    return code


def run_on_cluster(ray, arguments, jobs, words):
    """The documents of all jobs, in the order in which they end."""
    tally = ray.remote(num_cpus=0)(Tally).remote()
    task = ray.remote(num_cpus=arguments.cpus, max_retries=arguments.retries, scheduling_strategy="SPREAD")(enhance)
    threads = [] if "--threads" in words else ["--threads", str(arguments.cpus)]
    waiting = {task.remote(arguments.program, source, output, words + threads, tally): (source, output) for source, output in jobs}
    while waiting:
        (ready,), _ = ray.wait(list(waiting), num_returns=1)
        source, _ = waiting.pop(ready)
        try:
            document = ray.get(ready)
        except ray.exceptions.RayError as error:
            document = failure(source, f"its workers were lost {arguments.retries + 1} times: {type(error).__name__}", 1)
        yield {**document, "attempts": ray.get(tally.counts.remote()).get(source, 1)}


def own_stdout():
    """Ray writes on stdout, too; what it says goes to stderr from here on."""
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return own


def show(document, own):
    if "error" in document:
        message = document["error"]["message"]
        fail(message if document["input"] in message else f"{document['input']}: {message}", 0)
        return
    if "skipped_because" in document:
        print(f"{document['output']}: {document['skipped_because']}", flush=True, file=own)
        return
    resumed = document.get("resumed_frames", 0)
    print(f"{document['output']}: {document.get('frames_out', 'all')} frames"
          + (f", {resumed} of them by earlier attempts" if resumed else ""), flush=True, file=own)  # fmt: skip


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("-o", "--output", help="folder; usually FOLDER_enhanced")
    parser.add_argument("--address", help="of the cluster (auto: the one that this machine belongs to); else one on this machine")
    parser.add_argument("--program", default=shutil.which("fettle-enhance") or "fettle-enhance")
    parser.add_argument("--cpus", type=int, default=1, help="for each file, and its threads")
    parser.add_argument("--retries", type=int, default=3, help="of a file whose worker is lost")
    parser.add_argument("--json", action="store_true", help="one document on stdout")
    return parser.parse_known_args()


def main():
    arguments, words = read_arguments()
    try:
        import ray
    except ImportError:
        return fail("Ray is not installed (pip install ray)", 4)
    if shutil.which(arguments.program) is None:
        return fail(f"{arguments.program}: no such program (--program)", 2)
    arguments.program = str(pathlib.Path(shutil.which(arguments.program)).resolve())
    folder = str(pathlib.Path(arguments.folder).resolve())
    output = str(pathlib.Path(arguments.output).resolve()) if arguments.output else None
    recursive = [word for word in words if word == "--recursive"]
    words = [word for word in words if word != "--recursive"]
    jobs, files = jobs_of(arguments.program, folder, output, recursive)
    there = [job for job in jobs if "--overwrite" not in words and pathlib.Path(job[1]).exists() and not job_of(job[1]).exists()]
    files += [of_there(source, place, "--skip-existing" in words) for source, place in there]
    own = own_stdout()
    for document in files:
        show(document, own)
    if jobs:
        for _, place in jobs:
            pathlib.Path(place).parent.mkdir(parents=True, exist_ok=True)
    ray.init(address=arguments.address, log_to_driver=False, logging_level="error")
    files += run_and_show(ray, arguments, [job for job in jobs if job not in there], words, own)
    files.sort(key=lambda one: one["input"])
    failed = [one for one in files if one["code"] != 0]
    retried = sum(one.get("attempts", 1) > 1 for one in files)
    if arguments.json:
        print(json.dumps({"kind": "folder", "input": folder, "files": files, "failed": len(failed), "retried": retried}, indent=2), file=own)
    else:
        print(f"{len(files)} files, {len(failed)} failed, {retried} begun again", file=own)
    return failed[0]["code"] if failed else 0


def run_and_show(ray, arguments, jobs, words, own):
    documents = []
    for document in run_on_cluster(ray, arguments, jobs, words):
        if not arguments.json:
            show(document, own)
        documents.append(document)
    return documents


if __name__ == "__main__":
    sys.exit(main())
