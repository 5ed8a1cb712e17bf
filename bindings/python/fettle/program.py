"""What the C interface does not reach: by the `fettle` program.

It is `$FETTLE_PROGRAM`, else the one that the wheel brought, else `fettle` on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Sequence

import numpy

from . import errors

Shapes = Mapping[str, Sequence[int]]

# Of failures without a document: by the program's exit code.
_BY_EXIT_CODE = {2: errors.InvalidArgument, 3: errors.InvalidModel, 4: errors.Unsupported}
# By the document's `status`: "not found" is NotFound.
_BY_STATUS = {cls.__name__.lower(): cls for cls in errors.BY_CODE.values()} | {"io": errors.InputOutput}


def _brought() -> str | None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "fettle")
    return program if os.access(program, os.X_OK) else None


def _on_path(but: str = "") -> str | None:
    """The first `fettle` on the PATH that is not in the folder `but`."""
    folders = [folder for folder in os.get_exec_path() if not but or os.path.realpath(folder) != os.path.realpath(but)]
    return shutil.which("fettle", path=os.pathsep.join(folders)) if folders else None


def main() -> None:
    """The command `fettle` of an environment: becomes the program that the wheel brought, or another on the PATH; `fettle
    fleet` is `python -m fettle.fleet`."""
    if sys.argv[1:2] == ["fleet"]:
        from . import fleet  # which imports this module

        sys.exit(fleet.main(sys.argv[2:]))
    program = _brought() or _on_path(but=os.path.dirname(os.path.abspath(sys.argv[0])))
    if program is None:
        sys.exit("fettle: the program is neither in this Python package nor elsewhere on the PATH; docs/install.md has it")
    os.execv(program, ["fettle", *sys.argv[1:]])


def run_program(command: str, *arguments: str | os.PathLike, **options: Any) -> dict[str, Any]:
    """`fettle COMMAND ARGUMENTS --json` as its document (docs/cli.md has the fields).

    Options are the program's: `min_sqnr=40` is `--min-sqnr 40`, True alone the bare option, a list repeats it. NotFound
    where there is no program; what the program refuses is an exception of its class, with its message. That results
    differ (exit code 5) is an answer.
    """
    program = os.environ.get("FETTLE_PROGRAM") or _brought() or _on_path()
    if program is None:
        raise errors.NotFound("the program fettle is neither in this package, nor on the PATH, nor named by FETTLE_PROGRAM")
    words = [program, command, *(os.fspath(argument) for argument in arguments)]
    for name, value in options.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False:
                words += ["--" + name.replace("_", "-")] + ([] if one is True else [str(one)])
    try:
        done = subprocess.run(words + ["--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise errors.NotFound(f"{program}: {error.strerror}") from None
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = {}
    if done.returncode in (0, 5) and document and not _failure(document):
        return document
    raise _exception(command, done, document)


def _failure(document) -> dict[str, Any]:
    """What {error {...}} holds; {} of documents of another kind."""
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) else {}


def _exception(command, done, document) -> errors.Error:
    failure = _failure(document)
    cls = _BY_STATUS.get(failure.get("status", "").replace(" ", ""), _BY_EXIT_CODE.get(done.returncode, errors.Error))
    if isinstance(document, dict) and document.get("interrupted"):
        cls = errors.Cancelled
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    said = lines[-1].removeprefix("fettle: ") if lines else f"fettle {command} ended with {done.returncode}"
    return cls(failure.get("message") or said)


def plan(model: str | os.PathLike, *, shapes: Shapes | None = None, **options: Any) -> dict[str, Any]:
    """What is chosen for each group of nodes, and why: `fettle plan MODEL`. `model`: a path; `shapes`: {name: shape};
    options are the program's (explain=True, threads=2, device="opencl" ...)."""
    return run_program("plan", model, shape=_shapes(shapes), **options)


def quantise(model: str | os.PathLike, data: Any, output: str | os.PathLike, *, shapes: Shapes | None = None,
             **options: Any) -> dict[str, Any]:
    """Quantises an fp32 .onnx file by data into the standard QDQ file `output`: `fettle quantise MODEL`.

    `data`: paths of pictures, .npy or .pb files, or folders of them; arrays, one for each sample, for models of one
    input; or {input name: paths or arrays}. Options are the program's (min_sqnr=30, ranges="percentile" ...).
    """
    with tempfile.TemporaryDirectory() as folder:
        sources: list[str] = []
        for name, samples in (data.items() if isinstance(data, dict) else [("", data)]):
            sources += _sources(os.path.join(folder, f"input{len(sources)}"), name, samples)
        return run_program("quantise", model, data=sources, output=os.fspath(output), shape=_shapes(shapes), **options)


def enhance(source: str | os.PathLike, output: str | os.PathLike | None = None, **options: Any) -> dict[str, Any]:
    """Enhances a video, a picture or a folder of them: `fettle enhance INPUT`, where fettle-enhance is beside the program
    (Unsupported elsewhere). Options are the program's (network="good", overwrite=True ...)."""
    return run_program("enhance", source, output=None if output is None else os.fspath(output), **options)


def _shapes(shapes) -> list[str]:
    return [f"{name}={'x'.join(map(str, shape))}" for name, shape in (shapes or {}).items()]


def _sources(folder, name, samples) -> list[str]:
    """Words of --data; arrays are written to `folder` first."""
    prefix = f"{name}=" if name else ""
    if isinstance(samples, (str, os.PathLike)):
        samples = [samples]
    paths = [os.fspath(sample) for sample in samples if isinstance(sample, (str, os.PathLike))]
    arrays = [sample for sample in samples if not isinstance(sample, (str, os.PathLike))]
    if arrays:
        os.makedirs(folder)
        for index, array in enumerate(arrays):
            numpy.save(os.path.join(folder, f"{index:06}.npy"), numpy.asarray(array))
        paths.append(folder)
    return [prefix + path for path in paths]
