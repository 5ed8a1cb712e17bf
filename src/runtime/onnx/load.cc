// Models of ONNX files.
#include "importers/onnx/importer.h"
#include "runtime/model.h"

namespace fettle::runtime {
namespace {

onnx::ImportOptions ImportOptionsOf(const LoadOptions& options) {
  return {.overridden = options.overridden,
          .outputs = options.outputs,
          .unsupported_are_inputs = options.unsupported_are_inputs};
}

Result<ir::Graph> ImportFile(const std::string& path, std::vector<std::string>* warnings,
                             const LoadOptions& options) {
  return onnx::ImportFile(path, warnings, ImportOptionsOf(options));
}

Result<ir::Graph> ImportBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& name, std::vector<std::string>* warnings,
                              const LoadOptions& options) {
  return onnx::ImportBytes(bytes, std::move(owner), name, "", warnings, ImportOptionsOf(options));
}

constexpr Importer kOnnx = {.file = ImportFile, .bytes = ImportBytes};

}  // namespace

Result<std::shared_ptr<const Model>> Model::Load(const std::string& path,
                                                 const LoadOptions& options) {
  return LoadWith(kOnnx, path, options);
}

Result<std::shared_ptr<const Model>> Model::LoadBytes(std::span<const std::byte> bytes,
                                                      std::string name,
                                                      const LoadOptions& options) {
  return LoadBytesWith(kOnnx, bytes, std::move(name), options);
}

}  // namespace fettle::runtime
