#include "kernels/opencl/binary/bit_filter.h"

#include <bit>
#include <cstring>

namespace fettle::kernels {
namespace {

/// How a form lays down the channels of a word: parts of so many channels, each with a unit for so
/// many outputs.
struct FormRow {
  int64_t part_channels, unit_outputs, unit_bytes;
};
constexpr FormRow kFormRows[] = {{32, 1, 4}, {16, 1, 2}, {4, 2, 4}, {4, 1, 4}, {1, 1, 2}};

/// What a sum of integers is scaled by, where all numbers of weights are -w and w, or 0 and w.
bool IsLattice(const ops::BinaryProduct& product, const Constant& results) {
  if (product.x_zero != 0 && product.x_zero != -product.x_one) return false;
  if (product.taps() * product.channels >= int64_t{1} << 24) return false;
  bool is_bipolar = true, is_unipolar = true;
  for (int64_t o = 0; o < product.outputs; ++o) {
    const double zero = results.GetDouble(o), one = results.GetDouble(product.outputs + o);
    is_bipolar = is_bipolar && zero == -one;
    is_unipolar = is_unipolar && zero == 0;
    const double scale = product.x_one * one;
    if (static_cast<double>(static_cast<float>(scale)) != scale) return false;
  }
  return is_bipolar || is_unipolar;
}

bool HasUnipolarWeights(const ops::BinaryProduct& product, const Constant& results) {
  for (int64_t o = 0; o < product.outputs; ++o)
    if (results.GetDouble(o) != 0) return false;
  return true;
}

}  // namespace

/// Writes one filter.
class BitFilterWriter {
 public:
  BitFilterWriter(const ops::BinaryProduct& product, const BitFilter& filter, std::byte* out)
      : product_(product), filter_(filter), out_(out) {}

  Status Write(const Constant& w, const Constant& results) {
    ASSIGN_OR_RETURN(const Tensor bits, w.ToTensor());
    std::memset(out_, 0, filter_.bytes());
    auto* ones = reinterpret_cast<int32_t*>(out_) + filter_.ones_at();
    for (int64_t o = 0; o < filter_.padded(); ++o) {
      WriteResult(results, o);
      if (o >= product_.outputs) continue;
      for (int64_t t = 0; t < filter_.taps; ++t) {
        const int64_t block = o / filter_.lanes, lane = o % filter_.lanes;
        for (int64_t i = 0; i < filter_.words; ++i) {
          const uint64_t mask = ops::WordMask(product_.channels, i);
          const uint64_t word =
              bits.as<uint64_t>()[(o * filter_.taps + t) * filter_.words + i] & mask;
          const int count = std::popcount(word);
          ones[(block * filter_.ones() + t) * filter_.lanes + lane] += count;
          if (filter_.is_rows()) {
            ones[(block * filter_.ones() + filter_.taps) * filter_.lanes + lane] += count;
            RowAt(o)[t * filter_.words + i] = word;
            RowAt(filter_.padded())[t * filter_.words + i] = mask;
          } else {
            WriteWord(word, (block * filter_.taps + t) * filter_.words + i, lane);
          }
        }
      }
    }
    return OkStatus();
  }

 private:
  template <typename T>
  T& NumberAt(int64_t row, int64_t output) {
    return reinterpret_cast<T*>(out_)[row * filter_.padded() + output];
  }

  uint64_t* RowAt(int64_t row) {
    return reinterpret_cast<uint64_t*>(out_ + filter_.weights_at() * 4) + row * filter_.row_words();
  }

  void WriteResult(const Constant& results, int64_t o) {
    const bool is_there = o < product_.outputs;
    const auto result = [&](int64_t row) { return row * product_.outputs + o; };
    switch (filter_.result) {
      case BitResult::kLimits:
        NumberAt<int32_t>(0, o) = is_there ? static_cast<int32_t>(results.GetInt(result(0))) : 1;
        NumberAt<int32_t>(1, o) = is_there ? static_cast<int32_t>(results.GetInt(result(1))) : 0;
        return;
      case BitResult::kScaled:
        if (!is_there) return;
        NumberAt<float>(0, o) = static_cast<float>(product_.x_one * results.GetDouble(result(1)));
        NumberAt<float>(1, o) = static_cast<float>(results.GetDouble(result(2)));
        return;
      case BitResult::kDoubles: break;
    }
    if (!is_there) return;
    const double w_zero = results.GetDouble(result(0));
    const double dx = product_.x_one - product_.x_zero;
    const double dw = results.GetDouble(result(1)) - w_zero;
    const double numbers[] = {dx * dw, dx * w_zero, product_.x_zero * dw, product_.x_zero * w_zero,
                              results.GetDouble(result(2))};
    for (int64_t row = 0; row < 5; ++row) NumberAt<double>(row, o) = numbers[row];
  }

  /// `at`: blocks, taps and words counted.
  void WriteWord(uint64_t word, int64_t at, int64_t lane) {
    const FormRow& row = kFormRows[filter_.form];
    const int64_t parts = ops::kWordBits / row.part_channels;
    const int64_t units = filter_.lanes / row.unit_outputs;
    std::byte* weights = out_ + filter_.weights_at() * 4;
    for (int64_t part = 0; part < parts; ++part) {
      const uint64_t some =
          word >> (part * row.part_channels) & ((uint64_t{1} << row.part_channels) - 1);
      std::byte* unit =
          weights + ((at * parts + part) * units + lane / row.unit_outputs) * row.unit_bytes;
      if (row.part_channels == 1) {
        *reinterpret_cast<Half*>(unit) = Half(some != 0 ? 1.0f : 0.0f);
      } else if (row.part_channels == 4) {
        for (int c = 0; c < 4; ++c)
          reinterpret_cast<uint8_t*>(unit)[c] |=
              static_cast<uint8_t>((some >> c & 1) << (lane % row.unit_outputs * 7));
      } else {
        std::memcpy(unit, &some, row.unit_bytes);
      }
    }
  }

  const ops::BinaryProduct& product_;
  const BitFilter& filter_;
  std::byte* out_;
};

BitResult BitResultOf(const BitProduct& read, const Constant& results) {
  if (read.to_bits) return BitResult::kLimits;
  return IsLattice(read.product, results) ? BitResult::kScaled : BitResult::kDoubles;
}

BitCounts CountsOf(const BitProduct& read, const Constant& results, BitResult result,
                   int64_t form) {
  if (result == BitResult::kDoubles)
    return {.ands = true, .x_ones = true, .w_ones = true, .factors = {}};
  const ops::BinaryProduct& product = read.product;
  const bool limits = result == BitResult::kLimits;
  const bool x_unipolar = limits ? product.x_unipolar : product.x_zero == 0;
  const bool w_unipolar = limits ? product.w_unipolar : HasUnipolarWeights(product, results);
  BitCounts counts{.ands = form >= 2 || x_unipolar};
  if (x_unipolar) {
    counts.factors =
        w_unipolar ? std::array<int64_t, 4>{1, 0, 0, 0} : std::array<int64_t, 4>{2, -1, 0, 0};
  } else if (counts.ands) {
    counts.factors =
        w_unipolar ? std::array<int64_t, 4>{2, 0, -1, 0} : std::array<int64_t, 4>{4, -2, -2, 1};
  } else {
    counts.factors =
        w_unipolar ? std::array<int64_t, 4>{-1, 1, 0, 0} : std::array<int64_t, 4>{-2, 0, 0, 1};
  }
  counts.x_ones = counts.factors[1] != 0;
  counts.w_ones = counts.factors[2] != 0;
  return counts;
}

int64_t BitFilter::ones_at() const {
  return Whole(padded() * (result == BitResult::kDoubles ? 10 : 2));
}

int64_t BitFilter::bytes() const {
  if (is_rows()) return weights_at() * 4 + (padded() + 1) * row_words() * 8;
  const FormRow& row = kFormRows[form];
  const int64_t units =
      blocks * taps * words * (ops::kWordBits / row.part_channels) * (lanes / row.unit_outputs);
  return weights_at() * 4 + units * row.unit_bytes;
}

PackRequest RequestBitFilter(const BitProduct& read, const BitFilter& filter) {
  const ops::BinaryProduct& p = read.product;
  return {.constants = {read.w, read.results},
          .recipe = fmt::format("opencl.bits.{}.{}x{}.{}.c{}.x{}_{}", filter.form, filter.blocks,
                                filter.lanes, static_cast<int64_t>(filter.result), p.channels,
                                p.x_zero, p.x_one),
          .bytes = filter.bytes(),
          .pack = [p, filter](std::span<const Constant* const> constants, std::byte* out) {
            return BitFilterWriter(p, filter, out).Write(*constants[0], *constants[1]);
          }};
}

}  // namespace fettle::kernels
