// The lines of `fettle gemm`: ways to make one product on one device, as a network would list them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/choices.h"
#include "runtime/product/product_graph.h"
#include "tuner/store/candidate.h"

namespace fettle::tools {

/// A way to make the product, or why it is none here.
struct ProductLine {
  std::string name, kernel;
  bool constant_b = false;
  std::optional<tuner::Candidate> candidate;
  std::string refused;
};

/// Which lines there are.
struct ProductListing {
  int threads = 1;
  planner::Precision precision = planner::Precision::kHigh;
  /// Every step from naive on; otherwise what a network takes before anything is measured, with B
  /// constant and given.
  bool ladder = false;
};

/// Fails where the product is not a single group of operators (a batch of transposed or scaled
/// matrices), and as runtime::ProductGraph does. `device` is the one that computes: the CPU, or the
/// accelerator of `devices`. `b` is what a constant B holds. Operands are stored as what they are
/// at any precision, where there is such a kernel.
Result<std::vector<ProductLine>> ListProductLines(const runtime::ProductProblem& problem,
                                                  const std::shared_ptr<const Constant>& b,
                                                  const DeviceSet& devices,
                                                  const ProductListing& listing);

}  // namespace fettle::tools
