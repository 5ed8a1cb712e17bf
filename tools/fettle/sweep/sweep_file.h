// The CSV of a sweep: a line for each point, written as soon as it is measured, read again to go
// on.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "sweep/grid.h"

namespace fettle::tools {

struct SweepRow {
  double ms = 0, spread = 0;  // median; median deviation from it, as a share
  double gflops = 0;
  std::string kernel, layout_in, layout_out;  // of the step that takes longest
};

/// What all lines of a file share: other lines are those of another sweep.
struct SweepSetting {
  std::string op, type, precision, device;
  int threads = 1;
};

/// Belongs to one thread.
class SweepFile {
 public:
  /// Reads what `path` has, or makes it. A last line that was cut off goes. Fails with
  /// kInvalidArgument where the file is something else, or of another setting; kIo.
  static Result<SweepFile> Open(const std::string& path, const SweepSetting& setting);

  const std::map<SweepPoint, SweepRow>& rows() const { return rows_; }
  /// Adds a line, which a kill of the program from then on leaves whole.
  Status Add(const SweepPoint& point, const SweepRow& row);

 private:
  SweepFile() = default;
  Status Read(const std::string& text);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  SweepSetting setting_;
  std::map<SweepPoint, SweepRow> rows_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace fettle::tools
