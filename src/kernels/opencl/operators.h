// What OpenCL kernels compute, for documentation.
#pragma once

#include <span>
#include <string_view>

namespace fettle::kernels {

/// The canonical operators of which OpenCL kernels take some form as a group of its own, sorted.
/// Others run there, if at all, inside the group of another operator.
std::span<const std::string_view> OpenClOperators();

}  // namespace fettle::kernels
