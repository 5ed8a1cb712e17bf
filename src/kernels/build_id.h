// Which build of the kernels this is, as a whole and kernel by kernel.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fettle::kernels {

/// "<hash of the sources of kernels, layouts and devices> <compiler and flags>": packed bytes of
/// another build are not those of this one.
std::string_view BuildId();

/// "<hash> <compiler and flags>" of what one kernel is made of: the file that defines it, the
/// OpenCL C that this names, what they include, and what implements that. Timings of another such
/// build are not those of this one. `kernel` is a name of a kernel table, "<backend>.convert" or
/// "<backend>.probe"; of any other this is BuildId().
std::string BuildOf(std::string_view kernel);

/// The second part of both.
std::string_view Toolchain();

struct SourceHash {
  std::string_view kernel, hash;
};
/// All kernels of this build, by name. Made by cmake/source_hashes.cmake, like what BuildId and
/// Toolchain answer.
std::span<const SourceHash> SourceHashes();

}  // namespace fettle::kernels
