// cpu.binary.max_pool: the maximum of bits is whether one of them is set.
#include <algorithm>
#include <array>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/family.h"
#include "kernels/match/bits.h"

namespace fettle::kernels {
namespace {

Result<BitMaxPool> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(BitMaxPool read, ReadBitMaxPool(group));
  if (read.pool.spatial_rank() > 3) return Unsupported("{} spatial axes", read.pool.spatial_rank());
  return read;
}

class BinaryMaxPool final : public CpuKernel {
 public:
  BinaryMaxPool(const Problem&, const BitMaxPool& facts) : facts_(facts) {}

  /// A task is a row of output pixels along the last axis.
  Status Run(const CpuLaunch& args) const override {
    const Shape& y = facts_.y;
    const int64_t row = y[y.rank() - 2], words = y[y.rank() - 1];
    const auto* x = args.inputs[0].host<uint64_t>();
    auto* out = args.outputs[0].host<uint64_t>();
    args.stream.ParallelFor(y.Count(0, y.rank() - 2), [&](int64_t task, int) {
      for (int64_t i = 0; i < row; ++i) {
        uint64_t* pixel = out + (task * row + i) * words;
        std::fill_n(pixel, words, uint64_t{0});
        JoinWindow(x, task * row + i, pixel);
      }
    });
    return OkStatus();
  }

 private:
  using Place = std::array<int64_t, 3>;

  void JoinWindow(const uint64_t* x, int64_t pixel, uint64_t* out) const {
    const int spatial = facts_.pool.spatial_rank();
    Place place{};
    for (int i = spatial; i-- > 0;) {
      place[i] = pixel % facts_.y[i + 1];
      pixel /= facts_.y[i + 1];
    }
    JoinAxis(x, 0, place, pixel, out);
  }

  /// Ors the words of all taps from axis `axis` on; `at` is the input pixel of the axes before.
  void JoinAxis(const uint64_t* x, int axis, const Place& place, int64_t at, uint64_t* out) const {
    const int64_t words = facts_.x[facts_.x.rank() - 1];
    if (axis == facts_.pool.spatial_rank()) {
      for (int64_t i = 0; i < words; ++i) out[i] |= x[at * words + i];
      return;
    }
    const size_t a = axis;
    const int64_t extent = facts_.x[axis + 1];
    const ops::TapRange taps = ops::InsideTaps(facts_.pool, axis, place[a], extent);
    for (int64_t t = taps.begin; t < taps.end; ++t) {
      const int64_t position = place[a] * facts_.pool.strides[a] - facts_.pool.pad_begin[a] +
                               t * facts_.pool.dilations[a];
      JoinAxis(x, axis + 1, place, at * extent + position, out);
    }
  }

  BitMaxPool facts_;
};

constexpr Family<BitMaxPool> kFamily{.read = Read,
                                     .states = RowMajorAlone<BitMaxPool>,
                                     .prepare = Make<BinaryMaxPool, BitMaxPool>,
                                     .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuBinaryMaxPool;
const KernelDesc kCpuBinaryMaxPool = {.name = "cpu.binary.max_pool", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
