"""Checks a wheel: check_wheel.py WHEEL MOST_BYTES. Its size, its tag, that the extension keeps to the stable ABI of the
tag (but for buffers, which every Python since 3.9 has and 3.11 declared stable), and that nothing but what belongs to a
manylinux system is left outside."""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# Functions of Python that the stable ABI has from 3.11 on, there and unchanged since before 3.9.
BUFFERS = {"PyObject_GetBuffer", "PyBuffer_Release"}


def stable_since(tag):
    """The functions of the stable ABI as of cpXY, by abi3info's table."""
    import abi3info
    from abi3info.models import PyVersion

    version = PyVersion(3, int(tag[3:]))
    return {symbol.name for symbol, row in abi3info.FUNCTIONS.items() if row.added <= version} | {
        symbol.name for symbol, row in abi3info.DATAS.items() if row.added <= version
    }


def problems(wheel, most_bytes):
    if wheel.stat().st_size > most_bytes:
        yield f"{wheel.stat().st_size} bytes, at most {most_bytes} allowed"
    match = re.fullmatch(r"fettle-[\d.]+-(cp3\d+)-abi3-manylinux_.*\.whl", wheel.name)
    if match is None:
        yield f"{wheel.name}: no abi3 manylinux wheel"
        return
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        names = {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*")}
        for needed in ("fettle/py.typed", "fettle/_native.pyi", "fettle/_native.abi3.so", "fettle/bin/fettle"):
            if needed not in names:
                yield f"{needed} is missing"
        extension = pathlib.Path(folder, "fettle/_native.abi3.so")
        table = subprocess.run(["nm", "-D", "--undefined-only", extension], capture_output=True, text=True, check=True)
        wanted = {word for word in table.stdout.split() if re.match(r"_?Py", word)}
        for name in sorted(wanted - stable_since(match.group(1)) - BUFFERS):
            yield f"{name} is not in the stable ABI of {match.group(1)}"


def main():
    wheel = pathlib.Path(sys.argv[1])
    found = list(problems(wheel, int(sys.argv[2])))
    for problem in found:
        print(f"{wheel.name}: {problem}")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(found)} problems")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
