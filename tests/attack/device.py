#!/usr/bin/env python3
"""Random operators and graphs on PoCL: the OpenCL kernels over two fillings of buffers and images, the reference, and ONNX Runtime.

usage: tests/attack/device.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER] [--only N]

The cases are those of graphs.py, which judges them. Without PoCL one skip is counted.
"""

import os
import subprocess
import sys

import graphs


def main():
    listed = subprocess.run([sys.argv[1], "devices"], capture_output=True, text=True, check=False).stdout
    if "Portable" not in listed:
        print("PoCL is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    # It compiles for longer than the cases compute.
    os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    sys.argv += ["--device", "opencl:portable"]
    return graphs.main()


if __name__ == "__main__":
    sys.exit(main())
