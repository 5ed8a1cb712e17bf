// cpu.gather.product: products of single rows by matrices that indices choose, as mixtures of
// experts make them. The matrices are read where they lie, each once for all rows that chose it.
#include <algorithm>
#include <array>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "kernels/match/gathered_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gather/product.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

#ifndef FETTLE_KERNELS_CPU_GATHER_PRODUCT_CC_
#define FETTLE_KERNELS_CPU_GATHER_PRODUCT_CC_
namespace fettle::kernels {

/// Rows that are multiplied together.
constexpr int kMostTokens = 4;

/// Some rows of one matrix (or some of its columns), and the rows that they are multiplied by: one,
/// or kMostTokens, of which the last may be there several times.
struct ChosenPart {
  const float* w;
  int64_t stride;  // from row to row of the matrix
  int64_t depth;   // of a sum
  int64_t count;   // of results for each token
  int tokens;
  std::array<const float*, kMostTokens> x;
  std::array<float*, kMostTokens> y;
};

}  // namespace fettle::kernels
#endif  // FETTLE_KERNELS_CPU_GATHER_PRODUCT_CC_

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Rows of a matrix, or vectors of columns, beside up to four tokens: sums that fit in registers.
constexpr int kWide = HWY_MAX_BYTES >= 64 ? 4 : 2;

/// y[t][n] = the sum of x[t][k] * w[n][k], for rows n to n + kRows.
template <int kTokens, int kRows>
void DotRows(const ChosenPart& part, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kTokens][kRows];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  const auto add = [&](int64_t k, const auto& load) HWY_ATTR {
    hn::Vec<decltype(d)> x[kTokens];
    for (int t = 0; t < kTokens; ++t) x[t] = load(part.x[t] + k);
    for (int r = 0; r < kRows; ++r) {
      const auto w = load(part.w + (n + r) * part.stride + k);
      for (int t = 0; t < kTokens; ++t) sums[t][r] = hn::MulAdd(x[t], w, sums[t][r]);
    }
  };
  int64_t k = 0;
  for (; k + lanes <= part.depth; k += lanes)
    add(k, [&](const float* p) HWY_ATTR { return hn::LoadU(d, p); });
  if (k < part.depth)
    add(k, [&](const float* p) HWY_ATTR { return LoadSomeFloats(d, p, part.depth - k); });
  for (int t = 0; t < kTokens; ++t)
    for (int r = 0; r < kRows; ++r) part.y[t][n + r] = hn::GetLane(hn::SumOfLanes(d, sums[t][r]));
}

/// y[t][n] = the sum of x[t][k] * w[k][n], for kVectors vectors of columns from n, or `some` of the
/// columns of one.
template <int kTokens, int kVectors>
void AddColumns(const ChosenPart& part, int64_t n, int64_t some) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kTokens][kVectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  for (int64_t k = 0; k < part.depth; ++k) {
    const float* w = part.w + k * part.stride + n;
    for (int v = 0; v < kVectors; ++v) {
      const auto column = some > 0 ? LoadSomeFloats(d, w, some) : hn::LoadU(d, w + v * lanes);
      for (int t = 0; t < kTokens; ++t)
        sums[t][v] = hn::MulAdd(hn::Set(d, part.x[t][k]), column, sums[t][v]);
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      float* y = part.y[t] + n + v * lanes;
      some > 0 ? StoreSomeFloats(d, sums[t][v], y, some) : hn::StoreU(sums[t][v], d, y);
    }
  }
}

template <int kTokens>
void Dots(const ChosenPart& part) {
  int64_t n = 0;
  for (; n + kWide <= part.count; n += kWide) DotRows<kTokens, kWide>(part, n);
  for (; n < part.count; ++n) DotRows<kTokens, 1>(part, n);
}

template <int kTokens>
void Columns(const ChosenPart& part) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t n = 0;
  for (; n + kWide * lanes <= part.count; n += kWide * lanes)
    AddColumns<kTokens, kWide>(part, n, 0);
  for (; n + lanes <= part.count; n += lanes) AddColumns<kTokens, 1>(part, n, 0);
  if (n < part.count) AddColumns<kTokens, 1>(part, n, part.count - n);
}

void ChosenOnTarget(const ChosenPart& part, bool by_rows) {
  if (part.tokens == 1) return by_rows ? Dots<1>(part) : Columns<1>(part);
  by_rows ? Dots<kMostTokens>(part) : Columns<kMostTokens>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {
HWY_EXPORT(ChosenOnTarget);
namespace {

/// Weights of a task: they stay in the second-level cache while all tokens are multiplied by them.
constexpr int64_t kTaskFloats = 32 << 10;
constexpr int64_t kLeastResults = 64;

Result<GatheredProduct> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const GatheredProduct product, ReadGatheredProduct(group));
  for (const ir::ValueId id : {product.w, product.x})
    RETURN_IF_ERROR(CheckFloat(group.value(id).dtype));
  const ir::Value& w = group.value(product.w);
  if (w.dtype != DType::kF32 && !w.is_constant())
    return Unsupported("matrices of halves that are computed");
  return product;
}

/// Constant halves are packed as floats.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const GatheredProduct&,
                                            const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

class ProductKernel final : public CpuKernel {
 public:
  ProductKernel(const Problem& problem, const GatheredProduct& facts)
      : group_(problem.group), facts_(facts) {
    for (const ir::ValueId id : {facts.w, facts.indices, facts.x})
      if (group_->value(id).is_constant()) constants_.push_back(id);
    const int64_t fit = kTaskFloats / std::max<int64_t>(facts.depth, 1);
    part_ = std::max(kLeastResults, fit / kLeastResults * kLeastResults);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (const ir::ValueId id : constants_) requests.push_back(PackedAsFloats(*group_, id));
    return requests;
  }

  Status Run(const CpuLaunch& args) const override {
    const Indices indices{Operand(args, facts_.indices), group_->value(facts_.indices).dtype};
    RETURN_IF_ERROR(CheckIndices(indices, facts_.tokens, facts_.matrices));
    int64_t *ends = args.At(ends_), *order = args.At(order_);
    SortTokens(indices, ends, order);
    const auto* w = reinterpret_cast<const float*>(Operand(args, facts_.w));
    const auto* x = reinterpret_cast<const float*>(Operand(args, facts_.x));
    auto* y = reinterpret_cast<float*>(args.outputs[0].host<std::byte>());
    const int64_t parts = (facts_.results + part_ - 1) / part_;
    args.stream.ParallelFor(facts_.matrices * parts, [&](int64_t task, int) {
      const int64_t matrix = task / parts, first = task % parts * part_;
      const float* at = w + matrix * facts_.depth * facts_.results;
      for (int64_t i = matrix == 0 ? 0 : ends[matrix - 1]; i < ends[matrix]; i += kMostTokens)
        Multiply(at, first, {order + i, order + std::min(i + kMostTokens, ends[matrix])}, x, y);
    });
    return OkStatus();
  }

 private:
  const std::byte* Operand(const LaunchArgs& args, ir::ValueId id) const {
    const auto packed = std::ranges::find(constants_, id);
    if (packed != constants_.end())
      return args.packed[packed - constants_.begin()].host<std::byte>();
    return args.inputs[std::ranges::find(group_->inputs, id) - group_->inputs.begin()]
        .host<std::byte>();
  }

  /// Tokens in the order of the matrices that they chose; ends[m]: behind the last one of m.
  void SortTokens(const Indices& indices, int64_t* ends, int64_t* order) const {
    std::fill(ends, ends + facts_.matrices + 1, 0);
    for (int64_t t = 0; t < facts_.tokens; ++t) ++ends[indices.Normal(t, facts_.matrices) + 1];
    for (int64_t m = 0; m < facts_.matrices; ++m) ends[m + 1] += ends[m];
    // ends[m] is where the tokens of m begin, and where they end once all have their place.
    for (int64_t t = 0; t < facts_.tokens; ++t)
      order[ends[indices.Normal(t, facts_.matrices)]++] = t;
  }

  void Multiply(const float* w, int64_t first, std::span<const int64_t> tokens, const float* x,
                float* y) const {
    ChosenPart part{.w = w + first * (facts_.by_rows ? facts_.depth : 1),
                    .stride = facts_.by_rows ? facts_.depth : facts_.results,
                    .depth = facts_.depth,
                    .count = std::min(part_, facts_.results - first),
                    .tokens = static_cast<int>(tokens.size())};
    for (size_t i = 0; i < kMostTokens; ++i) {
      const int64_t t = tokens[std::min(i, tokens.size() - 1)];
      part.x[i] = x + t * facts_.depth;
      part.y[i] = y + t * facts_.results + first;
    }
    HWY_DYNAMIC_DISPATCH(ChosenOnTarget)(part, facts_.by_rows);
  }

  std::shared_ptr<const ir::Graph> group_;
  GatheredProduct facts_;
  std::vector<ir::ValueId> constants_;
  int64_t part_ = 0;  // results of a task
  RunScratch<int64_t> ends_ = PerRun<int64_t>(facts_.matrices + 1);
  RunScratch<int64_t> order_ = PerRun<int64_t>(facts_.tokens);
};

constexpr Family<GatheredProduct> kFamily{.read = Read,
                                          .states = States,
                                          .prepare = Make<ProductKernel>,
                                          .taste = Always<10>,
                                          .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuGatherProduct;
const KernelDesc kCpuGatherProduct = {.name = "cpu.gather.product", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
#endif  // HWY_ONCE
