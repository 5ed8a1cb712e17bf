#include "kernels/cpu/move/copy_set.h"

namespace fettle::kernels {

void CopySet::Add(int64_t element_bytes, Piece piece) {
  int64_t elements = 1;
  for (const CopyAxis& axis : piece.axes) elements *= axis.extent;
  StridedCopy copy(element_bytes, std::move(piece.axes), piece.src_offset, piece.dst_offset);
  if (copy.tasks() == 0) return;
  jobs_.push_back({std::move(copy), piece.source, piece.output, piece.src_offset * element_bytes,
                   piece.dst_offset * element_bytes, elements * element_bytes});
}

}  // namespace fettle::kernels
