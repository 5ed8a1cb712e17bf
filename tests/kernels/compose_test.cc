// Two strided copies as one: the same elements as one after the other.
#include "kernels/move/compose.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace fettle::kernels {
namespace {

constexpr int64_t kSource = 1'000'000;  // where sources begin: strides may be negative

/// What the copy puts at each place of its destination: where it is from; -1 where nothing is put.
std::vector<int64_t> Origins(const Piece& piece, int64_t elements) {
  std::vector<int64_t> origins(elements, -1);
  std::vector<int64_t> index(piece.axes.size());
  while (true) {
    int64_t from = piece.src_offset, to = piece.dst_offset;
    for (size_t i = 0; i < index.size(); ++i) {
      from += index[i] * piece.axes[i].src_stride;
      to += index[i] * piece.axes[i].dst_stride;
    }
    origins.at(to) = from;
    size_t axis = 0;
    while (axis < index.size() && ++index[axis] == piece.axes[axis].extent) index[axis++] = 0;
    if (axis == index.size()) return origins;
  }
}

int64_t Elements(const Piece& piece) {
  int64_t elements = 1;
  for (const CopyAxis& axis : piece.axes) elements *= axis.extent;
  return elements;
}

/// A copy that fills its destination, from anywhere.
Piece Filling(std::mt19937& random) {
  Piece piece{.source = 3, .src_offset = kSource};
  int64_t stride = 1;
  const int rank = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < rank; ++i) {
    const auto extent = static_cast<int64_t>(1 + random() % 5);
    piece.axes.push_back({extent, static_cast<int64_t>(random() % 41) - 20, stride});
    stride *= extent;
  }
  std::shuffle(piece.axes.begin(), piece.axes.end(), random);
  return piece;
}

/// A copy out of `elements`: the whole in another shape and order, or some of it.
Piece Reading(int64_t elements, std::mt19937& random) {
  std::vector<CopyAxis> axes;
  int64_t left = elements, step = 1;
  while (left > 1) {
    int64_t extent = 2;
    while (left % extent != 0) ++extent;
    if (random() % 2 == 0 && left % (extent * 2) == 0) extent *= 2;
    axes.push_back({extent, step, 0});
    left /= extent, step *= extent;
  }
  Piece piece{.output = 2, .src_offset = 0};
  for (CopyAxis& axis : axes) {
    if (random() % 4 != 0) continue;
    const auto first = static_cast<int64_t>(random() % axis.extent);
    axis.extent -= first;
    piece.src_offset += first * axis.src_stride;
  }
  if (random() % 3 == 0) axes.push_back({3, 0, 0});
  std::shuffle(axes.begin(), axes.end(), random);
  int64_t stride = 1;
  for (CopyAxis& axis : axes) {
    axis.dst_stride = stride;
    stride *= axis.extent;
  }
  piece.axes = axes;
  return piece;
}

TEST(Compose, TakesTheSameElements) {
  std::mt19937 random(7);
  int composed = 0;
  for (int i = 0; i < 4000; ++i) {
    const Piece earlier = Filling(random);
    const int64_t elements = Elements(earlier);
    const Piece later = Reading(elements, random);
    const std::optional<Piece> both = Compose(earlier, later);
    if (!both) continue;
    ++composed;
    EXPECT_EQ(both->source, 3);
    EXPECT_EQ(both->output, 2);
    const std::vector<int64_t> between = Origins(earlier, elements);
    std::vector<int64_t> expected = Origins(later, Elements(later));
    for (int64_t& from : expected) from = between[from];
    ASSERT_EQ(Origins(*both, Elements(later)), expected);
  }
  EXPECT_GT(composed, 2000);
}

/// A view of a transposed tensor cuts its axes; one that joins them is no strided copy.
TEST(Compose, CutsAxes) {
  // [2, 3, 4] to [4, 2, 3], read as [4, 6] and as [8, 3].
  const Piece turned{.axes = {{4, 1, 6}, {2, 12, 3}, {3, 4, 1}}};
  const auto rows = Compose(turned, {.axes = {{4, 6, 6}, {6, 1, 1}}});
  ASSERT_TRUE(rows);
  EXPECT_EQ(Origins(*rows, 24), Origins(turned, 24));
  EXPECT_TRUE(Compose(turned, {.axes = {{8, 3, 3}, {3, 1, 1}}}));
  // Rows of two: of each three, the third joins the next one.
  EXPECT_FALSE(Compose(turned, {.axes = {{12, 2, 2}, {2, 1, 1}}}));
  // Backwards, and before the first.
  EXPECT_FALSE(Compose(turned, {.src_offset = 23, .axes = {{24, -1, 1}}}));
}

TEST(Compose, WantsAllThatIsRead) {
  const Piece part{.dst_offset = 4, .axes = {{4, 1, 1}}};
  EXPECT_FALSE(Compose(part, {.axes = {{8, 1, 1}}}));
  const Piece gaps{.axes = {{4, 1, 2}}};
  EXPECT_FALSE(Compose(gaps, {.axes = {{4, 2, 1}}}));
}

}  // namespace
}  // namespace fettle::kernels
