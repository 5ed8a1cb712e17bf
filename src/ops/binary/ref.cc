// Scalar oracles of bits: pairs of bits are counted in integers, and each result is rounded once.
#include <bit>

#include "ops/binary/op.h"
#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::ops {
namespace {

/// How many pairs of an output's bits are which.
struct PairCounts {
  int64_t both = 0, x = 0, w = 0, all = 0;  // x: those whose bit of x is 1
};

uint64_t WordAt(const HostView& view, int64_t offset) { return view.as<uint64_t>()[offset]; }

/// One output of a product; `place` holds the image (or, of BinaryMatMul, the leading coordinates)
/// and the spatial coordinates.
PairCounts CountPairs(const BinaryProduct& product, const HostView& x, const HostView& w,
                      std::span<const int64_t> place, int64_t output) {
  PairCounts counts;
  const size_t rank = product.kernel.size();
  const int64_t x_word = x.strides.back(), w_word = w.strides.back();
  const int64_t group = output / (product.outputs / product.groups);
  const Shape kernel(Dims(product.kernel.begin(), product.kernel.end()));
  std::vector<int64_t> tap(rank);
  for (int64_t t = 0; t < product.taps(); ++t) {
    Unravel(t, kernel, tap);
    int64_t x_at = group * product.words() * x_word, w_at = output * w.strides[0];
    bool inside = true;
    for (size_t i = 0; i < place.size() - rank; ++i) x_at += place[i] * x.strides[i];
    for (size_t i = 0; i < rank; ++i) {
      const int64_t position = place[place.size() - rank + i] * product.strides[i] -
                               product.pad_begin[i] + tap[i] * product.dilations[i];
      inside = inside && position >= 0 && position < product.in[static_cast<int>(i)];
      x_at += position * x.strides[i + 1];
      w_at += tap[i] * w.strides[i + 1];
    }
    if (!inside && !product.pad_bit) continue;
    for (int64_t word = 0; word < product.words(); ++word) {
      const uint64_t mask = WordMask(product.channels, word);
      const uint64_t beside = product.pad_bit.value_or(false) ? mask : 0;
      const uint64_t a = inside ? WordAt(x, x_at + word * x_word) & mask : beside;
      const uint64_t b = WordAt(w, w_at + word * w_word) & mask;
      counts.both += std::popcount(a & b);
      counts.x += std::popcount(a);
      counts.w += std::popcount(b);
    }
    counts.all += product.channels;
  }
  return counts;
}

/// The sum of products, where bits stand for the numbers given.
double SumOf(const PairCounts& n, double x_zero, double x_one, double w_zero, double w_one) {
  return static_cast<double>(n.both) * (x_one * w_one) +
         static_cast<double>(n.x - n.both) * (x_one * w_zero) +
         static_cast<double>(n.w - n.both) * (x_zero * w_one) +
         static_cast<double>(n.all - n.x - n.w + n.both) * (x_zero * w_zero);
}

}  // namespace

Status PackBitsReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const BitPacking packing, ReadPackBits(context.node, x.shape));
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> coordinate) {
    std::vector<int64_t> at(coordinate.begin(), coordinate.end());
    const int64_t group = at.back() / packing.words(), word = at.back() % packing.words();
    at.pop_back();
    at.insert(at.begin() + packing.axis, 0);
    const int64_t first = word * kWordBits;
    const int64_t count = std::min(kWordBits, packing.channels - first);
    uint64_t bits = 0;
    for (int64_t c = 0; c < count; ++c) {
      at[packing.axis] = group * packing.channels + first + c;
      const double value = x.GetDouble(x.Offset(at));
      const bool is_within = packing.low <= value && value <= packing.high;
      bits |= uint64_t{is_within != packing.invert} << c;
    }
    y.as<uint64_t>()[y.Offset(coordinate)] = bits;
  });
  return OkStatus();
}

Status BinaryProductReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &w = context.inputs[1], &y = context.outputs[0];
  const HostView& results = context.inputs[2];
  ASSIGN_OR_RETURN(const BinaryProduct product, ReadBinaryProduct(context.node, x.shape, w.shape));
  const bool to_bits = y.dtype == DType::kU64;
  const auto result = [&](int64_t row, int64_t output) {
    return results.GetDouble(row * results.strides[0] + output * results.strides[1]);
  };
  const size_t axis = product.is_conv && !to_bits ? 1 : y.shape.rank() - 1;
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> coordinate) {
    std::vector<int64_t> place(coordinate.begin(), coordinate.end());
    const int64_t channel = place[axis];
    place.erase(place.begin() + static_cast<std::ptrdiff_t>(axis));
    if (!to_bits) {
      const PairCounts counts = CountPairs(product, x, w, place, channel);
      const double sum =
          SumOf(counts, product.x_zero, product.x_one, result(0, channel), result(1, channel));
      y.SetDouble(y.Offset(coordinate), sum + result(2, channel));
      return;
    }
    uint64_t bits = 0;
    for (int64_t o = channel * kWordBits; o < std::min(product.outputs, (channel + 1) * kWordBits);
         ++o) {
      const double sum = SumOf(CountPairs(product, x, w, place, o), product.x_unipolar ? 0 : -1, 1,
                               product.w_unipolar ? 0 : -1, 1);
      bits |= uint64_t{result(0, o) <= sum && sum <= result(1, o)} << (o % kWordBits);
    }
    y.as<uint64_t>()[y.Offset(coordinate)] = bits;
  });
  return OkStatus();
}

Status BinaryMaxPoolReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  Dims first = x.shape.dims();
  first.insert(first.begin() + 1, first.back());
  first.pop_back();
  ASSIGN_OR_RETURN(const PoolAttributes pool, ReadPool(context.node, Shape(first)));
  const Shape kernel(Dims(pool.kernel.begin(), pool.kernel.end()));
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> coordinate) {
    std::vector<int64_t> at(coordinate.begin(), coordinate.end()), tap(pool.kernel.size());
    uint64_t bits = 0;
    for (int64_t t = 0; t < kernel.elements(); ++t) {
      Unravel(t, kernel, tap);
      bool inside = true;
      for (size_t i = 0; i < tap.size(); ++i) {
        at[i + 1] =
            coordinate[i + 1] * pool.strides[i] - pool.pad_begin[i] + tap[i] * pool.dilations[i];
        inside = inside && at[i + 1] >= 0 && at[i + 1] < x.shape[static_cast<int>(i) + 1];
      }
      if (inside) bits |= WordAt(x, x.Offset(at));
    }
    y.as<uint64_t>()[y.Offset(coordinate)] = bits;
  });
  return OkStatus();
}

}  // namespace fettle::ops
