// compiled: small
#include <algorithm>

#include "kernels/cpu/quantised_matmul/integer.h"
#include "kernels/cpu/quantised_matmul/windows.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// A convolution as products: of each group of each image one.
Status ReadWindows(const ir::Graph& group, const ir::Node& node, IntegerProduct& facts) {
  if (group.nodes().size() > 1) return Unsupported("more than a convolution");
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, node));
  if (!ByteWindows::Fit(g)) return Unsupported("a padded copy that is much larger than the input");
  Product& p = facts.p;
  p.a = node.inputs[1];
  p.b = node.inputs[0];
  p.m = g.oc / g.groups;
  p.k = g.ic / g.groups * g.taps();
  p.n = g.image_pixels();
  for (int64_t i = 0; i < g.batch * g.groups; ++i) p.batches.push_back({i % g.groups, i});
  p.b_matrices = g.batch * g.groups;
  facts.windows = g;
  facts.constant_filters = group.value(p.a).is_constant();
  return OkStatus();
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                const IntegerProduct& product, const Params&,
                                                const Device&) {
  if (IntegerTilesFit(product)) return MakeIntegerTiles(problem, product);
  std::optional<SumScale> scale;
  if (problem.group->nodes().size() > 1) {
    ASSIGN_OR_RETURN(scale, SumScale::Read(*problem.group, problem.states));
  }
  return MakeIntegerVectors(problem, product, std::move(scale));
}

/// Constant filters are packed for pixels whose channels follow each other. Where few inputs make
/// many outputs, or groups are narrow, sums are converted for longer than windows are gathered.
int Taste(const IntegerProduct& product, const Device&) {
  constexpr int64_t kManyPixels = 64, kFewInputs = 6, kShallow = 400;
  if (!product.constant_filters) return 9;
  const ConvGeometry& g = *product.windows;
  const Product& p = product.p;
  const int64_t inputs = g.ic / g.groups;
  if (p.n < kManyPixels || p.k > kShallow) return 9;
  const bool has_more_outputs = g.groups == 1 && p.k <= 2 * p.m;
  const bool is_narrow = g.groups > 1 && inputs <= kFewInputs && 2 * p.m >= 3 * inputs;
  return has_more_outputs || is_narrow ? kBesideBest : 9;
}

constexpr Family<IntegerProduct> kFamily{
    .read = ReadIntegerGroup, .states = IntegerStates, .prepare = Prepare, .taste = Taste};

}  // namespace

Result<IntegerProduct> ReadIntegerGroup(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  const bool is_conv = node.op == "ConvInteger"_op;
  IntegerProduct facts;
  if (is_conv) {
    RETURN_IF_ERROR(ReadWindows(group, node, facts));
  } else {
    ASSIGN_OR_RETURN(facts.p, ReadIntegerProduct(group, node));
  }
  const Product& p = facts.p;
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batches.empty()) return Unsupported("an empty operand");
  for (IntegerSide* side : {&facts.a, &facts.b}) {
    side->is_left = side == &facts.a;
    side->operand = side->is_left == is_conv ? 1 : 0;
    side->is_signed = group.value(node.inputs[side->operand]).dtype == DType::kI8;
    const ir::ValueId zeros = node.input(side->operand + 2);
    if (zeros != ir::kAbsent) side->zeros = group.value(zeros).shape->elements();
  }
  if (group.nodes().size() == 1) return facts;
  if (IntegerTilesFit(facts)) return Unsupported("matrix tiles store sums alone");
  RETURN_IF_ERROR(SumScale::Read(group, RowMajorStates(group)).status());
  return facts;
}

Result<std::vector<StateAssignment>> IntegerStates(const ir::Graph& group, const IntegerProduct&,
                                                   const Device&) {
  std::vector<StateAssignment> states{RowMajorStates(group)};
  if (group.nodes().size() == 1) {
    AddCallersMemory(group, states);
    return states;
  }
  const ir::Node& node = group.nodes()[0];
  for (size_t sides = 1; sides < 4; ++sides) {
    StateAssignment next = states[0];
    for (size_t i = 0; i < 4; ++i) {
      const auto at = std::find(group.inputs.begin(), group.inputs.end(), node.input(i));
      if (at != group.inputs.end() && (sides >> i % 2 & 1) != 0)
        next.inputs[at - group.inputs.begin()].external = true;
    }
    states.push_back(std::move(next));
  }
  return states;
}

extern const KernelDesc kCpuQuantisedInteger;
const KernelDesc kCpuQuantisedInteger = {
    .name = "cpu.quantised.integer", .version = 4, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
