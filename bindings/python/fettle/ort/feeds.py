"""What is wrong with what a run was given, in the words of the one who gave it."""

from __future__ import annotations

import difflib
from typing import Any, Iterable, Mapping

from .. import errors
from . import exceptions


def names_of(names: Iterable[str]) -> str:
    """'x', 'y', or none."""
    return ", ".join(f"'{name}'" for name in names) or "none"


def as_dict(given: Any, inputs) -> dict:
    """A mapping as a dict. InvalidArgument, which names the inputs, of anything else."""
    if isinstance(given, Mapping):
        return dict(given)
    raise exceptions.InvalidArgument(f"input_feed: expected {{name: array}}, got {type(given).__name__}; "
                                     f"the model's inputs are {names_of(info.name for info in inputs)}")


def refusal(error: errors.Error, feeds: Mapping[str, Any], inputs) -> errors.Error:
    """`error`, which a run ended with, or what names all inputs that are missing and all that the model has not."""
    known = [info.name for info in inputs]
    missing = [name for name in known if name not in feeds]
    unknown = [name for name in feeds if name not in known]
    parts = []
    for name in unknown:
        near = difflib.get_close_matches(str(name), missing or known, 1)
        parts.append(f"the model has no input {name!r}" + (f" (did you mean '{near[0]}'?)" if near else ""))
    if missing:
        parts.append(f"required {'input' if len(missing) == 1 else 'inputs'} {names_of(missing)} "
                     f"{'is' if len(missing) == 1 else 'are'} missing")
    if parts:
        return exceptions.InvalidArgument(f"{'; '.join(parts)}; given: {names_of(map(str, feeds))}; "
                                          f"the model's inputs: {names_of(known)}")
    return exceptions.of_run(error)
