#include "start/late_device.h"

#include "base/log.h"
#include "jobs/accelerator.h"

namespace fettle::tools {

bool LateDevice::Suits(const CommonOptions& options) {
  return !options.strict_device && NamesAccelerator(options.device);
}

CommonOptions LateDevice::OnTheCpu(CommonOptions options) {
  const CommonOptions usual;
  options.device = "cpu";
  options.precision = usual.precision;
  options.memory = usual.memory;
  options.queue_window = usual.queue_window;
  options.kernel_ms = usual.kernel_ms;
  options.svm = usual.svm;
  return options;
}

Result<runtime::SessionOptions> LateDevice::Open(runtime::SessionOptions like) {
  std::shared_ptr<void> compilers = CompileAside(options_, {});
  std::vector<std::string> warnings;
  CommonOptions strict = options_;
  strict.strict_device = true;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Device> device, OpenAccelerator(strict, warnings));
  ASSIGN_OR_RETURN(const runtime::SessionOptions of_device, MakeSessionOptions(options_, warnings));
  for (const std::string& warning : warnings) Log(LogLevel::kWarn, "{}", warning);
  like.accelerators = {device};
  like.precision = of_device.precision;
  like.memory = of_device.memory;
  like.queue_window = of_device.queue_window;
  like.kernel_ms = of_device.kernel_ms;
  const std::lock_guard lock(mutex_);
  device_ = device;
  compilers_ = std::move(compilers);
  return like;
}

std::shared_ptr<const Device> LateDevice::device() const {
  const std::lock_guard lock(mutex_);
  return device_;
}

Result<std::shared_ptr<runtime::Session>> SessionOf(
    const std::shared_ptr<const runtime::Model>& model, const runtime::SessionOptions& options,
    const std::shared_ptr<LateDevice>& late) {
  using Made = std::shared_ptr<runtime::Session>;
  if (late == nullptr) {
    ASSIGN_OR_RETURN(auto session, runtime::Session::Create(model, options));
    return Made(std::move(session));
  }
  ASSIGN_OR_RETURN(auto session,
                   runtime::Session::CreateOpening(model, options, late->name(), [late, options] {
                     return late->Open(options);
                   }));
  return Made(std::move(session));
}

}  // namespace fettle::tools
