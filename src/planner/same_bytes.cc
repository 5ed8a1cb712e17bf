#include "planner/same_bytes.h"

namespace fettle::planner {

bool SameBytes(const Shape& shape, const State& a, const State& b) {
  if (a.device != b.device || a.memory != b.memory || a.storage != b.storage || a.external ||
      b.external) {
    return false;
  }
  return SameOffsets(shape, a.layout, b.layout);
}

}  // namespace fettle::planner
