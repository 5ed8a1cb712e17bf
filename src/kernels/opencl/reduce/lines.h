// What kernels that work along one axis of row-major buffers have in common: operands of floats or
// integers, a work-item or a work-group for each row.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/match/extents.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "ops/walk.h"

namespace fettle::kernels {

/// [outer, row, inner] of `x` along `axis`; kUnsupported where there is no such axis, where x has
/// no elements or is constant, or where 32 bits do not count them.
Result<RowExtents> ReadLines(const ir::Value& x, std::optional<int> axis);

/// The axes that the group's first node reduces, which are constants.
Result<ops::AxisMask> ReducedAxes(const ir::Graph& group);

/// How a launch over lines is built.
struct LineLaunch {
  std::string_view path, function;
  /// OpenCL C's name of the element type; empty: floats as they are stored.
  std::string_view integer;
  DType output;      // of y
  int64_t rule = 0;  // the function's last argument
};

/// One launch: ITEMS work-items a row, ELEMENT `integer`, beside `options`.
Result<std::unique_ptr<PreparedKernel>> PrepareLines(const Problem& problem, const Device& device,
                                                     const RowExtents& extents,
                                                     const LineLaunch& launch,
                                                     BuildOptions options = {});

}  // namespace fettle::kernels
