#include "kernels/build_id.h"

#include <algorithm>

#include "fmt/format.h"

namespace fettle::kernels {

std::string BuildOf(std::string_view kernel) {
  const auto hashes = SourceHashes();
  const auto row = std::lower_bound(
      hashes.begin(), hashes.end(), kernel,
      [](const SourceHash& known, std::string_view name) { return known.kernel < name; });
  if (row == hashes.end() || row->kernel != kernel) return std::string(BuildId());
  return fmt::format("{} {}", row->hash, Toolchain());
}

}  // namespace fettle::kernels
