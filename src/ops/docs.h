// docs/operators.md, rendered from the operator table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fettle::ops {

/// The whole page: every canonical operator with the ONNX operators and opsets that import as it,
/// its element types, where it runs (the CPU, and OpenCL devices for those of `opencl`, sorted),
/// and what is refused and why.
std::string OperatorsPage(std::span<const std::string_view> opencl);

}  // namespace fettle::ops
