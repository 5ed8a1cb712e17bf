#include "kernels/opencl/rows.h"

#include <algorithm>

#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

int64_t MostItems(const OpenClFacts& facts) {
  return std::min<int64_t>(facts.max_work_group_size, facts.max_work_item_sizes[0]);
}

/// Of rows beside each other: neighbours read neighbours.
RowShape BesideEachOther(const RowExtents& extents, const OpenClFacts& facts) {
  constexpr int64_t kColumns = 16, kFewItems = 16, kManyItems = 64, kRowsOfUnit = 256;
  const int64_t rows = extents.outer * extents.inner;
  if (facts.is_cpu || rows > kRowsOfUnit * facts.compute_units) return {};
  const bool is_long = extents.row >= 8 * kManyItems && rows <= kColumns * facts.compute_units;
  const RowShape shape{is_long ? kManyItems : kFewItems, kColumns};
  return shape.items * shape.columns <= MostItems(facts) ? shape : RowShape{};
}

RowShape Usual(const RowExtents& extents, const OpenClFacts& facts) {
  constexpr int64_t kShortRow = 32, kLongRow = 512, kVeryLongRow = 8192, kRowsOfUnit = 8;
  if (extents.row <= kShortRow) return {};
  if (extents.inner >= 16) return BesideEachOther(extents, facts);
  const int64_t rows = extents.outer * extents.inner;
  const auto takes = [&](int64_t least, int64_t most_rows, int64_t items) {
    return !facts.is_cpu && extents.row >= least && rows <= most_rows && MostItems(facts) >= items;
  };
  if (takes(kVeryLongRow, facts.compute_units, 1024)) return {.items = 1024};
  if (takes(kLongRow, kRowsOfUnit * facts.compute_units, 256)) return {.items = 256};
  return {.items = kGroupItems};
}

Status Check(const RowShape& shape, const RowExtents& extents, int64_t most) {
  if (shape.items == 1 && shape.columns > 1)
    return InvalidArgument("columns: expected 1 where a row has one work-item");
  if (shape.columns > extents.inner)
    return InvalidArgument("columns: expected at most {} rows beside each other, got {}",
                           extents.inner, shape.columns);
  if (shape.items * shape.columns > most)
    return InvalidArgument("items * columns: expected at most {}, got {}", most,
                           shape.items * shape.columns);
  return OkStatus();
}

}  // namespace

ParamSpace RowSpace(const RowExtents& extents, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kRowFields.Tunables(), kRowFields.Write(Usual(extents, facts)),
          [extents, most = MostItems(facts)](const Params& params) {
            return Check(kRowFields.Read(params), extents, most);
          }};
}

Result<std::unique_ptr<RecordedKernel>> RecordRows(const Problem& problem, std::string_view path,
                                                   const RowExtents& extents, const Device& device,
                                                   const Params& params, int64_t most_held) {
  const State& state = problem.states.outputs[0];
  const RowShape shape = kRowFields.Read(params);
  const int64_t rows = extents.outer * extents.inner;
  BuildOptions options = AccessOptions(state);
  kRowFields.Define(shape, options);
  const int64_t held = DivideUp(extents.row, shape.items);
  if (shape.items > 1 && held <= most_held) options.Define("HELD", held);
  const WorkSizes sizes =
      shape.items > 1 ? GroupSizes(shape.items * shape.columns, 1, DivideUp(rows, shape.columns))
                      : PlaceSizes(rows);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram(path, options), "rows"));
  auto made = std::make_unique<RecordedKernel>();
  made->recorded.emplace_back(std::move(kernel), sizes)
      .Input(InputIndex(*problem.group, problem.node().input(0)), StorageBytes(state.storage, 1))
      .Output(0, StorageBytes(state.storage, 1));
  return made;
}

}  // namespace fettle::kernels
