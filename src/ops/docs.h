// docs/operators.md, rendered from the operator table.
#pragma once

#include <string>

namespace fettle::ops {

/// The whole page: every canonical operator with the ONNX operators and opsets that import as it,
/// its element types, where it runs, and what is refused and why.
std::string OperatorsPage();

}  // namespace fettle::ops
