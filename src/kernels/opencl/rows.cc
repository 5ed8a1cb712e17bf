#include "kernels/opencl/rows.h"

#include <algorithm>

#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Whether rows are worth a work-group each: long ones that no neighbour is beside in memory.
bool NeedsGroups(const RowExtents& extents) { return extents.row > 32 && extents.inner < 16; }

}  // namespace

int64_t UsualRowItems(const RowExtents& extents, const OpenClFacts& facts) {
  constexpr int64_t kLongRow = 512, kRowsOfUnit = 8, kManyItems = 256;
  const bool is_idle = extents.outer * extents.inner <= kRowsOfUnit * facts.compute_units;
  const bool fits = std::min(facts.max_work_group_size, facts.max_work_item_sizes[0]) >= kManyItems;
  return extents.row >= kLongRow && is_idle && fits && !facts.is_cpu ? kManyItems : kGroupItems;
}

Result<std::unique_ptr<RecordedKernel>> RecordRows(const Problem& problem, std::string_view path,
                                                   const RowExtents& extents, const Device& device,
                                                   int64_t items, int64_t most_held) {
  const State& state = problem.states.outputs[0];
  const int64_t rows = extents.outer * extents.inner;
  const bool groups = NeedsGroups(extents);
  BuildOptions options = AccessOptions(state);
  options.Define("ROW_ITEMS", groups ? items : 1);
  const int64_t held = DivideUp(extents.row, items);
  if (groups && held <= most_held) options.Define("HELD", held);
  const WorkSizes sizes = groups ? GroupSizes(items, 1, rows) : PlaceSizes(rows);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram(path, options), "rows"));
  auto made = std::make_unique<RecordedKernel>();
  made->recorded.emplace_back(std::move(kernel), sizes)
      .Input(InputIndex(*problem.group, problem.node().input(0)), StorageBytes(state.storage, 1))
      .Output(0, StorageBytes(state.storage, 1));
  return made;
}

}  // namespace fettle::kernels
