#include "kernels/cpu/product/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace fettle::kernels {
namespace {

TEST(TaskGrid, CoversEachTileOnceInNearEqualTasks) {
  constexpr int64_t kMr = 6, kRuns = 2;
  for (const int64_t rows : {1, 6, 49, 100}) {
    for (const int64_t panels : {1, 7, 36}) {
      for (const int64_t together : {1, 2}) {
        const Blocking blocking{.tile_rows = kMr, .rows = 5 * kMr, .panels = 8};
        const TaskGrid grid(kRuns, rows, panels, blocking, together);
        std::vector<int> covered(kRuns * rows * panels);
        int64_t least = INT64_MAX, most = 0;
        for (int64_t i = 0; i < grid.count(); ++i) {
          const TaskGrid::Task task = grid.At(i);
          EXPECT_EQ(task.row / rows, (task.row + task.rows - 1) / rows) << "one run";
          EXPECT_EQ(task.row % rows % kMr, 0);
          EXPECT_EQ(task.panel % together, 0);
          EXPECT_LE(task.rows, blocking.rows);
          EXPECT_LE(task.panel_end - task.panel, blocking.panels);
          least = std::min(least, CeilDiv(task.rows, kMr));
          most = std::max(most, CeilDiv(task.rows, kMr));
          for (int64_t row = task.row; row < task.row + task.rows; ++row) {
            for (int64_t panel = task.panel; panel < task.panel_end; ++panel)
              ++covered[row * panels + panel];
          }
        }
        EXPECT_LE(most, least + 1);
        EXPECT_EQ(covered, std::vector<int>(covered.size(), 1)) << rows << " x " << panels;
      }
    }
  }
}

TEST(TileGrid, CoversEachTileOnceInTasksOfOneProduct) {
  constexpr int64_t kProducts = 3, kMostTiles = 4, kMostPanels = 5;
  for (const int64_t rows : {1, 6, 49, 200}) {
    for (const int64_t panels : {1, 5, 36}) {
      const RowTiles tiles(6, rows);
      const TileGrid grid(kProducts, tiles, kMostTiles, panels, kMostPanels);
      std::vector<int> covered(kProducts * rows * panels);
      for (int64_t i = 0; i < grid.count(); ++i) {
        const TileGrid::Task task = grid.At(i);
        EXPECT_EQ(task.row, tiles.Begin(task.first_tile));
        EXPECT_EQ(task.row + task.rows, tiles.Begin(task.end_tile));
        EXPECT_LE(task.end_tile - task.first_tile, kMostTiles);
        EXPECT_LE(task.panel_end - task.panel, kMostPanels);
        for (int64_t row = task.row; row < task.row + task.rows; ++row) {
          for (int64_t panel = task.panel; panel < task.panel_end; ++panel)
            ++covered[(task.product * rows + row) * panels + panel];
        }
      }
      EXPECT_EQ(covered, std::vector<int>(covered.size(), 1)) << rows << " x " << panels;
    }
  }
}

TEST(ForEachGroup, CutsPanelsAtGroups) {
  std::vector<std::array<int64_t, 3>> seen;
  ForEachGroup(2, 9, 4, [&](int64_t group, int64_t first, int64_t end) {
    seen.push_back({group, first, end});
  });
  EXPECT_EQ(seen, (std::vector<std::array<int64_t, 3>>{{0, 2, 4}, {1, 0, 4}, {2, 0, 1}}));
}

TEST(RowTiles, AreAsFewAndAsEqualAsCanBe) {
  for (const int mr : {6, 8, 14}) {
    for (int64_t rows = 1; rows <= 300; ++rows) {
      const RowTiles tiles(mr, rows);
      ASSERT_EQ(tiles.count(), (rows + mr - 1) / mr);
      ASSERT_EQ(tiles.Begin(0), 0);
      ASSERT_EQ(tiles.Begin(tiles.count()), rows);
      for (int64_t i = 0; i < tiles.count(); ++i) {
        const int64_t height = tiles.Begin(i + 1) - tiles.Begin(i);
        ASSERT_LE(height, mr);
        ASSERT_GE(height, rows / tiles.count());
      }
    }
  }
}

}  // namespace
}  // namespace fettle::kernels
