// A folder of programs for one test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace fettle {

/// A fresh folder, removed with everything in it.
class ProgramFolderForTest {
 public:
  ProgramFolderForTest() {
    std::string name = std::filesystem::temp_directory_path() / "fettle_programs_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~ProgramFolderForTest() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ProgramFolderForTest(const ProgramFolderForTest&) = delete;
  ProgramFolderForTest& operator=(const ProgramFolderForTest&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fettle
