#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/package/package.h"
#include "tuner/model/timetable.h"
#include "tuner/model/tune_model.h"

namespace fettle::tuner {

Result<std::string> SaveTuned(const std::string& path, const std::string& model_path,
                              const std::shared_ptr<const runtime::Model>& model,
                              const runtime::TensorMap& inputs,
                              const runtime::SessionOptions& options, TuneModelResult& result) {
  // The package takes the packed weights of living sessions and the programs that they built.
  const bool takes_from_session = result.packed_weights || !options.accelerators.empty();
  if (result.session == nullptr && takes_from_session && result.deadline_ns == 0) {
    runtime::SessionOptions planned = options;
    planned.plans = planner::PlansOf(result.book);
    ASSIGN_OR_RETURN(result.session, runtime::Session::Create(model, std::move(planned)));
    runtime::TensorMap outputs;
    RETURN_IF_ERROR(result.session->Run(inputs, &outputs));
  }
  if (result.session == nullptr) {
    // Not run and not planned: it only says which devices and threads the package is for.
    ASSIGN_OR_RETURN(result.session, runtime::Session::Create(model, options));
  }
  const DeviceSet devices = result.session->devices();
  runtime::PackageInfo info = runtime::PackageInfo::For(devices, result.session->threads());
  info.default_ms = result.gate.incumbent_us * 1e-3;
  info.measured_ms = result.measured_us() * 1e-3;
  info.predicted_ms = result.predicted_us * 1e-3;
  info.measurements = result.report.measured;
  const std::string where = path.empty() ? runtime::PackageFileName(model_path, devices) : path;
  std::vector<ProgramBinary> programs;
  for (const Device* device : devices.beside_cpu())
    std::ranges::move(device->ExportPrograms(), std::back_inserter(programs));
  const bool affords = Timetable::AffordsPackedWeights(*model, result.written_per_second,
                                                       result.deadline_ns, NowNs());
  if (result.packed_weights && !affords) {
    Log(LogLevel::kWarn,
        "the budget leaves no time to write {:.0f} MB of packed weights: they are packed when the "
        "package is loaded",
        static_cast<double>(model->packed().bytes()) * 1e-6);
  }
  RETURN_IF_ERROR(runtime::SavePackage(
      where, *model, *result.book, info,
      {.programs = programs, .packed_weights = result.packed_weights && affords}));
  return where;
}

}  // namespace fettle::tuner
