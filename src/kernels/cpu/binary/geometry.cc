#include "kernels/cpu/binary/geometry.h"

namespace fettle::kernels {

Result<BitGeometry> BitGeometry::Make(const ops::BinaryProduct& product) {
  BitGeometry g;
  const size_t rank = product.kernel.size();
  if (rank > 3) return Unsupported("{} spatial axes", rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t to = 3 - rank + i;
    g.in_[to] = product.in[static_cast<int>(i)];
    g.out_[to] = product.out[static_cast<int>(i)];
    g.kernel_[to] = product.kernel[i];
    g.stride_[to] = product.strides[i];
    g.dilation_[to] = product.dilations[i];
    g.pad_[to] = product.pad_begin[i];
  }
  g.row_words_ = product.groups * product.words();
  g.pixels_ = product.pixels();
  for (int64_t d = 0; d < g.kernel_[0]; ++d) {
    for (int64_t h = 0; h < g.kernel_[1]; ++h) {
      for (int64_t w = 0; w < g.kernel_[2]; ++w) {
        const int64_t row = d * g.dilation_[0] * g.in_[1] + h * g.dilation_[1];
        g.offsets_.push_back((row * g.in_[2] + w * g.dilation_[2]) * g.row_words_);
      }
    }
  }
  return g;
}

BitGeometry::Place BitGeometry::PlaceOf(int64_t pixel) const {
  Place place;
  for (size_t i = 3; i-- > 0; pixel /= out_[i]) place.at[i] = pixel % out_[i];
  place.image = pixel;
  return place;
}

void BitGeometry::Advance(Place& place) const {
  for (size_t i = 3; i-- > 0;) {
    if (++place.at[i] < out_[i]) return;
    place.at[i] = 0;
  }
  ++place.image;
}

int64_t BitGeometry::FillRows(const uint64_t* x, const uint64_t* beside, const Place& place,
                              int64_t stride, const uint64_t** rows) const {
  std::array<int64_t, 3> first{};  // position of tap 0
  for (size_t i = 0; i < 3; ++i) first[i] = place.at[i] * stride_[i] - pad_[i];
  bool is_inside = true;
  for (size_t i = 0; i < 3; ++i)
    is_inside = is_inside && first[i] >= 0 && first[i] + (kernel_[i] - 1) * dilation_[i] < in_[i];
  const int64_t base =
      (((place.image * in_[0] + first[0]) * in_[1] + first[1]) * in_[2] + first[2]) * row_words_;
  if (is_inside) {
    for (int64_t t = 0; t < taps(); ++t) rows[t * stride] = x + (base + offsets_[t]);
    return taps();
  }
  int64_t inside = 0, t = 0;
  const auto has = [&](size_t axis, int64_t tap) {
    const int64_t position = first[axis] + tap * dilation_[axis];
    return position >= 0 && position < in_[axis];
  };
  for (int64_t d = 0; d < kernel_[0]; ++d) {
    for (int64_t h = 0; h < kernel_[1]; ++h) {
      const bool has_row = has(0, d) && has(1, h);
      for (int64_t w = 0; w < kernel_[2]; ++w, ++t) {
        const bool reads = has_row && has(2, w);
        rows[t * stride] = reads ? x + (base + offsets_[t]) : beside;
        inside += reads ? 1 : 0;
      }
    }
  }
  return inside;
}

}  // namespace fettle::kernels
