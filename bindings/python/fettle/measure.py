"""Tuning, timing and checking a model, in this process."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy

from . import errors
from .program import Shapes
from .model import Model
from .session import Memory, ModelLike, Path, Session, Step, TuneProgress, TuneReport


class BenchReport(NamedTuple):
    """Milliseconds of whole inferences, how many there were, the steps of the last one, and what it holds in bytes."""

    median_ms: float
    min_ms: float
    max_ms: float
    runs: int
    steps: list[Step]
    memory: Memory


class Difference(NamedTuple):
    """One output against the scalar reference's: the largest absolute difference, and signal to noise in dB (infinite
    where all elements are equal)."""

    name: str
    max_abs: float
    sqnr_db: float


def seeded_inputs(model: Model, shapes: Shapes | None = None, seed: int = 0) -> dict[str, numpy.ndarray]:
    """Arrays for all inputs of a model: floats uniform in [-1, 1], integers 0 or 1, equal for equal seeds.

    `shapes`: {name: shape} for inputs with open extents; an open first extent is 1 otherwise. InvalidArgument where
    another one is open.
    """
    random = numpy.random.default_rng(seed)
    arrays = {}
    for value in model.inputs:
        shape = (shapes or {}).get(value.name, value.shape)
        if shape is None or value.dtype is None or None in shape[1:]:
            raise errors.InvalidArgument(f"input '{value.name}' is {value.dtype} of {shape}: give its shape or the array")
        shape = tuple(1 if extent is None else extent for extent in shape)
        if value.dtype.kind in "biu":
            arrays[value.name] = random.integers(0, 2, shape).astype(value.dtype)
        else:
            arrays[value.name] = random.uniform(-1, 1, shape).astype(value.dtype)
    return arrays


def tune(model: ModelLike, inputs: Mapping[str, Any] | None = None, *, shapes: Shapes | None = None,
         package: Path | None = None, level: str = "normal", budget: float = 0.0, database: Path | None = None,
         packed_weights: bool = False, progress: TuneProgress | None = None, **options: Any) -> TuneReport:
    """Tunes a model for the shapes of `inputs` (seeded ones where left out) and writes `package`.

    `options` are those of Session; the rest is that of Session.tune.
    """
    with Session(model, **options) as session:
        given = seeded_inputs(session.model, shapes) if inputs is None else inputs
        return session.tune(given, level=level, budget=budget, database=database, package=package,
                            packed_weights=packed_weights, progress=progress)


def bench(model: ModelLike | Session, inputs: Mapping[str, Any] | None = None, *, shapes: Shapes | None = None,
          seconds: float = 1.0, warm_up: int = 3, progress: Callable[[float], Any] | None = None,
          **options: Any) -> BenchReport:
    """Times inferences for `seconds` after `warm_up` of them, on `inputs` (seeded ones where left out).

    `model`: what Session takes, or a Session. `progress(share)` is called between runs, 0 to 1; returning False ends
    it. `options` are those of Session.
    """
    session = model if isinstance(model, Session) else Session(model, **options)
    for name, value in (seeded_inputs(session.model, shapes) if inputs is None else inputs).items():
        session.set_input(name, value)
    for _ in range(warm_up):
        session.run()
    times, start = [], time.perf_counter()
    while True:
        begin = time.perf_counter()
        session.run()
        end = time.perf_counter()
        times.append((end - begin) * 1e3)
        share = (end - start) / seconds if seconds > 0 else 1.0
        if share >= 1 or (progress is not None and progress(share) is False):
            break
    return BenchReport(statistics.median(times), min(times), max(times), len(times), session.steps(), session.memory())


def compare(model: ModelLike, inputs: Mapping[str, Any] | None = None, *, shapes: Shapes | None = None,
            outputs: Sequence[str] = (), **options: Any) -> list[Difference]:
    """The model's outputs, and any other values named in `outputs`, against every operator's scalar reference.

    `run_program("compare", path)` goes node by node.
    """
    model = model if isinstance(model, Model) else Session(model).model
    given = seeded_inputs(model, shapes) if inputs is None else inputs
    with Session(model, extra_outputs=outputs, **options) as fast:
        got = fast.run(given)
    with Session(model, extra_outputs=outputs, reference=True) as scalar:
        expected = scalar.run(given)
    return [_difference(name, got[name], expected[name]) for name in got]


def _difference(name: str, got: numpy.ndarray, expected: numpy.ndarray) -> Difference:
    got, expected = got.astype(numpy.float64), expected.astype(numpy.float64)
    with numpy.errstate(invalid="ignore"):
        # Equal infinities and two NaNs are no difference.
        same = (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))
        error = numpy.where(same, 0.0, got - expected)
    noise = float(numpy.square(error).sum())
    signal = float(numpy.square(expected[numpy.isfinite(expected)]).sum())
    sqnr = math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal > 0 else -math.inf
    return Difference(name, float(numpy.abs(error).max(initial=0.0)), sqnr)
