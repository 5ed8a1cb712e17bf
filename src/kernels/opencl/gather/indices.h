// What kernels that gather elements by indices have in common: rows of elements of any type, and of
// indices in i32 or i64.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "kernels/opencl/recorded.h"

namespace fettle::kernels {

/// kUnsupported where the first input of `node` has elements that are not moved, or more of them
/// than kernels count in 32 bits, or none that its output could be made of.
Status CheckGathered(const ir::Graph& group, const ir::Node& node);

/// kUnsupported where constant indices lie outside of their axes, which a launch cannot report.
/// They are in turn of axes of `extents` (at least one).
Status CheckIndices(const ir::Value& indices, std::span<const int64_t> extents);

/// The launch of `function` in the source `path`: x, its indices and y, then what `arguments` adds.
/// None where y has no elements. `width`: elements that are moved at once, a power of two.
Result<std::unique_ptr<PreparedKernel>> PrepareGather(
    const Problem& problem, const Device& device, std::string_view path, std::string_view function,
    const WorkSizes& sizes, const std::function<void(RecordedLaunch&)>& arguments,
    int64_t width = 1);

}  // namespace fettle::kernels
