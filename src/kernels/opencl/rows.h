// Kernels over the rows of a row-major tensor (rows.clh).
#pragma once

#include "kernels/match/extents.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {

/// Work-items of a row where rows have work-groups: more for long ones where few rows leave a GPU
/// idle, whose loads wait for each other.
int64_t UsualRowItems(const RowExtents& extents, const OpenClFacts& facts);

/// A launch of the function `rows` of a program that includes access.clh and rows.clh. Its
/// arguments begin with the node's first input and the group's output, their offsets in elements;
/// the caller adds the others. Where a row has a work-group, that has `items` work-items, and HELD
/// is how many elements each has of a row where `most_held` suffice.
Result<std::unique_ptr<RecordedKernel>> RecordRows(const Problem& problem, std::string_view path,
                                                   const RowExtents& extents, const Device& device,
                                                   int64_t items, int64_t most_held = 0);

}  // namespace fettle::kernels
