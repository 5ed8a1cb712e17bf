// What a model holds: operators, multiply-adds, bytes, and what keeps parts of it from bytes and
// bits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/model.h"

namespace fettle::tools {

/// Multiply-adds and bytes touched of one operator, summed over its nodes.
struct OpSum {
  int64_t nodes = 0;
  double macs = 0, bytes = 0;
};

struct Inspection {
  std::map<std::string, OpSum> ops;
  int64_t macs = 0;
  int64_t left_out = 0;  // nodes whose shapes depend on data, and those that run sub-graphs
  double bytes = 0;
  std::map<std::string, Shape> shapes;
  /// Nodes that move dequantised values in floats, and why they cannot move bytes.
  struct InFloat {
    std::string node, op, reason;
  };
  std::vector<InFloat> in_floats;
  /// With --binary: each convolution and product, whether it runs on bits, and how or why not.
  struct OnBits {
    std::string node, op;
    bool is_binary = false;
    std::string text;
  };
  std::vector<OnBits> on_bits;
};

/// At `given` shapes, and the usual ones (runtime::DefaultShapes) for inputs that are not given.
/// `is_partial`: inputs stand for what unsupported operators give; where the usual shapes do not
/// fit then, costs are left out with a warning.
Result<Inspection> Inspect(const runtime::Model& model, const std::map<std::string, Shape>& given,
                           bool lists_binary, bool is_partial, std::vector<std::string>& warnings);

}  // namespace fettle::tools
