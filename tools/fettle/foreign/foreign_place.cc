#include "foreign/foreign_place.h"

#include "kernels/cpu/simd/targets.h"
#include "runtime/device_choice.h"
#include "runtime/session_parts.h"
#include "tuner/cost/accelerator_roofline.h"
#include "tuner/cost/ceilings.h"

namespace fettle::tools {
namespace {

/// The device beside the CPU that --device asks for; null for none.
Result<std::shared_ptr<const Device>> OpenAccelerator(const DeviceFacts& facts,
                                                      const CommonOptions& options) {
  if (options.device == "cpu") return std::shared_ptr<const Device>();
  if (facts.backend == nullptr && NamesAccelerator(options.device))
    return Unsupported("--device {}: {} is for a CPU; run `fettle peak --device {} --json` there",
                       options.device, facts.file, options.device);
  if (facts.backend == nullptr) return std::shared_ptr<const Device>();
  return facts.backend->on_paper(facts.accelerator);
}

Result<planner::Limits> LimitsThere(const CommonOptions& options, const ForeignPlace& place) {
  runtime::SessionOptions session;
  if (place.accelerator != nullptr) {
    session.accelerators = {place.accelerator};
    session.accelerator_only = options.strict_device;
    ASSIGN_OR_RETURN(session.memory, runtime::MemoryFromName(options.memory));
  }
  if (place.accelerator != nullptr || CpuPrecision() == "normal") {
    ASSIGN_OR_RETURN(session.precision, runtime::PrecisionFromName(options.precision));
  }
  return runtime::LimitsOf(session, ResolveThreads(options.threads));
}

}  // namespace

tuner::Limit ForeignPlace::LimitOf(const kernels::Work& work, bool beside_cpu) const {
  if (beside_cpu && accelerator != nullptr)
    return tuner::LimitOf(work, tuner::LoadCeilings(*accelerator, *store));
  return tuner::LimitOf(work, limits.threads, tuner::LoadCeilings(*cpu, *store, limits.threads),
                        cpu->info());
}

Result<ForeignPlace> AssumePlace(const DeviceFacts& facts, const CommonOptions& options,
                                 const std::string& database) {
  AssumeCpu(facts.cpu);
  AssumeAmx(facts.tiles);
  RETURN_IF_ERROR(kernels::AssumeSimdTargets().WithContext(facts.file));
  ForeignPlace place;
  place.file = facts.file;
  place.cpu = std::make_unique<CpuDevice>(std::make_shared<ThreadPool>(1));
  place.store = tuner::OpenStore("", database);
  tuner::KeepCeilings(facts.cpu_ceilings, *place.cpu, *place.store);
  ASSIGN_OR_RETURN(place.accelerator, OpenAccelerator(facts, options));
  if (place.accelerator != nullptr) {
    tuner::KeepCeilings(facts.accelerator_ceilings, *place.accelerator, *place.store);
  } else {
    RETURN_IF_ERROR(CheckCpuAlone(options, place.warnings));
  }
  ASSIGN_OR_RETURN(place.limits, LimitsThere(options, place));
  return place;
}

CommonOptions OptionsHere(const CommonOptions& options) {
  CommonOptions here = options;
  const CommonOptions usual;
  here.device = "cpu";
  here.strict_device = false;
  here.precision = "high";
  here.memory = usual.memory;
  here.queue_window = usual.queue_window;
  here.kernel_ms = usual.kernel_ms;
  here.svm = usual.svm;
  return here;
}

}  // namespace fettle::tools
