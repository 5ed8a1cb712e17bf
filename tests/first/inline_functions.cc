// Inline functions of the oracles' inner loops, at -O2. Of an inline function that it does not put
// in place the linker takes the first copy that it meets, and a test program's own files, which
// come first, are compiled at -O0 for sanitizers: half of the time of kernels_test went by there.
#include "ops/walk.h"
#include "tensor/tensor.h"

template class std::vector<int64_t>;

namespace fettle {
namespace {

[[gnu::used]] constexpr auto kOffset = &HostView::Offset;
[[gnu::used]] constexpr auto kStorageBytes = &StorageBytes;
[[gnu::used]] constexpr auto kPackedBytes = &PackedBytes;
[[gnu::used]] constexpr auto kNext = &ops::Walker::Next;
[[gnu::used]] constexpr auto kAt = &ops::Walker::operator[];

}  // namespace
}  // namespace fettle
