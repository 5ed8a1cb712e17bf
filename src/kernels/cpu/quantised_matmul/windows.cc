// compiled: small
#include "kernels/cpu/quantised_matmul/windows.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/row_tasks.h"

namespace fettle::kernels {

ByteWindows::ByteWindows(const ConvGeometry& g) : g_(g) {
  const auto reach = [&](size_t axis) { return (g.kernel[axis] - 1) * g.dilation[axis]; };
  planes_ = (g.out[0] - 1) * g.stride[0] + reach(0) + 1;
  lines_ = (g.out[1] - 1) * g.stride[1] + reach(1) + 1;
  phases_ = std::min(g.stride[2], reach(2) + 1);
  phase_bytes_ = g.out[2] + reach(2) / g.stride[2];
  line_bytes_ = phases_ * phase_bytes_;
  channel_bytes_ = planes_ * lines_ * line_bytes_;
  taps_.reserve(g.ic / g.groups * g.taps());
  for (int64_t c = 0; c < g.ic / g.groups; ++c) {
    for (int64_t z = 0; z < g.kernel[0]; ++z) {
      for (int64_t y = 0; y < g.kernel[1]; ++y) {
        const int64_t line = z * g.dilation[0] * lines_ + y * g.dilation[1];
        for (int64_t x = 0; x < g.kernel[2]; ++x) {
          const int64_t column = x * g.dilation[2];
          taps_.push_back(c * channel_bytes_ + line * line_bytes_ +
                          column % g.stride[2] * phase_bytes_ + column / g.stride[2]);
        }
      }
    }
  }
}

bool ByteWindows::Fit(const ConvGeometry& g) {
  constexpr double kUsual = 1 << 24;
  double copy = static_cast<double>(g.batch * g.ic), input = copy;
  for (size_t axis = 0; axis < 3; ++axis) {
    copy *= static_cast<double>(g.out[axis] - 1) * static_cast<double>(g.stride[axis]) +
            static_cast<double>(g.kernel[axis] - 1) * static_cast<double>(g.dilation[axis]) + 1;
    input *= static_cast<double>(g.in[axis]);
  }
  return copy < kUsual + 4 * input;
}

int64_t ByteWindows::copy_bytes() const { return g_.batch * g_.ic * channel_bytes_ + kChunk; }

void ByteWindows::CopyLine(const uint8_t* line, uint8_t zero, uint8_t* to) const {
  const int64_t step = g_.stride[2];
  for (int64_t p = 0; p < phases_; ++p, to += phase_bytes_) {
    // Element i is that of column i * step + at.
    const int64_t at = p - g_.pad[2];
    const int64_t begin =
        std::clamp<int64_t>(CeilDiv(std::max<int64_t>(0, -at), step), 0, phase_bytes_);
    const int64_t end = std::clamp<int64_t>(CeilDiv(std::max<int64_t>(0, g_.in[2] - at), step),
                                            begin, phase_bytes_);
    std::memset(to, zero, begin);
    if (step == 1) {
      std::memcpy(to + begin, line + begin + at, end - begin);
    } else {
      const uint8_t* from = line + begin * step + at;
      for (int64_t i = begin; i < end; ++i, from += step) to[i] = *from;
    }
    std::memset(to + end, zero, phase_bytes_ - end);
  }
}

void ByteWindows::Copy(CpuStream& stream, const uint8_t* x, uint8_t zero, uint8_t* copy) const {
  ForByteRows(stream, g_.batch * g_.ic * planes_, lines_ * line_bytes_,
              [&](int64_t begin, int64_t end) {
                for (int64_t plane = begin; plane < end; ++plane) {
                  const int64_t channel = plane / planes_, z = plane % planes_ - g_.pad[0];
                  uint8_t* to = copy + plane * lines_ * line_bytes_;
                  for (int64_t line = 0; line < lines_; ++line, to += line_bytes_) {
                    const int64_t y = line - g_.pad[1];
                    if (z < 0 || z >= g_.in[0] || y < 0 || y >= g_.in[1]) {
                      std::memset(to, zero, line_bytes_);
                      continue;
                    }
                    CopyLine(x + ((channel * g_.in[0] + z) * g_.in[1] + y) * g_.in[2], zero, to);
                  }
                }
              });
}

int64_t ByteWindows::Find(int64_t first, int64_t count, Run* runs) const {
  int64_t used = 0;
  for (int64_t at = 0; at < count;) {
    const int64_t pixel = first + at, line = pixel / g_.out[2], x = pixel % g_.out[2];
    const int64_t z = line / g_.out[1] * g_.stride[0], y = line % g_.out[1] * g_.stride[1];
    const int64_t next = std::min(count - at, g_.out[2] - x);
    const int64_t from = (z * lines_ + y) * line_bytes_ + x;
    if (used > 0 && runs[used - 1].from + runs[used - 1].count == from) {
      runs[used - 1].count += next;
    } else {
      runs[used++] = {from, at, next};
    }
    at += next;
  }
  return used;
}

void ByteWindows::Pack(const uint8_t* copy, int64_t batch, int64_t first, int64_t count,
                       const PanelForm& form, uint8_t* gathered, std::byte* panel) const {
  Run runs[kMostColumns];
  const int64_t used = Find(first, count, runs), nr = form.nr;
  const uint8_t* group = copy + batch * (g_.ic / g_.groups) * channel_bytes_;
  const auto depth = static_cast<int64_t>(taps_.size());
  for (int64_t k = 0; k < depth; k += kDepths) {
    const int64_t depths = std::min(kDepths, depth - k);
    for (int64_t j = 0; j < depths; ++j) {
      const uint8_t* tap = group + taps_[k + j];
      uint8_t* const row = gathered + j * nr;
      // Whole chunks: what is written too much the next run, or row, writes again.
      for (const Run* run = runs; run < runs + used; ++run) {
        for (int64_t i = 0; i < run->count; i += kChunk)
          std::memcpy(row + run->to + i, tap + run->from + i, kChunk);
      }
    }
    PackSteps({gathered, depths, nr, nr, 1}, form, panel + k / (form.wide ? 2 : 4) * nr * 4);
  }
}

}  // namespace fettle::kernels
