// Launches may come in pieces at global offsets (StreamOptions::kernel_ms): what kernels may ask
// for their place.
#include <gtest/gtest.h>

#include <sstream>

#include "kernels/opencl/sources.h"

namespace fettle::kernels {
namespace {

bool Has(std::string_view line, std::string_view word) {
  return line.find(word) != std::string_view::npos;
}

TEST(OpenClSources, TellTheirPlaceUnderAnyOffset) {
  int sources = 0;
  for (const EmbeddedSource& source : EmbeddedSources()) {
    if (source.path.starts_with("probe/")) continue;  // never launched with a cap
    ++sources;
    std::istringstream lines{std::string(source.text)};
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      EXPECT_FALSE(Has(line, "get_global_size") || Has(line, "get_num_groups") ||
                   Has(line, "get_global_linear_id"))
          << source.path << ":" << number << ": a piece of a launch has another size";
      EXPECT_TRUE(!Has(line, "get_group_id") || Has(line, "get_global_offset"))
          << source.path << ":" << number << ": the groups of each piece begin at 0";
    }
  }
  EXPECT_GT(sources, 10);
}

}  // namespace
}  // namespace fettle::kernels
