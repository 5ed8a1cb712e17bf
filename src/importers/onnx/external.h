// External tensor data: files beside the model, mapped once each.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"

namespace fettle::onnx {

/// Opens the files that a model's tensors name. They must lie inside the model's folder, symbolic
/// links resolved. Not synchronised.
class ExternalFiles {
 public:
  /// An empty `folder` refuses all external data.
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}

  /// The mapped file at `location`, a relative path with '/'. Fails with kInvalidModel where it
  /// would leave the folder, kNotFound or kIo where it cannot be opened.
  Result<std::shared_ptr<const MappedFile>> Open(std::string_view location);

 private:
  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;
};

/// Checks the texts of `offset` and `length` ("" where left out) against the file, and gives the
/// span of `needed` bytes.
Result<std::span<const std::byte>> ExternalRange(std::span<const std::byte> file,
                                                 std::string_view offset, std::string_view length,
                                                 int64_t needed);

}  // namespace fettle::onnx
