// The graph as text, and back: used by tests of passes, by problems, and by dumps.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/noise.h"

namespace fettle::ir {

/// One line per graph input, constant, node and graph output; values come before they are read:
///
///     graph 'name'
///     input %x: f32[?'batch'x3x224x224]
///     const %w: f32[8x3x3x3]                 (contents left out above kInlineElements)
///     const %s: i64[4] = 1 3 -1 8
///     const %z: f32[100x100] = splat 0.5
///     %y: f32[?x8x112x112] = Conv(%x, %w, _) {pads=[1,1,1,1], strides=[2,2]}
///     %a, _, %b = Op(%y) {f=0.5, g=0.1f, s="text", e=ints[], c=const f32[2] = 1.0 2.0}
///     output %y
///
/// `_` is an operand left out or an output that nobody uses. An extent that is not known prints as
/// `?`, with its symbol behind it; a value of unknown rank prints as `f32`, of unknown type as
/// nothing. Float attributes always have a '.', an exponent, or are nan or inf; the suffix 'f'
/// marks a widened float. Empty lists carry their type: `ints[]`, `floats[]`, `strings[]`.
/// Sub-graphs print inside an attribute as `graph ... end`. Names are quoted where they are not
/// plain words; values without a name, or whose name is taken, print as `#0`, `#1` ... and come
/// back without a name.
std::string Print(const Graph& graph);
inline constexpr int64_t kInlineElements = 64;

/// Elements of noise that one text may ask for.
inline constexpr int64_t kMaxNoiseElements = int64_t{1} << 28;

/// Parses what Print wrote. The header is optional, empty lines and lines that start with '#' are
/// skipped. Constants whose contents were left out come back as noise, seeded by their name, in
/// [-1, 1] (integers: 0); `const %i: i64[8] = noise(0, 7)` names the range. On an input line the
/// same form is a hint for NoiseInputs, kept in `hints` (may be null). Types of node outputs may be
/// left out. Fails with kInvalidArgument and the line number, or kUnsupported for an operator that
/// is not in `table`; the result passes Verify.
Result<Graph> Parse(std::string_view text, OpTable table, NoiseHints* hints = nullptr);

}  // namespace fettle::ir
