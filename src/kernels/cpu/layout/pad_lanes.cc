#include "kernels/cpu/layout/pad_lanes.h"

namespace fettle::kernels {

PadLanes::PadLanes(const Shape& shape, const Layout& layout, int64_t element_bytes) {
  for (PadBox& box : FindPadLanes(shape, layout)) {
    copies_.Add(element_bytes,
                {.source = kZeroSource, .dst_offset = box.offset, .axes = std::move(box.axes)});
  }
}

void PadLanes::Zero(CpuStream& stream, std::byte* data) const {
  copies_.Run(
      stream, [](int) { return kZeroElement; }, [&](int) { return data; });
}

}  // namespace fettle::kernels
