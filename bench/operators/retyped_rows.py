"""The rows of rows.py with other element types and other operands constant: what exporters of other frameworks write."""

import copy

import numpy as np
from rows import TYPES, rows

FLOATS = (np.float32, np.float16)


def retyped(row, letter):
    """The row with its floats as numbers of another type, or None where it has none."""
    kind = TYPES[letter]
    if not any(value is not None and value.dtype == np.float32 for value in row.operands):
        return None
    changed = copy.copy(row)
    is_small = np.issubdtype(kind, np.integer)
    changed.operands = [value if value is None or value.dtype != np.float32 else
                        np.asarray(np.abs(value * 4) if is_small else value, kind) for value in row.operands]
    changed.case = f"{letter}: {row.case}"
    return changed


def with_constants(row):
    """The row of several floats with each of them, by turns, constant where it was computed and computed where it was constant."""
    floats = [i for i, value in enumerate(row.operands) if value is not None and value.dtype in FLOATS]
    for i in floats if len(floats) > 1 else ():
        changed = copy.copy(row)
        changed.const = row.const ^ {i}
        changed.case = f"{'constant' if i in changed.const else 'computed'} {i}: {row.case}"
        yield changed


def retyped_rows(most_elements=2_000_000):
    for row in rows():
        if sum(value.size for value in row.operands if value is not None) > most_elements:
            continue
        yield from with_constants(row)
        for letter in ("d", "i8", "u8", "i32", "u32", "i64"):
            one = retyped(row, letter)
            if one is not None:
                yield one
