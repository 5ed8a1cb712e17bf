#include "jobs/model_file.h"

#include <filesystem>

#include "importers/onnx/inline_external.h"
#include "io/tensor_io.h"
#include "jobs/exit_code.h"
#include "jobs/job.h"

namespace fettle::tools {

Result<ModelFile> ReadModelFile(const std::string& path) {
  ModelFile read;
  ASSIGN_OR_RETURN(read.model, LoadModel(path));
  if (read.model->package() != nullptr)
    return InvalidArgument("{}: is a package; expected an ONNX file", path);
  const auto file = MappedFile::Open(path);
  if (!file.ok()) return AsInvalidInput(file.status());
  read.file = *file;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  ASSIGN_OR_RETURN(read.whole, onnx::WithExternalData(read.bytes(), folder.empty() ? "." : folder));
  return read;
}

Status CheckModelOutput(const std::string& model, std::string_view option,
                        const std::string& output) {
  std::error_code error;
  if (std::filesystem::equivalent(model, output, error))
    return InvalidArgument("{} {}: is the model itself", option, output);
  if (std::filesystem::is_directory(output, error))
    return InvalidArgument("{} {}: is a folder", option, output);
  return CheckWritable(output);
}

}  // namespace fettle::tools
