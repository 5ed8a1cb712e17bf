"""ONNX's own backend test runner (onnx.backend.test.BackendTest) on fettle.backend.

    python tests/python/with_onnx/backend_run.py [--data FOLDER] SKIP_LIST...

Cases: those of the installed onnx package; with --data those below FOLDER (node, simple, pytorch-converted,
pytorch-operator), as Debian's libonnx-testdata has them. SKIP_LIST: `name reason` lines, a name may end in '*', as
`fettle test --skip-list` reads them. The last line counts; the exit status is 1 where a case failed.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import warnings

from onnx.backend.test import BackendTest
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

import fettle.backend


def cases_of(folder, kind):
    """The cases of a kind below a folder of files, as the runner's loader describes them."""
    for case in sorted((folder / kind).glob("*/model.onnx")):
        limits = case.parent / "data.json"
        read = json.loads(limits.read_text()) if limits.is_file() else {}
        yield TestCase(name=case.parent.name, url=None, model_name=case.parent.name, model_dir=str(case.parent),
                       model=None, data_sets=None, kind=kind, rtol=read.get("rtol", 1e-3), atol=read.get("atol", 1e-7))


def loader(folder):
    """In the place of onnx's: "real" models are downloads."""

    def load(kind):
        if kind == "real":
            return []
        return list(load_model_tests(kind=kind) if folder is None else cases_of(folder, kind))

    return load


def skipped_names(lists):
    """(name without its '*', whether it had one, reason)."""
    for path in lists:
        for line in pathlib.Path(path).read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                name, _, reason = line.partition(" ")
                yield name.rstrip("*"), name.endswith("*"), reason.strip()


def tests_on_the_cpu(backend_test, skips):
    """(tests to run, how many are skipped)."""
    suite, skipped = unittest.TestSuite(), 0
    for case in backend_test.test_cases.values():
        for name in sorted(dir(case)):
            if not name.startswith("test_") or not name.endswith("_cpu"):
                continue
            bare = name[: -len("_cpu")]
            if any(bare.startswith(skip) if open_end else bare == skip for skip, open_end, _ in skips):
                skipped += 1
            else:
                suite.addTest(case(name))
    return suite, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("skip_list", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as home, \
            unittest.mock.patch.dict(os.environ, ONNX_HOME=home), \
            unittest.mock.patch("onnx.backend.test.runner.load_model_tests", loader(options.data)):
        suite, skipped = tests_on_the_cpu(BackendTest(fettle.backend, __name__), list(skipped_names(options.skip_list)))
        with open(os.devnull, "w") as nowhere:
            result = unittest.TextTestRunner(stream=nowhere).run(suite)
    bad = result.failures + result.errors
    for test, trace in bad:
        print(f"{test}: {trace.strip().splitlines()[-1]}")
    skipped += len(result.skipped)
    print(f"{result.testsRun - len(bad) - len(result.skipped)} passed, {len(bad)} failed, {skipped} skipped")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
