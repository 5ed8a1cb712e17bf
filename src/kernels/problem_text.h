// The canonical text of a problem: the key of measurements, what a bench or a worker is handed, and
// the line that reproduces a failure.
#pragma once

#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A header and the group's text (ir/text.h), without the names of values and nodes:
///
///     threads 2
///     inputs cpu:host:NHWC:f32
///     outputs cpu:host:NHWC:f32
///     input %#0: f32[1x8x4x4]
///     ...
///
/// Problems of equal text have equal kernels, costs and results, up to the contents of constants
/// that the text leaves out.
std::string PrintProblem(const Problem& problem);

/// The text without its header: what groups of equal choices share.
std::string PrintGroup(const ir::Graph& group);
/// The text from its parts, where the group's has been printed before.
std::string PrintProblem(const Problem& problem, std::string_view group_text);

}  // namespace fettle::kernels
