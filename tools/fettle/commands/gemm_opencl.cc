// fettle gemm --device opencl: the rungs of kernels/opencl/gemm on one device, and the best of them
// tuned.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "commands/gemm.h"
#include "io/inputs.h"
#include "jobs/exit_code.h"
#include "jobs/interrupt.h"
#include "jobs/opencl_timing.h"
#include "jobs/tuning.h"
#include "kernels/build_id.h"
#include "kernels/opencl/gemm/matrices.h"
#include "kernels/opencl/probe/probe.h"
#include "report/report.h"
#include "report/table.h"
#include "tuner/search/remembered_search.h"

namespace fettle::tools {
namespace {

using kernels::GemmLauncher;
using kernels::GemmMatrices;
using kernels::GemmRung;
using kernels::GemmShape;
using kernels::Params;

/// A rung is timed no longer than this, so that slow ones do not hold up the table.
constexpr double kMostSeconds = 3;

/// A line of the table: a time, or why there is none.
struct LadderRow {
  std::string name, kernel, params, refused;
  LaunchTimes times;
  bool verified = false;
  bool timed() const { return refused.empty(); }
};

std::string PrintParams(const Params& params) {
  std::string text;
  for (const auto& [name, value] : params)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

/// Everything that the rungs of one ladder share.
class Ladder {
 public:
  Ladder(const GemmOptions& options, std::shared_ptr<OpenClDevice> device,
         std::unique_ptr<OpenClStream> stream, const GemmShape& shape, Tensor a, Tensor b)
      : options_(options),
        device_(std::move(device)),
        stream_(std::move(stream)),
        shape_(shape),
        matrices_(shape, std::move(a), std::move(b), *device_, *stream_) {}

  void Climb();
  void TuneBest();
  const std::vector<LadderRow>& rows() const { return rows_; }
  const OpenClDevice& device() const { return *device_; }

 private:
  struct Measurement {
    LaunchTimes times;
    bool right = false;
  };
  Result<Measurement> Measure(const GemmRung& rung, const Params& params, bool relaxed_math,
                              int warmup, int iters);
  LadderRow& Add(const GemmRung& rung, const Params& params, bool relaxed_math, std::string name);
  Result<std::optional<Params>> Search(const GemmRung& rung, const Params& from,
                                       bool work_group_alone);

  const GemmOptions& options_;
  std::shared_ptr<OpenClDevice> device_;
  std::unique_ptr<OpenClStream> stream_;
  GemmShape shape_;
  GemmMatrices matrices_;
  std::vector<LadderRow> rows_;
};

Result<Ladder::Measurement> Ladder::Measure(const GemmRung& rung, const Params& params,
                                            bool relaxed_math, int warmup, int iters) {
  ASSIGN_OR_RETURN(const auto launcher,
                   GemmLauncher::Create(rung, shape_, params, *device_, relaxed_math));
  ASSIGN_OR_RETURN(const Location a, matrices_.A(rung.forms.a));
  ASSIGN_OR_RETURN(const Location b, matrices_.B(rung.forms.b));
  ASSIGN_OR_RETURN(const Location c, matrices_.FreshC(rung.forms.c));
  ASSIGN_OR_RETURN(const Location workspace, matrices_.Workspace(launcher->workspace_bytes()));
  const auto launch = [&] { return launcher->Launch(*stream_, a, b, c, workspace); };
  RETURN_IF_ERROR(launch());
  ASSIGN_OR_RETURN(const Tensor result, matrices_.ReadC(rung.forms.c));
  Measurement measurement;
  measurement.right = matrices_.Verify(result).ok();
  ASSIGN_OR_RETURN(measurement.times, TimeLaunches(launch, *stream_, warmup, iters, kMostSeconds));
  return measurement;
}

LadderRow& Ladder::Add(const GemmRung& rung, const Params& params, bool relaxed_math,
                       std::string name) {
  LadderRow row{
      .name = std::move(name), .kernel = std::string(rung.kernel), .params = PrintParams(params)};
  const auto measured = Measure(rung, params, relaxed_math, options_.warmup, options_.iters);
  if (measured.ok()) {
    row.times = measured->times;
    row.verified = measured->right;
  } else {
    row.refused = std::string(measured.status().message());
  }
  rows_.push_back(std::move(row));
  return rows_.back();
}

void Ladder::Climb() {
  for (const GemmRung& rung : kernels::GemmRungs()) {
    if (InterruptScope::Interrupted()) return;
    const Status applies = rung.applies(shape_, device_->facts());
    if (applies.ok()) {
      Add(rung, rung.defaults(shape_, device_->facts()), false, std::string(rung.name));
    } else {
      rows_.push_back({.name = std::string(rung.name),
                       .kernel = std::string(rung.kernel),
                       .refused = std::string(applies.message())});
    }
  }
}

Result<std::optional<Params>> Ladder::Search(const GemmRung& rung, const Params& from,
                                             bool work_group_alone) {
  const OpenClFacts& facts = device_->facts();
  std::vector<tuner::Parameter> parameters;
  std::vector<tuner::Value> start;
  for (const kernels::Tunable& tunable : rung.tunables(shape_, facts)) {
    const bool free = !work_group_alone || tunable.name == "LX" || tunable.name == "LY";
    tuner::Parameter parameter{tunable.name, {}};
    if (free)
      parameter.values.assign(tunable.values.begin(), tunable.values.end());
    else
      parameter.values = {from.at(tunable.name)};
    start.emplace_back(from.at(tunable.name));
    parameters.push_back(std::move(parameter));
  }
  const auto params_of = [&parameters](const tuner::Point& point) {
    Params params;
    for (size_t i = 0; i < parameters.size(); ++i)
      params[parameters[i].name] =
          std::get<int64_t>(parameters[i].values[static_cast<size_t>(point[i])]);
    return params;
  };
  ASSIGN_OR_RETURN(const tuner::SearchSpace space,
                   tuner::SearchSpace::Create(parameters, {}, [&](const tuner::Point& point) {
                     return rung.valid(shape_, params_of(point), facts).ok();
                   }));
  tuner::SearchOptions settings{.seed = options_.common.seed, .max_evaluations = options_.evals};
  if (auto point = space.Find(start); point.ok()) settings.seeds.push_back(*point);
  const tuner::RowKey key{
      .problem = fmt::format("gemm {}x{}x{} of {} {}{}", shape_.m, shape_.n, shape_.k, shape_.batch,
                             DTypeName(shape_.storage), work_group_alone ? ", work-group" : ""),
      .kernel = std::string(rung.kernel),
      .device = std::string(device_->fingerprint()),
      .build = std::string(kernels::BuildId())};
  ASSIGN_OR_RETURN(
      tuner::RememberedSearch search,
      tuner::RememberedSearch::Create(space, settings, StoreFor(options_.common), key));
  while (!InterruptScope::Interrupted()) {
    const std::optional<tuner::Point> point = search.Ask();
    if (!point) break;
    const auto measured = Measure(rung, params_of(*point), false, 1, 5);
    if (!measured.ok())
      search.Tell(std::nullopt, tuner::Row::Status::kFailed,
                  std::string(measured.status().message()));
    else if (!measured->right)
      search.Tell(std::nullopt, tuner::Row::Status::kWrong, "differs from the reference");
    else
      search.Tell(measured->times.ms);
  }
  const tuner::Evaluation* const best = search.search().best();
  if (best == nullptr) return std::optional<Params>();
  return std::optional(params_of(best->point));
}

void Ladder::TuneBest() {
  const LadderRow* best = nullptr;
  for (const LadderRow& row : rows_)
    if (row.timed() && row.verified && (best == nullptr || row.times.ms < best->times.ms))
      best = &row;
  if (best == nullptr || options_.evals == 0) return;
  const GemmRung& rung = *kernels::FindGemmRung(best->kernel);
  Params params = rung.defaults(shape_, device_->facts());
  const std::string name = best->name;
  if (params.contains("LX")) {
    const auto grouped = Search(rung, params, true);
    if (grouped.ok() && grouped->has_value())
      Add(rung, **grouped, false, "the best, tuned work-group");
  } else {
    rows_.push_back({.name = "the best, tuned work-group",
                     .kernel = std::string(rung.kernel),
                     .refused = "its tiles fix the work-group"});
  }
  if (InterruptScope::Interrupted()) return;
  const auto tuned = Search(rung, params, false);
  if (!tuned.ok() || !tuned->has_value()) return;
  if (InterruptScope::Interrupted()) return;
  Add(rung, **tuned, false, "the best, tuned");
  Add(rung, **tuned, true, "with fast relaxed math");
}

Json RowJson(const LadderRow& row, const GemmOptions& options, double gflops, double factor,
             double peak) {
  Json json = {{"name", row.name}, {"kernel", row.kernel}, {"dtype", options.dtype}};
  if (!row.timed()) {
    json["refused"] = row.refused;
    return json;
  }
  json["params"] = row.params;
  json["ms"] = row.times.ms;
  json["runs"] = row.times.runs;
  json["gflops"] = gflops;
  json["factor"] = factor;
  json["share_of_peak"] = peak > 0 ? Json(gflops / peak) : Json(nullptr);
  json["verified"] = row.verified;
  return json;
}

/// `peak`: GFLOP/s that the device reaches without memory; 0: not known.
void Print(const GemmOptions& options, const Ladder& ladder, double peak) {
  const double gflop = 2e-6 * static_cast<double>(options.m) * static_cast<double>(options.n) *
                       static_cast<double>(options.k) * static_cast<double>(options.batch);
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"name"},
               {"kernel"},
               {"ms", kRight},
               {"GFLOP/s", kRight},
               {"factor", kRight},
               {"of peak", kRight},
               {"verified"},
               {"parameters, or why not"}});
  Json json = Json::array();
  double before = 0;
  for (const LadderRow& row : ladder.rows()) {
    const double gflops = row.timed() ? gflop / row.times.ms : 0;
    const double factor = before > 0 && row.timed() ? before / row.times.ms : 1;
    if (row.timed()) {
      before = row.times.ms;
      table.Row({row.name, row.kernel, fmt::format("{:.3f}", row.times.ms),
                 fmt::format("{:.1f}", gflops), fmt::format("{:.2f}x", factor),
                 peak > 0 ? fmt::format("{:.1f} %", 100 * gflops / peak) : "",
                 row.verified ? "yes" : "NO", row.params});
    } else {
      table.Row({row.name, row.kernel, "", "", "", "", "", row.refused});
    }
    json.push_back(RowJson(row, options, gflops, factor, peak));
  }
  const OpenClFacts& facts = ladder.device().facts();
  if (options.common.json) {
    PrintJson({{"m", options.m},
               {"n", options.n},
               {"k", options.k},
               {"batch", options.batch},
               {"peak_gflops", peak > 0 ? Json(peak) : Json(nullptr)},
               {"rows", json},
               {"device",
                {{"kind", "opencl"},
                 {"platform", facts.platform},
                 {"name", facts.name},
                 {"fingerprint", ladder.device().fingerprint()}}}});
    return;
  }
  fmt::print("{}x{}x{} of {} {}\n\n{}\n{} ({}); factor: over the rung before; peak: {}\n",
             options.m, options.n, options.k, options.batch, options.dtype, table.ToString(),
             facts.name, facts.platform,
             peak > 0 ? fmt::format("{:.0f} GFLOP/s of fp32 fma", peak) : "unknown");
}

Result<ExitCode> RunLadder(const GemmOptions& options) {
  const std::optional<DType> storage = DTypeFromName(options.dtype);
  ASSIGN_OR_RETURN(auto device, OpenNamedDevice(options.common.device));
  ASSIGN_OR_RETURN(
      auto stream,
      OpenClStream::Create(device, {.queue_window = static_cast<int>(options.common.queue_window),
                                    .kernel_ms = options.common.kernel_ms}));
  const GemmShape shape{
      .m = options.m, .n = options.n, .k = options.k, .batch = options.batch, .storage = *storage};
  ASSIGN_OR_RETURN(Tensor a, SeedTensor("a", *storage, {shape.batch, shape.m, shape.k}, false,
                                        options.common.seed));
  ASSIGN_OR_RETURN(Tensor b, SeedTensor("b", *storage, {shape.batch, shape.k, shape.n}, false,
                                        options.common.seed));
  const auto ceilings = kernels::ProbeOpenCl(*device);
  Ladder ladder(options, std::move(device), std::move(stream), shape, std::move(a), std::move(b));
  const InterruptScope interrupt([] {});
  ladder.Climb();
  if (!InterruptScope::Interrupted()) ladder.TuneBest();
  Print(options, ladder, ceilings.ok() ? ceilings->flops * 1e-9 : 0);
  const bool right = std::all_of(ladder.rows().begin(), ladder.rows().end(),
                                 [](const LadderRow& row) { return !row.timed() || row.verified; });
  if (!right) return kExitDiffers;
  if (!InterruptScope::Interrupted()) return kExitOk;
  fmt::print(stderr, "fettle: interrupted; the results are those of {} rungs\n",
             ladder.rows().size());
  return kExitFailed;
}

}  // namespace

int GemmOnOpenCl(const GemmOptions& options) {
  InstallLog(options.common.log);
  StartInterruptThread();
  const auto code = RunLadder(options);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace fettle::tools
