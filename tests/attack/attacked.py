#!/usr/bin/env python3
"""Whether each operator that docs/operators.md names is made by the attack of graphs, but for those below.

usage: tests/attack/attacked.py

Fails with the names of operators that nobody attacks, and of exceptions that are attacked or listed no more.
"""

import pathlib
import random
import sys

import numpy as np

import graph_cases
import random_graphs
import random_operators

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/operators.md"
EACH = 250  # cases of each maker
# Operators that no maker writes: "domain.name", and why.
RANDOM = "random numbers: ONNX Runtime draws others"
EXCEPTIONS = {**{name: RANDOM for name in ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")},
              "com.microsoft.LayerNormalization": "an older name that ONNX Runtime refuses; the same as LayerNormalization",
              "com.microsoft.SimplifiedLayerNormalization": "an older name that ONNX Runtime refuses; made without a domain"}


def listed():
    """Names in the column "imported from"."""
    names = set()
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 7 and cells[2] not in ("imported from (opset)", "---", "emitted for other operators"):
            names |= {part.split()[0] for part in cells[2].split("; ")}
    return names


def names_in(graph):
    for node in graph.node:
        yield f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from names_in(attribute.g)


def made():
    names = set()
    for maker in graph_cases.OPERATORS:
        for _ in range(EACH):
            names |= set(names_in(maker().model().graph))
    for maker in (graph_cases.network, graph_cases.spelling):
        for _ in range(4 * EACH):
            names |= set(names_in(maker().graph))
    return names


def main():
    random_operators.R = random_graphs.R = np.random.default_rng(1)
    random.seed(1)
    known, attacked = listed(), made()
    wrong = [f"{name}: attacked by nobody: a maker in tests/models makes it, or EXCEPTIONS says why not"
             for name in sorted(known - attacked - set(EXCEPTIONS))]
    wrong += [f"{name}: no exception any more" for name in sorted(EXCEPTIONS) if name in attacked or name not in known]
    print("\n".join(wrong))
    print(f"{len(known)} operators are listed, {len(known & attacked)} attacked, {len(EXCEPTIONS)} exceptions")
    return 1 if wrong or not known else 0


if __name__ == "__main__":
    sys.exit(main())
