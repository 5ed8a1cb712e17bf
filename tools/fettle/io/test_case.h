// One case of the ONNX test layout: a folder with model.onnx and test_data_set_* folders.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/session.h"
#include "tensor/tensor.h"

namespace fettle::tools {

struct TestCase {
  std::string name;  // the folder's name
  std::string directory;
};

/// Every folder at or below `roots` that holds a case, sorted by name. Fails with kNotFound where a
/// root does not exist or holds none.
Result<std::vector<TestCase>> FindTestCases(const std::vector<std::string>& roots);

struct TestTolerance {
  /// What the runner of the ONNX project compares with. 16-bit results may also be off by two units
  /// in the last place, 8-bit floats by one.
  double rtol = 1e-3;
  double atol = 1e-7;
};

/// Runs all data sets of a case; the message of a failure says what was wrong.
Status RunTestCase(const TestCase& test_case, const TestTolerance& tolerance,
                   const runtime::SessionOptions& options);

/// Lines `NAME reason...`; `#` starts a comment, a NAME ending in `*` stands for every case that
/// starts so.
class SkipList {
 public:
  static Result<SkipList> Read(const std::string& path);
  /// The reason why the case is skipped, or null.
  const std::string* Find(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    bool prefix = false;
    std::string reason;
  };
  std::vector<Entry> entries_;
};

}  // namespace fettle::tools
