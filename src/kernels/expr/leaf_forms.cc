#include "kernels/expr/leaf_forms.h"

#include <algorithm>
#include <cstring>

#include "tensor/layout.h"
#include "tensor/read_floats.h"
#include "tensor/shape.h"

namespace fettle::kernels {

Shape AlignRight(const Shape& shape, int rank) {
  Dims dims(rank, 1);
  std::copy(shape.begin(), shape.end(), dims.end() - shape.rank());
  return Shape(std::move(dims));
}

namespace {

/// All elements, row-major.
Status WriteElements(std::span<const Constant* const> operands, const MakeElement& make,
                     int64_t count, float* out) {
  if (make == nullptr) {
    ReadFloats(*operands[0], 0, count, out);
    return OkStatus();
  }
  for (int64_t i = 0; i < count; ++i) RETURN_IF_ERROR(make(operands, i, out + i));
  return OkStatus();
}

}  // namespace

PackRequest PackElements(std::vector<ir::ValueId> constants, const Shape& shape,
                         const Layout& layout, std::string recipe, MakeElement make) {
  const int64_t bytes = StateBytes(shape, {.layout = layout});
  return {std::move(constants), std::move(recipe), bytes,
          [=, make = std::move(make)](std::span<const Constant* const> operands, std::byte* out) {
            auto* const floats = reinterpret_cast<float*>(out);
            const int64_t count = shape.elements();
            if (layout == Layout::RowMajor()) return WriteElements(operands, make, count, floats);
            std::vector<float> elements(count);
            RETURN_IF_ERROR(WriteElements(operands, make, count, elements.data()));
            std::memset(out, 0, bytes);
            const OffsetMap to(shape, layout);
            std::vector<int64_t> coordinate(shape.rank());
            for (int64_t i = 0; i < count; ++i) {
              Unravel(i, shape, coordinate);
              floats[to(coordinate)] = elements[i];
            }
            return OkStatus();
          }};
}

void JoinDimensions(std::vector<int64_t>& extents,
                    const std::vector<std::vector<int64_t>*>& strides, size_t fixed) {
  const auto erase = [&](size_t i) {
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::vector<int64_t>* of : strides)
      of->erase(of->begin() + static_cast<std::ptrdiff_t>(i));
  };
  const auto walks_as_one = [&](size_t outer) {
    return std::all_of(strides.begin(), strides.end(), [&](const std::vector<int64_t>* of) {
      return (*of)[outer] == (*of)[outer + 1] * extents[outer + 1];
    });
  };
  for (size_t i = extents.size() - fixed; i-- > 0 && extents.size() > 1;) {
    if (extents[i] == 1) erase(i);
  }
  for (size_t i = extents.size(); i-- > 0;) {
    if (i + 1 + fixed >= extents.size() || !walks_as_one(i)) continue;
    extents[i + 1] *= extents[i];
    erase(i);
  }
}

}  // namespace fettle::kernels
