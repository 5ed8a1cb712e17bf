// StridedCopy against a plain loop, on random windows.
#include "kernels/cpu/move/strided_copy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "kernels/cpu/move/wide_tiles.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/slowed.h"

namespace fettle::kernels {
namespace {

struct Window {
  std::vector<CopyAxis> axes;
  int64_t src_offset = 0, dst_offset = 0;
  int64_t src_elements = 1, dst_elements = 1;

  std::string ToString() const {
    std::string text = fmt::format("offsets {} {}", src_offset, dst_offset);
    for (const CopyAxis& axis : axes)
      text += fmt::format(" {}:{}:{}", axis.extent, axis.src_stride, axis.dst_stride);
    return text;
  }
};

/// Axes in an order of their own on each side, some repeated, reversed or stepped over, some
/// padded.
Window RandomWindow(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  Window window;
  std::vector<size_t> order(1 + random() % 5);
  for (size_t i = 0; i < order.size(); ++i)
    window.axes.push_back({pick({1, 2, 3, 4, 5, 7, 16, 17, 40}), 0, 0});
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  for (size_t i : order) {
    CopyAxis& axis = window.axes[i];
    const int64_t step = pick({1, 1, 1, 1, 2, 3});
    const int64_t kind = pick({0, 1, 1, 1, 1, 1, 1, -1});
    axis.src_stride = kind * window.src_elements * step;
    if (kind < 0) window.src_offset -= axis.src_stride * (axis.extent - 1);
    if (kind != 0) window.src_elements *= axis.extent * step;
  }
  std::shuffle(order.begin(), order.end(), random);
  for (size_t i : order) {
    window.axes[i].dst_stride = window.dst_elements;
    window.dst_elements *= window.axes[i].extent;
    if (random() % 4 == 0) window.dst_elements += pick({1, 3, 64});
  }
  if (random() % 3 == 0) window.dst_offset = pick({1, 5});
  window.dst_elements += window.dst_offset;
  return window;
}

template <typename T>
void CopyPlainly(const Window& window, size_t axis, const T* src, T* dst) {
  if (axis == window.axes.size()) {
    *dst = *src;
    return;
  }
  const CopyAxis& a = window.axes[axis];
  for (int64_t i = 0; i < a.extent; ++i)
    CopyPlainly(window, axis + 1, src + i * a.src_stride, dst + i * a.dst_stride);
}

template <typename T>
void CheckWindow(const Window& window) {
  std::vector<T> src(static_cast<size_t>(window.src_elements));
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<T>(i * 2654435761u >> 3);
  std::vector<T> want(static_cast<size_t>(window.dst_elements) + 64, T{77}), got = want;
  CopyPlainly(window, 0, src.data() + window.src_offset, want.data() + window.dst_offset);
  const StridedCopy copy(sizeof(T), window.axes, window.src_offset, window.dst_offset);
  for (int64_t task = copy.tasks() - 1; task >= 0; --task) {
    copy.Run(reinterpret_cast<const std::byte*>(src.data()),
             reinterpret_cast<std::byte*>(got.data()), task);
  }
  ASSERT_EQ(std::memcmp(want.data(), got.data(), want.size() * sizeof(T)), 0)
      << sizeof(T) << " bytes, " << window.ToString();
}

TEST(StridedCopy, AgreesWithAPlainLoop) {
  std::mt19937 random(3);
  for (int i = 0; i < 1500 / CasesStride(); ++i) {
    const Window window = RandomWindow(random);
    if (window.src_elements > 1 << 20 || window.dst_elements > 1 << 20) continue;
    CheckWindow<uint8_t>(window);
    CheckWindow<uint16_t>(window);
    CheckWindow<uint32_t>(window);
    CheckWindow<uint64_t>(window);
    if (HasFatalFailure()) return;
  }
}

TEST(StridedCopy, SplitsLargeCopies) {
  // Rows, one contiguous run, a transpose, and many small leaves: each over several tasks.
  for (const std::vector<CopyAxis>& axes :
       std::vector<std::vector<CopyAxis>>{{{700, 1000, 900}, {900, 1, 1}},
                                          {{300000, 1, 1}},
                                          {{700, 1, 701}, {701, 700, 1}},
                                          {{9000, 24, 24}, {4, 1, 6}, {6, 4, 1}}}) {
    Window window{axes, 0, 0, 800000, 800000};
    EXPECT_GT(StridedCopy(4, axes, 0, 0).tasks(), 4) << window.ToString();
    CheckWindow<uint32_t>(window);
  }
}

/// Rows that TransposeWide did of a matrix at the end of its memory; all others are as they were.
template <typename T>
int64_t WideRows(int64_t rows, int64_t columns, int64_t gap, bool far) {
  const int64_t src_stride = columns + gap, dst_stride = rows + 1;
  std::vector<T> src(static_cast<size_t>((rows - 1) * src_stride + columns));
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<T>(i * 2654435761u >> 3);
  std::vector<T> want(static_cast<size_t>(columns * dst_stride), T{77}), got = want;
  const int64_t done =
      TransposeWide(src.data(), src_stride, got.data(), dst_stride, rows, columns, sizeof(T), far);
  for (int64_t r = 0; r < done; ++r) {
    for (int64_t c = 0; c < columns; ++c) want[c * dst_stride + r] = src[r * src_stride + c];
  }
  EXPECT_EQ(want, got) << sizeof(T) << " bytes, " << rows << " by " << columns << ", gap " << gap;
  return done;
}

TEST(StridedCopy, TransposesByWideVectors) {
  for (std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    int64_t done = 0;
    for (int64_t rows : {15, 16, 33, 64, 65, 131}) {
      for (int64_t columns : {5, 8, 16, 17, 40, 64}) {
        for (int64_t gap : {0, 3}) {
          done += WideRows<uint8_t>(rows, columns, gap, false);
          for (const int64_t more : {WideRows<uint16_t>(rows, columns, gap, true),
                                     WideRows<uint32_t>(rows, columns, gap, true),
                                     WideRows<uint64_t>(rows, columns, gap, true)}) {
            done += more;
            if (target.starts_with("AVX") && rows >= 64 && columns >= 16) {
              EXPECT_EQ(more, rows);
            }
          }
        }
      }
    }
    if (target.starts_with("AVX")) {
      EXPECT_GT(done, 1000) << target;
    }
  }
  ForceSimdTarget("");
}

TEST(StridedCopy, HasNoTasksForNothing) {
  EXPECT_EQ(StridedCopy(4, {{3, 1, 1}, {0, 3, 3}}, 0, 0).tasks(), 0);
  EXPECT_EQ(StridedCopy(4, {}, 0, 0).tasks(), 1);
}

}  // namespace
}  // namespace fettle::kernels
