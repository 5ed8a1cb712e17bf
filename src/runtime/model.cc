#include "runtime/model.h"

#include <algorithm>

#include "base/file.h"
#include "base/version.h"
#include "device/cpu/cpu_device.h"
#include "kernels/build_id.h"
#include "passes/binary/lenient_signs.h"
#include "passes/conv/round_weights.h"
#include "passes/pipeline.h"

namespace fettle::runtime {
namespace {

/// Damage may have reached the first bytes too: then the name says what the file was.
Status CheckName(const std::string& name) {
  if (!name.ends_with(".fettle")) return OkStatus();
  return Error(StatusCode::kCorrupt, "{}: not a package", name);
}

/// Why the plans and packed weights of a package are not those of this version on this device.
Status CheckFit(const PackageInfo& info, std::span<const Device* const> accelerators) {
  if (info.library != LibraryVersion()) {
    return Error(StatusCode::kVersionMismatch, "the package was made by version {}, this is {}",
                 info.library, LibraryVersion());
  }
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const DeviceSet devices(cpu, accelerators);
  if (info.device != devices.fingerprint())
    return Error(StatusCode::kDeviceUnavailable, "the package was made for '{}', this is '{}'",
                 info.device, devices.fingerprint());
  return OkStatus();
}

std::string RoundingText(const passes::RoundedWeights& rounded, CompactForm form) {
  const std::string_view name = form == CompactForm::kBytes ? "i8" : "f16";
  if (rounded.count == 0) return fmt::format("--weights {}: no weights to round", name);
  return fmt::format(
      "the weights of {} products are rounded to {}, {:.1f} dB above what is lost at "
      "the least",
      rounded.count, name, rounded.least_db);
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::LoadWith(const Importer& importer,
                                                     const std::string& path,
                                                     const LoadOptions& options) {
  std::shared_ptr<Model> model(new Model());
  model->name_ = path;
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  if (Package::IsPackage(file->bytes())) {
    ASSIGN_OR_RETURN(auto package, Package::Open(file->bytes(), file, path));
    RETURN_IF_ERROR(model->TakePackage(std::move(package), options));
  } else {
    RETURN_IF_ERROR(CheckName(path));
    ASSIGN_OR_RETURN(ir::Graph imported, importer.file(path, &model->warnings_, options));
    RETURN_IF_ERROR(model->TakeImported(std::move(imported), options));
  }
  return std::shared_ptr<const Model>(std::move(model));
}

Result<std::shared_ptr<const Model>> Model::LoadBytesWith(const Importer& importer,
                                                          std::span<const std::byte> bytes,
                                                          std::string name,
                                                          const LoadOptions& options) {
  std::shared_ptr<Model> model(new Model());
  model->name_ = std::move(name);
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> owner,
                   AllocateHost(static_cast<int64_t>(bytes.size())));
  std::ranges::copy(bytes, owner.get());
  const std::span<const std::byte> copy(owner.get(), bytes.size());
  if (Package::IsPackage(copy)) {
    ASSIGN_OR_RETURN(auto package, Package::Open(copy, owner, model->name_));
    RETURN_IF_ERROR(model->TakePackage(std::move(package), options));
  } else {
    RETURN_IF_ERROR(CheckName(model->name_));
    ASSIGN_OR_RETURN(ir::Graph imported,
                     importer.bytes(copy, owner, model->name_, &model->warnings_, options));
    RETURN_IF_ERROR(model->TakeImported(std::move(imported), options));
  }
  return std::shared_ptr<const Model>(std::move(model));
}

Result<std::shared_ptr<const Model>> Model::FromGraph(ir::Graph graph, std::string name) {
  std::shared_ptr<Model> model(new Model());
  model->name_ = std::move(name);
  RETURN_IF_ERROR(model->TakeImported(std::move(graph), {}));
  return std::shared_ptr<const Model>(std::move(model));
}

Status Model::TakeImported(ir::Graph imported, const LoadOptions& options) {
  imported_ = std::make_shared<const ir::Graph>(std::move(imported));
  auto graph = std::make_shared<ir::Graph>(*imported_);
  if (options.binary_lenient) {
    ASSIGN_OR_RETURN(const bool changed, passes::MakeSignsLenient(*graph));
    if (!changed)
      warnings_.push_back("--binary-lenient: this model has no Sign that it would change");
  }
  const Status status = passes::Optimise(*graph);
  if (!status.ok()) return status.WithContext(name_);
  if (options.weights) {
    ASSIGN_OR_RETURN(const passes::RoundedWeights rounded,
                     passes::RoundWeights(*graph, *options.weights));
    warnings_.push_back(RoundingText(rounded, *options.weights));
  }
  graph_ = std::move(graph);
  CountWeights();
  // Reading headers and folding have touched most pages; kernels that pack constants read them
  // again.
  for (const ir::Value& value : imported_->values()) {
    if (!value.is_constant()) continue;
    DropMappedFile(value.constant->raw_bytes().data());
    break;
  }
  return OkStatus();
}

Status Model::TakePackage(std::shared_ptr<const Package> package, const LoadOptions& options) {
  package_ = std::move(package);
  if (options.weights)
    warnings_.push_back(fmt::format("{}: a package keeps its weights as they are", name_));
  graph_ = package_->graph();
  imported_ = graph_;
  CountWeights();
  std::vector<const Device*> accelerators = options.accelerators;
  if (accelerators.empty() && options.find_accelerator != nullptr)
    accelerators.push_back(options.find_accelerator(package_->info()));
  std::erase(accelerators, nullptr);
  const Status fit = CheckFit(package_->info(), accelerators);
  if (!fit.ok()) {
    if (options.strict) return fit.WithContext(name_);
    warnings_.push_back(fmt::format("{}: {}; plans are made again", name_, fit.message()));
    return OkStatus();
  }
  if (!package_->decisions().empty()) {
    auto plans = std::make_shared<planner::PlanBook>();
    for (const planner::BookEntry& entry : package_->decisions()) plans->Put(entry);
    plans_ = std::move(plans);
  }
  if (package_->program_count() > 0) {
    for (const Device* device : accelerators) device->ImportPrograms(package_->programs());
  }
  // Another build of the same version may pack in another way under the same recipe.
  if (package_->info().build == kernels::BuildId()) package_->ProvidePacked(packed_);
  return OkStatus();
}

void Model::CountWeights() {
  for (const ir::Value& value : graph_->values()) {
    if (!value.is_constant()) continue;
    parameters_ += value.constant->elements();
    weight_bytes_ += StorageBytes(value.dtype, value.constant->elements());
  }
}

}  // namespace fettle::runtime
