#include "tuner/store/candidate.h"

#include "kernels/build_id.h"
#include "kernels/cost_text.h"
#include "kernels/problem_text.h"

namespace fettle::tuner {

RowKey KeyOf(const Candidate& candidate, const Device& device) {
  return KeyOf(candidate, kernels::PrintCosts(*candidate.problem.group), device);
}

RowKey KeyOf(const Candidate& candidate, std::string_view group_text, const Device& device) {
  std::string params;
  for (const auto& [name, value] : candidate.params)
    params += fmt::format("{}{}={}", params.empty() ? "" : ",", name, value);
  return {.problem = kernels::PrintProblem(candidate.problem, group_text),
          .kernel = std::string(candidate.kernel->name),
          .version = candidate.kernel->version,
          .params = std::move(params),
          .device = std::string(device.fingerprint()),
          .protocol = kProtocol,
          .build = kernels::BuildOf(candidate.kernel->name)};
}

std::string BuildOfPart(const Device& device, std::string_view part) {
  return kernels::BuildOf(fmt::format("{}.{}", DeviceKindName(device.kind()), part));
}

RowKey ConversionKey(const Shape& shape, DType dtype, const State& from, const State& to,
                     int threads, const Device& device) {
  return {
      .problem = fmt::format("convert {}[{}] {} {} threads {}", DTypeName(dtype), shape.ToString(),
                             StateName(from, shape.rank()), StateName(to, shape.rank()), threads),
      .kernel = "cpu.convert",
      .version = 1,
      .params = "",
      .device = std::string(device.fingerprint()),
      .protocol = kProtocol,
      .build = BuildOfPart(device, "convert")};
}

}  // namespace fettle::tuner
