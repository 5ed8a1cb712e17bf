// cpu.distance.rows: CDist of row-major matrices in fp32, four rows of the second one at a time.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/distance/rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// y[j] = the square of the distance of `a` from row j of `b`, for kRows rows of `length`.
template <int kRows>
void SomeDistances(const float* a, const float* b, int64_t length, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kRows];
  for (auto& sum : sums) sum = hn::Zero(d);
  int64_t k = 0;
  for (; k + lanes <= length; k += lanes) {
    const auto av = hn::LoadU(d, a + k);
    for (int j = 0; j < kRows; ++j) {
      const auto step = hn::Sub(av, hn::LoadU(d, b + j * length + k));
      sums[j] = hn::MulAdd(step, step, sums[j]);
    }
  }
  if (k < length) {
    const auto av = LoadSomeFloats(d, a + k, length - k);
    for (int j = 0; j < kRows; ++j) {
      const auto step = hn::Sub(av, LoadSomeFloats(d, b + j * length + k, length - k));
      sums[j] = hn::MulAdd(step, step, sums[j]);
    }
  }
  for (int j = 0; j < kRows; ++j) y[j] = hn::GetLane(hn::SumOfLanes(d, sums[j]));
}

void DistancesOnTarget(const float* a, const float* b, int64_t rows, int64_t length, float* y) {
  int64_t j = 0;
  for (; j + 4 <= rows; j += 4) SomeDistances<4>(a, b + j * length, length, y + j);
  for (; j < rows; ++j) SomeDistances<1>(a, b + j * length, length, y + j);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {
HWY_EXPORT(DistancesOnTarget);
namespace {

constexpr int64_t kMacsPerTask = 64 << 10;

struct Distances {
  int64_t rows, others, length;
  bool root;
};

class DistanceRows final : public NodeKernel {
 public:
  DistanceRows(const Problem& problem, const Distances& of) : NodeKernel(problem), of_(of) {}

  Status Run(const CpuLaunch& args) const override {
    const auto* a = reinterpret_cast<const float*>(operands().input(args, 0));
    const auto* b = reinterpret_cast<const float*>(operands().input(args, 1));
    auto* y = reinterpret_cast<float*>(operands().output(args, 0));
    // A task is some of the others against one row.
    const int64_t part = std::max<int64_t>(kMacsPerTask / std::max<int64_t>(1, of_.length), 4);
    const int64_t parts = (of_.others + part - 1) / part;
    args.stream.ParallelFor(of_.rows * parts, [&](int64_t task, int) {
      const int64_t row = task / parts, first = task % parts * part;
      const int64_t count = std::min(part, of_.others - first);
      float* to = y + row * of_.others + first;
      HWY_DYNAMIC_DISPATCH(DistancesOnTarget)
      (a + row * of_.length, b + first * of_.length, count, of_.length, to);
      if (of_.root) std::transform(to, to + count, to, [](float sum) { return std::sqrt(sum); });
    });
    return OkStatus();
  }

 private:
  Distances of_;
};

Result<Distances> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "CDist"_op)
    return Unsupported("computes CDist only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value &a = group.value(node.inputs[0]), &b = group.value(node.inputs[1]);
  if (a.dtype != DType::kF32) return Unsupported("{} is not computed", DTypeName(a.dtype));
  return Distances{(*a.shape)[0], (*b.shape)[0], (*a.shape)[1],
                   node.attributes.Text("metric") == "euclidean"};
}

constexpr Family<Distances> kFamily{.read = Read,
                                    .states = RowMajorAlone,
                                    .prepare = Make<DistanceRows>,
                                    .taste = Always<10>,
                                    .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuDistanceRows;
const KernelDesc kCpuDistanceRows = {.name = "cpu.distance.rows", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
#endif  // HWY_ONCE
