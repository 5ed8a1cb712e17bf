// docs/operators.md, rendered from the operator table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fettle::ops {

/// The canonical operators that some kind of device beside the CPU computes, sorted.
struct OperatorsOf {
  std::string_view title;
  std::span<const std::string_view> operators;
};

/// The whole page: every canonical operator with the ONNX operators and opsets that import as it,
/// its element types, where it runs (the CPU, and those of `beside_cpu` that list it), and what is
/// refused and why.
std::string OperatorsPage(std::span<const OperatorsOf> beside_cpu);

}  // namespace fettle::ops
