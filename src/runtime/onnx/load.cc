// Models of ONNX files.
#include "importers/onnx/importer.h"
#include "runtime/model.h"

namespace fettle::runtime {
namespace {

Result<ir::Graph> ImportBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& name, std::vector<std::string>* warnings,
                              std::span<const std::string> overridden) {
  return onnx::ImportBytes(bytes, std::move(owner), name, "", warnings, overridden);
}

constexpr Importer kOnnx = {.file = onnx::ImportFile, .bytes = ImportBytes};

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
