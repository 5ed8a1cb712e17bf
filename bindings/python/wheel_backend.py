"""Builds the wheel (PEP 517): the package, its one extension in Python's stable ABI, libfettle beside it, and the program.

`pip install ./bindings/python` in a repository whose build/release has been built (FETTLE_BUILD names another build, CXX
the compiler). The wheel needs the libraries that libfettle was linked with; bindings/python/build-wheel makes one that
brings them. The program, and the command `fettle`, come along where the build has it in one library with the C interface
(ninja fettle_both_program).
"""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The oldest Python that the extension runs on; it is compiled against any newer one's headers.
PYTHON_TAG, ABI_TAG = "cp39", "abi3"


def version():
    return re.search(r"project\(fettle VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def compile_extension(library, output, search=("-Wl,-rpath,$ORIGIN",)):
    """`search`: where it looks for the library; by default in its own folder."""
    command = [
        *shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-O2", "-fPIC", "-shared", "-s",
        "-fvisibility=hidden", "-Wall", "-Wextra", f"-I{ROOT / 'include'}", f"-I{sysconfig.get_paths()['include']}",
        *map(str, sorted((HERE / "native").glob("*.cc"))), str(library), *search, "-o", str(output),
    ]  # fmt: skip
    subprocess.run(command, check=True)


def metadata():
    project = (HERE / "pyproject.toml").read_text()
    description = re.search(r'^description = "(.*)"', project, re.M).group(1)
    return (
        f"Metadata-Version: 2.1\nName: fettle\nVersion: {version()}\nSummary: {description}\n"
        "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.22\n"
        "Provides-Extra: types\nRequires-Dist: ml_dtypes; extra == 'types'\n"
        "Provides-Extra: backend\nRequires-Dist: onnx; extra == 'backend'\n"
        "Provides-Extra: fleet\nRequires-Dist: fsspec; extra == 'fleet'\n"
    )


def licences():
    """Ours, and those of the libraries that a wheel may bring, as Debian's packages have them."""
    yield "LICENSE", ROOT / "LICENSE"
    for pattern in ("libcpuinfo0*", "libfmt[0-9]*", "libhwy1*", "libsqlite3-0*", "libpcre2-8-0*", "libutf8proc[0-9]*", "libpng16*", "libjpeg62*"):
        for folder in sorted(pathlib.Path("/usr/share/doc").glob(pattern)):
            if (folder / "copyright").is_file():
                yield f"LICENSE.{folder.name}", folder / "copyright"


def files(build, scratch):
    """(name in the wheel, file) of everything but the records of the wheel itself."""
    program = build / "both" / "bin" / "fettle"
    shared = (build / ("both" if program.is_file() else "lib") / "libfettle.so").resolve()
    if not shared.is_file():
        raise FileNotFoundError(f"{shared}: build the library first (cmake --preset release; ninja -C build/release)")
    soname = ".".join(shared.name.split(".")[:3])
    library, extension = scratch / soname, scratch / "_native.abi3.so"
    subprocess.run(["strip", "--strip-unneeded", "-o", library, shared], check=True)
    compile_extension(shared, extension)
    yield f"fettle/{soname}", library
    if program.is_file():
        stripped = scratch / "fettle"
        subprocess.run(["strip", "-o", stripped, program], check=True)
        yield "fettle/bin/fettle", stripped
    yield "fettle/_native.abi3.so", extension
    for path in sorted((HERE / "fettle").rglob("*")):
        if path.suffix in (".py", ".pyi", ".typed"):
            yield str(path.relative_to(HERE)), path


def write(wheel, name, data, records, executable=False):
    info = zipfile.ZipInfo(name)  # of 1980, so that equal sources make equal wheels
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    wheel.writestr(info, data, zipfile.ZIP_DEFLATED, 6)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    records.append((name, f"sha256={digest}", len(data)))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = pathlib.Path(os.environ.get("FETTLE_BUILD", ROOT / "build" / "release"))
    tag = f"{PYTHON_TAG}-{ABI_TAG}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"fettle-{version()}.dist-info"
    name = f"fettle-{version()}-{tag}.whl"
    records = []
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        has_program = False
        for inside, path in files(build, pathlib.Path(scratch)):
            has_program = has_program or inside == "fettle/bin/fettle"
            write(wheel, inside, path.read_bytes(), records, executable=".so" in inside or inside.endswith("/bin/fettle"))
        for inside, path in licences():
            write(wheel, f"{info}/licenses/{inside}", path.read_bytes(), records)
        write(wheel, f"{info}/licenses/LICENSE.d3", (ROOT / "tools/fettle/page/d3-licence.txt").read_bytes(), records)
        write(wheel, f"{info}/METADATA", metadata().encode(), records)
        if has_program:  # else a command would hide the program that is on the PATH
            write(wheel, f"{info}/entry_points.txt", b"[console_scripts]\nfettle = fettle.program:main\n", records)
        write(wheel, f"{info}/WHEEL",
              f"Wheel-Version: 1.0\nGenerator: fettle\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), records)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*records, (f"{info}/RECORD", "", "")])
        write(wheel, f"{info}/RECORD", text.getvalue().encode(), [])
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []
