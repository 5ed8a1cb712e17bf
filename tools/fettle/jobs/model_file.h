// An ONNX file beside the model that was loaded from it, for commands that write a changed one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "runtime/model.h"

namespace fettle::tools {

/// The bytes of a model file; in memory where it had data in other files.
struct ModelFile {
  std::shared_ptr<const MappedFile> file;
  std::string whole;
  std::shared_ptr<const runtime::Model> model;

  std::string_view bytes() const {
    if (!whole.empty()) return whole;
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
  }
};

/// Reads and loads `path`. Fails as LoadModel does; with kInvalidArgument where it is a package.
Result<ModelFile> ReadModelFile(const std::string& path);

/// kInvalidArgument where `output`, given by `option`, is the model itself or a folder; kIo where
/// it cannot be written.
Status CheckModelOutput(const std::string& model, std::string_view option,
                        const std::string& output);

}  // namespace fettle::tools
