#include "quantisation/racer.h"

#include <span>
#include <vector>

#include "base/clock.h"
#include "report/statistics.h"

namespace fettle::tools {
namespace {

constexpr size_t kWarmUps = 2;
/// A race ends after this many pairs of runs, and after the time, but has the least.
constexpr size_t kLeastPairs = 9, kMostPairs = 200;
constexpr int64_t kEnoughNs = 150'000'000;

/// One of the two, with the times of its runs in ms.
struct Contestant {
  runtime::Session& session;
  std::vector<double> ms;
  std::map<std::string, std::vector<double>, std::less<>> steps;

  Status Run(const runtime::TensorMap& inputs, bool counts) {
    runtime::TensorMap outputs;
    const int64_t start = NowNs();
    RETURN_IF_ERROR(session.Run(inputs, &outputs));
    const double took = static_cast<double>(NowNs() - start) * 1e-6;
    if (!counts) return OkStatus();
    ms.push_back(took);
    std::map<std::string, double, std::less<>> sums;
    for (const exec::StepProfile& step : session.profile()) sums[step.node] += step.ms;
    for (const auto& [node, sum] : sums) steps[node].push_back(sum);
    return OkStatus();
  }

  quantise::RunTimes Times() const {
    quantise::RunTimes times{Summarise(ms).median, {}};
    for (const auto& [node, sums] : steps) times.steps.emplace(node, Summarise(sums).median);
    return times;
  }
};

}  // namespace

Result<quantise::RaceTimes> Racer::Run(const std::string& bytes) {
  ASSIGN_OR_RETURN(const auto model,
                   runtime::Model::LoadBytes(std::as_bytes(std::span(bytes)), "quantised model"));
  if (session_ == nullptr) {
    ASSIGN_OR_RETURN(session_, runtime::Session::Create(model_, options_));
  }
  ASSIGN_OR_RETURN(const auto other, runtime::Session::Create(model, options_));
  Contestant plain{*session_}, quantised{*other};
  const int64_t start = NowNs();
  for (size_t i = 0; i < kMostPairs + kWarmUps; ++i) {
    const bool counts = i >= kWarmUps;
    RETURN_IF_ERROR(plain.Run(inputs_, counts));
    RETURN_IF_ERROR(quantised.Run(inputs_, counts));
    if (plain.ms.size() >= kLeastPairs && NowNs() - start >= kEnoughNs) break;
  }
  std::vector<double> ratios;
  for (size_t i = 0; i < plain.ms.size(); ++i) ratios.push_back(quantised.ms[i] / plain.ms[i]);
  return quantise::RaceTimes{plain.Times(), quantised.Times(), Summarise(ratios).median};
}

}  // namespace fettle::tools
