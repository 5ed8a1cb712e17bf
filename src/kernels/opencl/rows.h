// Kernels over the rows of a row-major tensor (rows.clh).
#pragma once

#include "kernels/fields.h"
#include "kernels/match/extents.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {

/// How work-items share rows: so many each, so many rows a work-group.
struct RowShape {
  int64_t items = 1, columns = 1;
};
inline constexpr Fields kRowFields(
    "rows.clh", Field{"items", &RowShape::items, {1, 16, 64, 128, 256, 1024}, "ROW_ITEMS"},
    Field{"columns", &RowShape::columns, {1, 16}, "ROW_COLUMNS"});

/// `usual`: work-groups for long rows, of more work-items where few rows leave a GPU idle, whose
/// loads wait for each other; there also for long rows that lie beside each other.
ParamSpace RowSpace(const RowExtents& extents, const Device& device);

/// A launch of the function `rows` of a program that includes access.clh and rows.clh. Its
/// arguments begin with the node's first input and the group's output, their offsets in elements;
/// the caller adds the others. Where several work-items share a row, HELD is how many elements each
/// has of it where `most_held` suffice.
Result<std::unique_ptr<RecordedKernel>> RecordRows(const Problem& problem, std::string_view path,
                                                   const RowExtents& extents, const Device& device,
                                                   const Params& params, int64_t most_held = 0);

}  // namespace fettle::kernels
