// The runtime library runs packages and what is known, and learns nothing.
#include "capi/parts.h"
#include "capi/runtime/no_tuner.h"

namespace fettle::capi {
namespace {

Status NoImporter(const std::string& name) {
  return Unsupported(
      "{}: not a package: the runtime library reads only .fettle packages, which fettle tune "
      "writes",
      name);
}

constexpr runtime::Importer kNone = {
    .file = [](const std::string& path, std::vector<std::string>*,
               const runtime::LoadOptions&) -> Result<ir::Graph> { return NoImporter(path); },
    .bytes = [](std::span<const std::byte>, std::shared_ptr<const void>, const std::string& name,
                std::vector<std::string>*,
                const runtime::LoadOptions&) -> Result<ir::Graph> { return NoImporter(name); }};

}  // namespace

Result<std::shared_ptr<const runtime::Model>> LoadModel(const char* path) {
  return runtime::Model::LoadWith(kNone, path, {});
}

Result<std::shared_ptr<const runtime::Model>> LoadModelBytes(std::span<const std::byte> bytes,
                                                             const char* name) {
  return runtime::Model::LoadBytesWith(kNone, bytes, name, {});
}

Status Tune(fettle_session&, const fettle_tune_options&, fettle_tune_report*) {
  return NoTuner("fettle_session_tune");
}

Result<std::shared_ptr<runtime::BackgroundWork>> TuneInBackground(
    const fettle_session&, const fettle_background_options&) {
  return NoTuner("fettle_session_tune_in_background");
}

Result<ProductTuning> TuningOf(const fettle_gemm_options& options) {
  if (options.tune != nullptr) return NoTuner("fettle_gemm_options: tune");
  if (options.database != nullptr) return NoTuner("fettle_gemm_options: database");
  return ProductTuning{};
}

}  // namespace fettle::capi
