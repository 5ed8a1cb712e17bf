#include "kernels/cpu/depthwise/runner.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

/// A line of pixels with each channel repeated `multiplier` times.
template <typename T>
void ExpandLine(const std::byte* line, int64_t elements, int64_t multiplier, std::byte* out) {
  const T* from = reinterpret_cast<const T*>(line);
  T* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < elements; ++i, to += multiplier) std::fill_n(to, multiplier, from[i]);
}

}  // namespace

Result<ConvGeometry> ReadDepthwiseGeometry(const ir::Graph& group, const ir::Node& node) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, node));
  if (g.groups != g.ic || g.ic == 1) return Unsupported("not a depthwise convolution");
  return g;
}

DepthwiseRunner::DepthwiseRunner(const ConvGeometry& geometry, int64_t in_bytes, int64_t out_bytes,
                                 int lanes)
    : g_(geometry),
      in_bytes_(in_bytes),
      out_bytes_(out_bytes),
      padded_(RoundUp(geometry.oc, kDepthwisePad)),
      by_rows_(geometry.kernel[0] == 1 && geometry.dilation[2] == 1 &&
               geometry.kernel[1] <= kMaxDepthwiseLines &&
               HasDepthwiseRow(geometry.kernel[2], geometry.stride[2])) {
  // A task is worth some tens of microseconds.
  constexpr int64_t kTaskMacs = 200'000;
  rows_per_task_ =
      std::clamp<int64_t>(kTaskMacs / std::max<int64_t>(1, g_.out[2] * g_.oc * g_.taps()), 1,
                          std::max<int64_t>(1, rows() / (int64_t{2} * lanes)));
}

int64_t DepthwiseRunner::PointerBytes() const {
  return by_rows_ ? 0 : RoundUp(g_.out[2] * g_.taps() * static_cast<int64_t>(sizeof(void*)), 64);
}

int64_t DepthwiseRunner::CopyBytes() const {
  return g_.oc == g_.ic ? 0 : RoundUp(g_.kernel[0] * g_.kernel[1] * LineBytes(), 64) + 64;
}

void DepthwiseRunner::RunRow(const DepthwiseMemory& memory, int64_t row, std::byte* out,
                             std::byte* scratch) const {
  std::byte* copies = scratch + PointerBytes();
  if (by_rows_) {
    RunByRow(memory, row, out, copies);
  } else {
    RunByPixels(memory, row, out, copies, reinterpret_cast<const std::byte**>(scratch));
  }
}

/// The input line that a kernel row meets, of oc channels; null outside of the input.
const std::byte* DepthwiseRunner::Line(const DepthwiseMemory& memory, int64_t row, int64_t kd,
                                       int64_t kh, std::byte* copies) const {
  const int64_t oh = row % g_.out[1], od = row / g_.out[1] % g_.out[0];
  const int64_t image = row / g_.out[1] / g_.out[0];
  const int64_t id = od * g_.stride[0] - g_.pad[0] + kd * g_.dilation[0];
  const int64_t ih = oh * g_.stride[1] - g_.pad[1] + kh * g_.dilation[1];
  if (id < 0 || id >= g_.in[0] || ih < 0 || ih >= g_.in[1]) return nullptr;
  const std::byte* at =
      memory.x + ((image * g_.in[0] + id) * g_.in[1] + ih) * g_.in[2] * g_.ic * in_bytes_;
  if (g_.oc == g_.ic) return at;
  std::byte* copy = copies + (kd * g_.kernel[1] + kh) * LineBytes();
  (in_bytes_ == 1 ? ExpandLine<uint8_t> : ExpandLine<float>)(at, g_.in[2] * g_.ic, g_.oc / g_.ic,
                                                             copy);
  return copy;
}

void DepthwiseRunner::RunByRow(const DepthwiseMemory& memory, int64_t row, std::byte* out,
                               std::byte* copies) const {
  DepthwiseRow work;
  static_cast<DepthwiseCommon&>(work) = memory.common;
  const std::byte* lines[kMaxDepthwiseLines];
  work.lines = lines;
  for (int64_t kh = 0; kh < g_.kernel[1]; ++kh) {
    const std::byte* at = Line(memory, row, 0, kh, copies);
    if (at == nullptr) continue;
    if (work.num_lines == 0) work.weights = memory.common.weights + kh * g_.kernel[2] * padded_;
    lines[work.num_lines++] = at;
  }
  work.zeros = memory.zeros;
  work.in_width = g_.in[2];
  work.out_width = g_.out[2];
  work.kernel_width = g_.kernel[2];
  work.stride = g_.stride[2];
  work.pad = g_.pad[2];
  work.out = out;
  RunDepthwiseRow(work);
}

void DepthwiseRunner::RunByPixels(const DepthwiseMemory& memory, int64_t row, std::byte* out,
                                  std::byte* copies, const std::byte** pointers) const {
  for (int64_t kd = 0, tap = 0; kd < g_.kernel[0]; ++kd) {
    for (int64_t kh = 0; kh < g_.kernel[1]; ++kh) {
      const std::byte* at = Line(memory, row, kd, kh, copies);
      for (int64_t kw = 0; kw < g_.kernel[2]; ++kw, ++tap) {
        for (int64_t ow = 0; ow < g_.out[2]; ++ow) {
          const int64_t iw = ow * g_.stride[2] - g_.pad[2] + kw * g_.dilation[2];
          const bool inside = at != nullptr && iw >= 0 && iw < g_.in[2];
          pointers[ow * g_.taps() + tap] = inside ? at + iw * g_.oc * in_bytes_ : memory.zeros;
        }
      }
    }
  }
  DepthwisePixel work;
  static_cast<DepthwiseCommon&>(work) = memory.common;
  work.num_taps = g_.taps();
  for (int64_t ow = 0; ow < g_.out[2]; ++ow) {
    work.taps = pointers + ow * g_.taps();
    work.out = out + ow * g_.oc * out_bytes_;
    RunDepthwisePixel(work);
  }
}

}  // namespace fettle::kernels
