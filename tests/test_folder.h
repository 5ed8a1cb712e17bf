// A folder of its own for each test: tests run side by side, in processes of their own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace fettle {

/// A fresh folder that goes with the test; everybody may enter it. In memory where that is
/// possible, since some tests make thousands of files that nobody wants on a disk.
class TestFolder {
 public:
  TestFolder() {
    const bool memory = ::access("/dev/shm", W_OK | X_OK) == 0;
    std::string name = (memory ? "/dev/shm/" : testing::TempDir()) + "fettle.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string file(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fettle
