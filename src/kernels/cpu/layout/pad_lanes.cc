#include "kernels/cpu/layout/pad_lanes.h"

namespace fettle::kernels {
namespace {

alignas(16) constexpr std::byte kZeros[16] = {};

}  // namespace

PadLanes::PadLanes(const Shape& shape, const Layout& layout, int64_t element_bytes) {
  for (PadBox& box : FindPadLanes(shape, layout))
    copies_.emplace_back(element_bytes, std::move(box.axes), 0, box.offset);
}

void PadLanes::Zero(CpuStream& stream, std::byte* data) const {
  for (const StridedCopy& copy : copies_) {
    stream.ParallelFor(copy.tasks(), [&](int64_t task, int) { copy.Run(kZeros, data, task); });
  }
}

}  // namespace fettle::kernels
