// Element-wise operators among operators that move elements, as OpenCL C: from an element of the
// result back to those that it is made of.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "kernels/opencl/launch.h"

namespace fettle::kernels {

/// Equal texts are equal programs: extents, steps and the model's numbers are in tables.
struct ViewText {
  /// Statements that compute `result` (float4, its lanes alike) from `i0`, the element of the
  /// output. READ(k, i) is element i of operand k, int n[] and float f[] the tables.
  std::string body, result;
  std::vector<ir::ValueId> operands;  // inputs of the group, and constants of several elements
  std::vector<cl_int> ints;
  std::vector<float> floats;
};

/// Fails with kUnsupported where a member is neither, moves in more pieces than pay, or the text
/// would be long.
Result<ViewText> WriteViews(const ir::Graph& group);

}  // namespace fettle::kernels
