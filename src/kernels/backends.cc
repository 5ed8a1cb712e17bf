#include <algorithm>

#include "kernels/backend.h"
#include "kernels/built_backends.h"

namespace fettle::kernels {

namespace {

std::vector<const Backend*>& Rows() {
  static std::vector<const Backend*> rows(BuiltBackends().begin(), BuiltBackends().end());
  return rows;
}

}  // namespace

std::span<const Backend* const> Backends() { return Rows(); }

void AddBackend(const Backend& backend) {
  if (FindBackend(backend.kind()) == nullptr) Rows().push_back(&backend);
}

const Backend* FindBackend(DeviceKind kind) {
  for (const Backend* backend : Backends())
    if (backend->kind() == kind) return backend;
  return nullptr;
}

const KernelDesc* FindKernel(std::string_view name) {
  for (const Backend* backend : Backends()) {
    for (const KernelDesc* kernel : backend->kernels())
      if (kernel->name == name) return kernel;
  }
  return nullptr;
}

std::string DeviceChoices() {
  std::string text = "auto";
  for (const Backend* backend : Backends())
    text += fmt::format("|{}{}", backend->name, backend->choice);
  return text;
}

const Backend* BackendOfChoice(std::string_view device, std::string_view* which) {
  const size_t colon = device.find(':');
  const std::string_view name = device.substr(0, colon);
  for (const Backend* backend : Backends()) {
    if (backend->name != name || (colon != std::string_view::npos && backend->choice.empty()))
      continue;
    *which = colon == std::string_view::npos ? std::string_view() : device.substr(colon + 1);
    return backend;
  }
  return nullptr;
}

DeviceKind ConversionDevice(const State& from, const State& to) {
  return from.device == DeviceKind::kCpu ? to.device : from.device;
}

Status CheckConversion(const Shape& shape, const State& from, const State& to) {
  if (from.device != to.device && from.device != DeviceKind::kCpu &&
      to.device != DeviceKind::kCpu) {
    return Unsupported("{} and {} hand over through the memory of the CPU",
                       DeviceKindName(from.device), DeviceKindName(to.device));
  }
  const Backend* backend = FindBackend(ConversionDevice(from, to));
  if (backend == nullptr)
    return Unsupported("unknown backend '{}'", DeviceKindName(ConversionDevice(from, to)));
  return backend->check_conversion(shape, from, to);
}

Result<std::unique_ptr<PreparedKernel>> PrepareAnyConversion(const Shape& shape, const State& from,
                                                             const State& to,
                                                             const Device& device) {
  RETURN_IF_ERROR(CheckConversion(shape, from, to));
  return FindBackend(device.kind())->convert(shape, from, to, device);
}

std::shared_ptr<void> CompileElsewhere(std::string_view device, const CompileProcesses& processes) {
  std::string_view which;
  const Backend* backend = BackendOfChoice(device, &which);
  if (backend == nullptr || backend->compile_elsewhere == nullptr) return nullptr;
  return backend->compile_elsewhere(processes);
}

Result<int> ServeCompiles(std::string_view device) {
  std::string_view which;
  const Backend* backend = BackendOfChoice(device, &which);
  if (backend == nullptr || backend->serve_compiles == nullptr)
    return Unsupported("{} compiles nothing", device);
  return backend->serve_compiles(which);
}

}  // namespace fettle::kernels
