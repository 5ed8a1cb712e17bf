// OpenCL devices as a backend.
#include "kernels/opencl/opencl_backend.h"

#include "base/log.h"
#include "device/opencl/compile_workers.h"
#include "device/opencl/opencl_device.h"
#include "kernels/backend.h"
#include "kernels/opencl/convert/convert.h"
#include "kernels/opencl/matmul/ladder.h"
#include "kernels/opencl/operators.h"
#include "kernels/opencl/paper.h"
#include "kernels/opencl/probe/mma.h"
#include "kernels/opencl/probe/probe.h"

namespace fettle::kernels {
namespace {

/// What a device does by instructions that drivers do not report. One that failed over them is
/// opened again, without those of warpgroups at first.
Result<std::shared_ptr<OpenClDevice>> WithMma(std::shared_ptr<OpenClDevice> device,
                                              std::string_view which,
                                              const OpenClOptions& options) {
  for (const bool warpgroups : {true, false}) {
    const Result<MmaFacts> mma = ProbeMma(*device, warpgroups);
    if (mma.ok()) {
      device->Learn(*mma);
      return device;
    }
    Log(LogLevel::kWarn, "{}: instructions {} are not used", mma.status().message(),
        warpgroups ? "of warpgroups" : "for matrices");
    ASSIGN_OR_RETURN(device, OpenClDevice::Open(which, options));
  }
  return device;
}

Result<std::shared_ptr<const Device>> Open(std::string_view which, const OpenOptions& options) {
  OpenClOptions wanted{.svm = options.svm, .pacing = options.pacing};
  if (options.programs != nullptr) wanted.cache = OpenUserProgramCache(options.programs);
  Result<std::shared_ptr<OpenClDevice>> device = OpenClDevice::Open(which, wanted);
  if (device.status().code() == StatusCode::kUnsupported &&
      options.svm != SharedVirtualMemory::kOff) {
    Log(LogLevel::kWarn, "{}; it is off", device.status().message());
    wanted.svm = SharedVirtualMemory::kOff;
    device = OpenClDevice::Open(which, wanted);
  }
  RETURN_IF_ERROR(device.status());
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClDevice> known, WithMma(*device, which, wanted));
  return std::shared_ptr<const Device>(std::move(known));
}

Result<std::vector<ListedDevice>> List() {
  ASSIGN_OR_RETURN(const std::vector<OpenClListing> listings, ListOpenClDevices());
  std::vector<ListedDevice> devices;
  for (const OpenClListing& listing : listings) {
    devices.push_back({fmt::format("{}:{}", listing.platform_index, listing.device_index),
                       listing.facts.name, Fingerprint(listing.facts)});
  }
  return devices;
}

}  // namespace

extern const Backend kOpenClBackend;
const Backend kOpenClBackend = {.name = "opencl",
                                .title = "OpenCL",
                                .choice = "[:PLATFORM[:DEVICE]]",
                                .kernels = OpenClKernels,
                                .open = Open,
                                .list = List,
                                .probe = ProbeOpenCl,
                                .check_conversion = CheckOpenClConversion,
                                .convert = PrepareOpenClConversion,
                                .operators = OpenClOperators,
                                .product_ladder = OpenClProductLadder,
                                .compile_elsewhere = CompileOpenClElsewhere,
                                .serve_compiles = ServeOpenClCompiles,
                                .facts = FactsOfOpenCl,
                                .on_paper = OpenClOnPaper};

}  // namespace fettle::kernels
