// The kernel table against the sources: whatever is defined must be listed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "kernels/kernel.h"

namespace fettle::kernels {
namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The words that stand between `before` and `after` in a text.
std::set<std::string> WordsBetween(const std::string& text, const std::string& before,
                                   const std::string& after) {
  std::set<std::string> found;
  for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
    at += before.size();
    const size_t end = text.find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at);
    if (end != std::string::npos && end > at && text.compare(end, after.size(), after) == 0)
      found.insert(text.substr(at, end - at));
  }
  return found;
}

TEST(KernelTable, ListsEveryKernelThatASourceDefines) {
  const std::filesystem::path folder =
      std::filesystem::path(FETTLE_SOURCE_DIR) / "src" / "kernels" / "cpu";
  const std::set<std::string> listed = WordsBetween(ReadText(folder / "table.cc"), "&", ",");
  std::set<std::string> defined;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cc" || entry.path().filename() == "table.cc") continue;
    defined.merge(WordsBetween(ReadText(entry.path()), "extern const KernelDesc ", ";"));
  }
  EXPECT_GT(defined.size(), 1U);
  EXPECT_EQ(listed, defined);
  EXPECT_EQ(listed.size(), CpuKernels().size());
}

TEST(KernelTable, NamesAreUniqueAndRowsComplete) {
  std::set<std::string_view> names;
  for (const KernelDesc* kernel : CpuKernels()) {
    EXPECT_TRUE(names.insert(kernel->name).second) << kernel->name;
    EXPECT_TRUE(kernel->name.starts_with("cpu.")) << kernel->name;
    EXPECT_NE(kernel->candidates, nullptr) << kernel->name;
    EXPECT_NE(kernel->prepare, nullptr) << kernel->name;
    EXPECT_GE(kernel->version, 1) << kernel->name;
    if (kernel->tunables != nullptr) {
      EXPECT_NE(kernel->default_params, nullptr) << kernel->name;
    }
  }
}

}  // namespace
}  // namespace fettle::kernels
