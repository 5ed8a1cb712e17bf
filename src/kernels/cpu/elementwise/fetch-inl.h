// What the instructions of an element-wise program read: rows of a chunk in fp32. Included once per
// SIMD target.
#if defined(FETTLE_KERNELS_CPU_ELEMENTWISE_FETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_ELEMENTWISE_FETCH_INL_H_
#undef FETTLE_KERNELS_CPU_ELEMENTWISE_FETCH_INL_H_
#else
#define FETTLE_KERNELS_CPU_ELEMENTWISE_FETCH_INL_H_
#endif

#include <algorithm>
#include <utility>

#include "kernels/cpu/elementwise/instruction.h"
#include "kernels/cpu/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

using namespace ::fettle::kernels::HWY_NAMESPACE;  // NOLINT: the vector functions of this target

/// fp32 elements of one chunk; `broadcast`: one element per row.
struct View {
  const float* data;
  int64_t stride;
  bool broadcast;
};

struct Area {
  int64_t rows, cols;
};

/// Rows that follow each other without a gap are one long row.
HWY_INLINE Area Joined(Area area, bool dense) {
  return dense ? Area{1, area.rows * area.cols} : area;
}
/// The memory of one Execute: registers, and what operands become that are not plain fp32 rows.
struct Scratch {
  HWY_ALIGN float registers[kMaxRegisters][kChunk];
  HWY_ALIGN float loaded[3][kChunk];
  HWY_ALIGN float result[kChunk];
  /// The one row that `loaded` holds for all rows of the rectangle; without data: none.
  Window held[3];
};

/// A chunk of a rectangle: where it starts, how large it is.
struct Chunk {
  int64_t row, col;
  Area area;
};

/// One element of `window` relative to its first, as a byte address.
HWY_INLINE const std::byte* At(const Window& window, int64_t row, int64_t col) {
  return static_cast<const std::byte*>(window.data) +
         (row * window.row_stride + col * window.col_stride) * StorageBytes(window.storage);
}

/// The chunk's rows of an operand in fp32, written to `loaded`, which may hold them.
inline View Convert(const Window& window, const Chunk& chunk, float* loaded, Window& held) {
  const int64_t cols = chunk.area.cols;
  const Window before = std::exchange(held, Window());
  if (window.col_stride == 0) {  // the elements of all rows, of which each has one
    const int64_t rows = window.row_stride == 0 ? 1 : chunk.area.rows;
    LoadAsFloat(window.storage, At(window, chunk.row, 0), window.row_stride, rows, loaded);
    return {loaded, rows == 1 ? 0 : 1, true};
  }
  const std::byte* row = At(window, chunk.row, chunk.col);
  if (window.row_stride == 0) {
    held = {row, 0, window.col_stride, window.storage};
    if (before.data == row && before.col_stride == window.col_stride &&
        before.storage == window.storage)
      return {loaded, 0, false};
  }
  if (chunk.area.rows > 1 && window.col_stride == 1 &&
      (window.row_stride == 0 || window.row_stride == cols)) {
    // Short rows are converted together, a row that all share once.
    const bool shared = window.row_stride == 0;
    LoadAsFloat(window.storage, row, 1, shared ? cols : chunk.area.rows * cols, loaded);
    return {loaded, shared ? 0 : cols, false};
  }
  for (int64_t r = 0; r < chunk.area.rows; ++r) {
    LoadAsFloat(window.storage, At(window, chunk.row + r, chunk.col), window.col_stride, cols,
                loaded + r * cols);
  }
  return {loaded, cols, false};
}

/// Fills rows with their one element; backwards, since `once` may lie in `loaded`.
inline View Spread(const View& once, Area area, float* loaded) {
  for (int64_t r = area.rows; r-- > 0;)
    std::fill_n(loaded + r * area.cols, area.cols, once.data[r * once.stride]);
  return {loaded, area.cols, false};
}

/// `source` as fp32 rows of the chunk; what has to be converted or spread goes to a slot of the
/// scratch.
inline View Fetch(const Source& source, std::span<const Window> operands, const Chunk& chunk,
                  bool may_broadcast, Scratch& scratch, int slot) {
  const Area area = chunk.area;
  if (source.kind == Source::kRegister) return {scratch.registers[source.index], area.cols, false};
  float* loaded = scratch.loaded[slot];
  const auto spread = [&](const View& once) HWY_ATTR {
    scratch.held[slot] = Window();
    return Spread(once, area, loaded);
  };
  if (source.kind == Source::kImmediate)  // that may not be broadcast
    return spread({&source.value, 0, true});
  const Window& window = operands[source.index];
  const bool once = window.col_stride == 0;
  if (window.storage != DType::kF32 || window.col_stride > 1) {
    const View converted = Convert(window, chunk, loaded, scratch.held[slot]);
    return once && !may_broadcast ? spread(converted) : converted;
  }
  const auto* data = reinterpret_cast<const float*>(At(window, chunk.row, chunk.col));
  if (once && !may_broadcast) return spread({data, window.row_stride, true});
  return {data, window.row_stride, once};
}

HWY_INLINE std::byte* OutputAt(const Window& window, int64_t row, int64_t col) {
  return const_cast<std::byte*>(At(window, row, col));
}

/// Whether all that the instruction does is to convert rows from or to fp32, which is done then.
inline bool ConvertRows(const Instruction& in, std::span<const Window> operands, const Window& out,
                        const Chunk& chunk) {
  if (in.fn != Fn::kCopy || in.a.kind != Source::kOperand) return false;
  const Window& from = operands[in.a.index];
  const bool widens = out.storage == DType::kF32;
  if (from.col_stride != 1 || (from.storage == DType::kF32) == widens ||
      (!widens && from.storage != DType::kF32))
    return false;
  const bool dense = from.row_stride == chunk.area.cols && out.row_stride == chunk.area.cols;
  const Area rows = Joined(chunk.area, dense);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const std::byte* x = At(from, chunk.row + r, chunk.col);
    std::byte* y = OutputAt(out, chunk.row + r, chunk.col);
    if (widens) {
      LoadAsFloat(from.storage, x, 1, rows.cols, reinterpret_cast<float*>(y));
    } else {
      StoreFromFloat(out.storage, reinterpret_cast<const float*>(x), rows.cols, y);
    }
  }
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
