// compiled: small
// How products are cut into tasks, by the caches and the number of lanes.
#include <algorithm>

#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/fields.h"

namespace fettle::kernels {

/// Bytes of a slice of one panel: more does not make its tiles faster.
constexpr int64_t kSlice = 128 * 1024;

/// Tasks of a lane: they even out what lanes lose.
constexpr int64_t kTasksPerLane = 4;

int64_t SplitPanels(int64_t panels, int64_t row_tasks, int threads) {
  const int64_t wanted = threads > 1 ? kTasksPerLane * threads : 1;
  panels = std::max<int64_t>(panels, 1);
  return CeilDiv(panels, std::clamp<int64_t>(CeilDiv(wanted, row_tasks), 1, panels));
}

namespace {

/// Tasks of up to so many row tiles and panels.
struct TaskShape {
  int64_t row_tiles, panels;
};

/// What the lane with most to do has, where lanes begin with neighbouring tasks (ThreadPool), in
/// steps of the depth. A task reads each of its panels, which costs as much as `read_tiles` tiles.
int64_t MostOfALane(const TaskShape& all, const TaskShape& task, int64_t depth, int threads,
                    int64_t read_tiles) {
  constexpr int64_t kTileCost = 8, kTaskCost = 32;  // what a tile and a task cost besides
  const EvenParts rows(all.row_tiles, task.row_tiles), panels(all.panels, task.panels);
  const auto before = [&](int64_t tasks) {
    const int64_t part = tasks / panels.count(), row = rows.Begin(part);
    int64_t tiles = (row + part * read_tiles) * all.panels;
    if (part < rows.count()) {
      tiles += (rows.Begin(part + 1) - row + read_tiles) * panels.Begin(tasks % panels.count());
    }
    return tiles * (depth + kTileCost) + tasks * kTaskCost;
  };
  const int64_t tasks = rows.count() * panels.count();
  int64_t most = 0;
  for (int64_t lane = 0, end = 0; lane < threads; ++lane) {
    const int64_t begin = end;
    end += tasks / threads + (lane < tasks % threads ? 1 : 0);
    most = std::max(most, before(end) - before(begin));
  }
  return most;
}

/// The largest tasks, within `most` and of at least `least_tiles` row tiles, with which no lane has
/// more to do than it must.
TaskShape Balance(const TaskShape& all, const TaskShape& most, int64_t least_tiles, int64_t depth,
                  int threads, int64_t read_tiles = 0) {
  TaskShape best = most;
  int64_t least = MostOfALane(all, most, depth, threads, read_tiles);
  for (int64_t row_tiles = most.row_tiles; row_tiles >= least_tiles; --row_tiles) {
    for (int64_t panels = most.panels; panels > 0; --panels) {
      const int64_t time = MostOfALane(all, {row_tiles, panels}, depth, threads, read_tiles);
      if (time < least) best = {row_tiles, panels}, least = time;
    }
  }
  return best;
}

}  // namespace

void BalanceRows(Blocking& blocking, int nr, int64_t m, int64_t n, int64_t k, int threads) {
  // From beyond the second-level cache a panel comes about as slowly as a tile of it is multiplied.
  constexpr int64_t kReadTiles = 1;
  const TaskShape all{CeilDiv(m, blocking.tile_rows), CeilDiv(n, nr)};
  const TaskShape most{blocking.rows / blocking.tile_rows, blocking.panels};
  const TaskShape task = Balance(all, most, CeilDiv(most.row_tiles, 4), k, threads, kReadTiles);
  blocking.rows = task.row_tiles * blocking.tile_rows;
  blocking.panels = task.panels;
}

Blocking ChooseBlocking(const CpuInfo& info, int mr, int nr, int64_t m, int64_t n, int64_t k,
                        int threads, int64_t max_rows) {
  constexpr int64_t kShallow = 256, kLongRow = 512, kFewRows = 64;
  const int64_t l2 = info.l2_bytes > 0 ? info.l2_bytes : 256 * 1024;
  Blocking blocking;
  // Slices of two panels of B and of the rows of A that pass over them share the second-level
  // cache.
  const int64_t panel_row_bytes = nr * int64_t{4};
  blocking.depth_block = std::max<int64_t>(256, std::min(l2 / 8, kSlice) / panel_row_bytes);
  const int64_t row_bytes = std::clamp<int64_t>(k, 1, blocking.depth_block) * 4;
  // An empty batch is prepared like one row.
  const int64_t tiles = CeilDiv(std::max<int64_t>(m, 1), mr);
  const int64_t most = std::min({max_rows, l2 / 2 / row_bytes, int64_t{1024}}) / mr;
  // Near-equal: a task of few rows reads as much of B as one of many.
  int64_t row_tiles = CeilDiv(tiles, CeilDiv(tiles, std::clamp<int64_t>(most, 1, tiles)));
  // Tasks of few rows read B as often, which costs little where it stays in a cache; and of long
  // rows, which no cache holds, they write fewer pages at a time.
  const bool near = n * k * int64_t{4} <= l2 / 2;
  if (near && k <= kShallow && n >= kLongRow && m * n * int64_t{4} > l2)
    row_tiles = std::min(row_tiles, std::max<int64_t>(1, kFewRows / mr));
  if (threads > 1) {
    // Rows are split before columns, because a split of columns prepares its rows again.
    const int64_t by_rows = std::max<int64_t>(1, tiles / (kTasksPerLane * threads));
    row_tiles = std::max(std::min(row_tiles, by_rows), std::min<int64_t>(row_tiles, 4));
  }
  blocking.panels = SplitPanels(CeilDiv(n, nr), CeilDiv(tiles, row_tiles), threads);
  if (threads > 1) {
    const TaskShape task =
        Balance({tiles, std::max<int64_t>(CeilDiv(n, nr), 1)}, {row_tiles, blocking.panels},
                near ? 1 : std::min<int64_t>(row_tiles, 4), k, threads);
    row_tiles = task.row_tiles;
    blocking.panels = task.panels;
  }
  blocking.tile_rows = mr;
  blocking.rows = row_tiles * mr;
  return blocking;
}

namespace {

/// Blocking as it is searched.
struct BlockTiles {
  int64_t row_tiles = 1, panels = 1, depth_block = 1;
};
constexpr Fields kFields("", Field{"row_tiles", &BlockTiles::row_tiles, {}},
                         Field{"panels", &BlockTiles::panels, {}},
                         Field{"depth_block", &BlockTiles::depth_block, {}});

/// Powers of `factor` from `first` up to `most`, and `usual`.
std::vector<int64_t> Powers(int64_t first, int64_t factor, int64_t most, int64_t usual) {
  std::vector<int64_t> values{usual};
  for (int64_t value = first; value <= most; value *= factor) values.push_back(value);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

std::vector<int64_t> ValuesAround(int64_t usual, int64_t most) {
  std::vector<int64_t> values;
  for (int64_t value : {usual / 4, usual / 2, usual, usual * 2, usual * 4}) {
    value = std::clamp<int64_t>(value, 1, std::max<int64_t>(most, 1));
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

std::vector<Tunable> BlockingTunables(const Blocking& usual, int mr, int64_t max_tiles,
                                      int64_t all_panels) {
  return kFields.Tunables({Powers(1, 4, max_tiles, usual.rows / mr),
                           Powers(1, 4, all_panels, usual.panels),
                           Powers(256, 4, 4096, usual.depth_block)});
}

Params BlockingParams(const Blocking& blocking, int mr) {
  return kFields.Write({blocking.rows / mr, blocking.panels, blocking.depth_block});
}

Blocking ReadBlocking(const Params& params, const Blocking& usual, int mr, int64_t max_tiles) {
  constexpr int64_t kMostOfTask = 1 << 24;  // panels, and depth
  const BlockTiles tiles = kFields.Read(params, {usual.rows / mr, usual.panels, usual.depth_block});
  return {mr, std::clamp<int64_t>(tiles.row_tiles, 1, max_tiles) * mr,
          std::clamp<int64_t>(tiles.panels, 1, kMostOfTask),
          std::clamp<int64_t>(tiles.depth_block, 1, kMostOfTask)};
}

}  // namespace fettle::kernels
