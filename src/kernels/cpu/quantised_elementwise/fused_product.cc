#include "kernels/cpu/quantised_elementwise/fused_product.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {

#if defined(__x86_64__)
namespace {

constexpr int64_t kBytes = 256;

/// What `run` makes of each byte `a` and all others.
std::vector<uint8_t> AllProducts(PairRowArgs args, PairRowFunction run) {
  std::array<uint8_t, kBytes> all, one;
  std::iota(all.begin(), all.end(), uint8_t{0});
  std::vector<uint8_t> products(kBytes * kBytes);
  args.a = one.data();
  args.b = all.data();
  args.n = kBytes;
  args.a_stride = args.b_stride = 1;
  for (int64_t a = 0; a < kBytes; ++a) {
    one.fill(static_cast<uint8_t>(a));
    args.y = products.data() + a * kBytes;
    run(args);
  }
  return products;
}

}  // namespace

float FindProductFactor(const PairRowArgs& product) {
  // Steps of all products stay in 32 bits.
  constexpr float kMost = 0x1p31F / 65536;
  const auto middle = static_cast<float>(double{product.a_type.scale} * product.b_type.scale /
                                         product.y_type.scale);
  if (!RunsAvx2() || !std::isnormal(middle) || middle >= kMost) return 0;
  const std::vector<uint8_t> graph = AllProducts(product, FindPairRow(PairOp::kMul));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float factor : {middle, std::nextafter(middle, kInfinity), std::nextafter(middle, 0.0F)}) {
    PairRowArgs fused = product;
    fused.factor = factor;
    if (AllProducts(fused, RunProductRowAvx2) == graph) return factor;
  }
  return 0;
}

#else
float FindProductFactor(const PairRowArgs&) { return 0; }
#endif

PairRowFunction FindRowOfBoth(PairOp op, const PairRowArgs& row) {
#if defined(__x86_64__)
  if (row.factor != 0) return RunProductRowAvx2;
#endif
  return row.fused.product != 0 ? RunSumRow : FindPairRow(op);
}

}  // namespace fettle::kernels
