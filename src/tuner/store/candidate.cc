#include "tuner/store/candidate.h"

#include "kernels/build_id.h"
#include "kernels/cost_text.h"
#include "kernels/params_text.h"
#include "kernels/problem_text.h"

namespace fettle::tuner {

RowKey KeyOf(const Candidate& candidate, const Device& device) {
  return KeyOf(candidate, kernels::PrintCosts(*candidate.problem.group), device);
}

RowKey KeyOf(const Candidate& candidate, std::string_view group_text, const Device& device) {
  return {.problem = kernels::PrintProblem(candidate.problem, group_text),
          .kernel = std::string(candidate.kernel->name),
          .version = candidate.kernel->version,
          .params = kernels::PrintParams(candidate.params),
          .device = std::string(device.fingerprint()),
          .protocol = ProtocolOn(device),
          .build = kernels::BuildOf(candidate.kernel->name)};
}

RowKey HostKey(RowKey key) {
  key.problem = "enqueueing " + key.problem;
  return key;
}

Result<Row> FindTimes(const RowKey& key, Store& store) {
  Result<Row> row = store.Find(key);
  if (!row.ok() || key.protocol != kDeviceProtocol || row->status != Row::Status::kOk) return row;
  const Result<Row> host = store.Find(HostKey(key));
  if (host.ok() && host->status == Row::Status::kOk) row->host_us = host->median_us;
  return row;
}

void PutTimes(const RowKey& key, const Row& row, Store& store) {
  store.Put(key, row);
  if (row.host_us <= 0) return;
  store.Put(HostKey(key), {.median_us = row.host_us,
                           .low_us = row.host_us,
                           .samples = row.samples,
                           .unix_seconds = row.unix_seconds});
}

std::string BuildOfPart(const Device& device, std::string_view part) {
  return kernels::BuildOf(fmt::format("{}.{}", DeviceKindName(device.kind()), part));
}

RowKey ConversionKey(const Shape& shape, const State& from, const State& to, int threads,
                     const Device& device) {
  return {.problem = fmt::format("convert {}[{}] {} {} threads {}", DTypeName(from.storage),
                                 shape.ToString(), StateName(from, shape.rank()),
                                 StateName(to, shape.rank()), threads),
          .kernel = "cpu.convert",
          .version = 1,
          .params = "",
          .device = std::string(device.fingerprint()),
          .protocol = ProtocolOn(device),
          .build = BuildOfPart(device, "convert")};
}

RowKey NetworksKey(std::string_view of, const Device& accelerator) {
  return {.problem = fmt::format("in networks, {}", of),
          .kernel = "calibration",
          .version = 1,
          .device = std::string(accelerator.fingerprint()),
          .protocol = ProtocolOn(accelerator),
          .build = std::string(kernels::Toolchain())};
}

}  // namespace fettle::tuner
