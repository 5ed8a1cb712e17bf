#!/usr/bin/env python3
"""tune under kill -9 and in many processes at once: tune_processes_test.py FETTLE FETTLE_DEMO [KILLS]

Killed at random moments, no row is lost but the one in flight and the next run goes on; eight processes tune
into one database without a lost update or a lock error."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

FETTLE, DEMO = sys.argv[1:3]
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 12
SMALL = ["--shape", "picture=1x3x24x32"]


def tune(cache, *options):
    command = [FETTLE, "tune", "enhance_x2.onnx", *SMALL, "--cache", cache, "--no-package", "--json", "--level", "fast"]
    return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def db(command, cache):
    result = subprocess.run([FETTLE, "db", command, "--cache", cache, "--json"], capture_output=True, text=True)
    return json.loads(result.stdout) if result.returncode == 0 else None


def finish(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "lock" not in err, err
    return json.loads(out)


def check_kills(rng):
    whole = finish(tune("whole", "--threads", "1"))
    span = whole["seconds"]
    rows = 0
    for kill in range(KILLS):
        process = tune("killed", "--threads", "1")
        time.sleep(rng.uniform(0, span))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        info = db("info", "killed")
        if info is None:
            assert rows == 0, f"kill {kill}: the database is gone"
            continue
        assert info["rows"] >= rows, f"kill {kill}: {rows} rows before, {info['rows']} after"
        assert db("verify", "killed")["ok"], f"kill {kill}: damaged"
        rows = info["rows"]
    last = finish(tune("killed", "--threads", "1"))
    assert last["reused"] > 0 or rows == 0, "nothing was reused"
    again = finish(tune("killed", "--threads", "1"))
    assert again["measured"] == 0, f"{again['measured']} rows were lost"
    print(f"{KILLS} kills: {rows} rows kept, {last['measured']} measured after the last one")


def check_processes():
    processes = [tune("shared", "--threads", str(1 + i % 2)) for i in range(8)]
    reports = [finish(process) for process in processes]
    assert db("verify", "shared")["ok"]
    for threads in ("1", "2"):
        after = finish(tune("shared", "--threads", threads))
        assert after["measured"] == 0, f"{threads} threads: {after['measured']} rows were lost"
    print(f"8 processes measured {sum(report['measured'] for report in reports)} entries into one database")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([DEMO, "."], check=True)
        assert pathlib.Path("enhance_x2.onnx").exists()
        check_kills(random.Random(1))
        check_processes()


if __name__ == "__main__":
    main()
