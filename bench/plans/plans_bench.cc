// For one model after another: the default plan, the best single layout, the capped sweep and the
// tuned plan, whole networks in interleaved runs; with --exhaustive, whether measuring only what
// the optimum uses finds the optimum of everything measured.
//
//     plans_bench [--threads N] [--seconds S] [--cache FOLDER] [--exhaustive] MODEL...
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "job.h"
#include "planner/planner.h"
#include "runtime/tune_model.h"

namespace fettle::tools {
namespace {

struct Options {
  CommonOptions common;
  std::vector<std::string> models;
  std::string level = "normal";
  double seconds = 2;
  bool exhaustive = false;
};

/// One way to plan, with its network and its times.
struct Contender {
  std::string name;
  std::unique_ptr<runtime::Session> session;
  std::vector<double> ms;
  double median = 0;
};

/// Tunes each segment with given options; no gate.
class Plans final : public planner::PlanSource {
 public:
  Plans(tuner::TuneOptions options, tuner::Store& store)
      : options_(std::move(options)), store_(store) {}
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    tuner::TuneReport report;
    ASSIGN_OR_RETURN(const planner::Decision decision,
                     tuner::TuneGraph(segment, devices, limits, options_, store_, &report));
    predicted_us += decision.predicted_us;
    measured += report.measured;
    reused += report.reused;
    entries += report.entries;
    return planner::Apply(segment, decision, devices, limits.threads);
  }
  double predicted_us = 0;
  int64_t measured = 0, reused = 0, entries = 0;

 private:
  tuner::TuneOptions options_;
  tuner::Store& store_;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

class ModelBench {
 public:
  ModelBench(const Options& options, const Job& job)
      : options_(options),
        job_(job),
        store_(options.common.no_cache || options.common.cache.empty()
                   ? tuner::MemoryStore()
                   : tuner::OpenUserStore(options.common.cache)) {}

  /// A line of the table.
  Result<std::string> Run(double& speedup) {
    tuner::TuneOptions tune;
    ASSIGN_OR_RETURN(tune.level, tuner::LevelFromName(options_.level));
    RETURN_IF_ERROR(Add("default", planner::PreferredPlans()));
    const int64_t start = NowNs();
    const auto ours = std::make_shared<Plans>(tune, *store_);
    RETURN_IF_ERROR(Add("tuned", ours));
    const double tune_seconds = static_cast<double>(NowNs() - start) * 1e-9;
    std::string lazy;
    if (options_.exhaustive) {
      tune.everything = true;
      const auto all = std::make_shared<Plans>(tune, *store_);
      RETURN_IF_ERROR(Add("everything", all));
      lazy = fmt::format(
          " | {:.0f} % | {:.4f}",
          100.0 * static_cast<double>(ours->measured) / static_cast<double>(all->entries),
          ours->predicted_us / all->predicted_us);
      contenders_.pop_back();
      tune.everything = false;
    }
    tune.solver.method = "capped";
    RETURN_IF_ERROR(AddIfAny("capped", tune));
    tune.solver.method = "auto";
    for (const char* layout : {"row", "NHWC", "NCHW8c", "NCHW16c"}) {
      tune.layout = layout;
      RETURN_IF_ERROR(AddIfAny(layout, tune));
    }
    RETURN_IF_ERROR(Time());
    return Line(*ours, tune_seconds, lazy, speedup);
  }

 private:
  Status Add(const std::string& name, std::shared_ptr<planner::PlanSource> plans) {
    Contender contender{.name = name};
    ASSIGN_OR_RETURN(contender.session,
                     runtime::Session::Create(job_.model, {.threads = options_.common.threads,
                                                           .plans = std::move(plans)}));
    runtime::TensorMap outputs;
    RETURN_IF_ERROR(contender.session->Run(job_.bound.tensors(), &outputs));
    contenders_.push_back(std::move(contender));
    return OkStatus();
  }

  /// A layout may be one that no tensor can have, and a beam may lose every cover.
  Status AddIfAny(const std::string& name, const tuner::TuneOptions& tune) {
    const Status added = Add(name, std::make_shared<Plans>(tune, *store_));
    const bool none =
        added.code() == StatusCode::kInvalidArgument || added.code() == StatusCode::kUnsupported;
    return none ? OkStatus() : added;
  }

  /// Rounds in which each network runs once, in an order that changes.
  Status Time() {
    const runtime::TensorMap inputs = job_.bound.tensors();
    runtime::TensorMap outputs;
    std::vector<size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const int64_t start = NowNs();
    for (size_t round = 0;
         round < 10 || static_cast<double>(NowNs() - start) * 1e-9 < options_.seconds; ++round) {
      std::rotate(order.begin(), order.begin() + 1, order.end());
      for (size_t i : order) {
        const int64_t begin = NowNs();
        RETURN_IF_ERROR(contenders_[i].session->Run(inputs, &outputs));
        if (round > 0) contenders_[i].ms.push_back(static_cast<double>(NowNs() - begin) * 1e-6);
      }
    }
    for (Contender& contender : contenders_) contender.median = Median(contender.ms);
    return OkStatus();
  }

  std::string Line(const Plans& ours, double tune_seconds, const std::string& lazy,
                   double& speedup) const {
    const double preferred = contenders_[0].median, tuned = contenders_[1].median;
    const Contender* single = nullptr;
    double capped = 0;
    for (size_t i = 2; i < contenders_.size(); ++i) {
      const Contender& other = contenders_[i];
      if (other.name == "capped") {
        capped = other.median;
      } else if (single == nullptr || other.median < single->median) {
        single = &other;
      }
    }
    speedup = preferred / tuned;
    return fmt::format(
        "| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} | {} {:.2f} | {:.2f} | {:+.0f} % | {} of {} "
        "| "
        "{:.1f} s{} |",
        options_.common.threads, job_.model->name().substr(job_.model->name().rfind('/') + 1),
        preferred, tuned, ours.predicted_us * 1e-3, preferred / tuned,
        single == nullptr ? "-" : single->name, single == nullptr ? 0 : single->median / tuned,
        capped / tuned, 100 * (tuned * 1e3 / ours.predicted_us - 1), ours.measured, ours.entries,
        tune_seconds, lazy);
  }

  const Options& options_;
  const Job& job_;
  std::unique_ptr<tuner::Store> store_;
  std::vector<Contender> contenders_;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Plans beside each other");
  AddCommonOptions(app, options.common);
  app.add_option("MODEL", options.models)->required();
  app.add_option("--seconds", options.seconds, "for the interleaved runs of one model");
  app.add_option("--level", options.level);
  app.add_flag("--exhaustive", options.exhaustive);
  CLI11_PARSE(app, argc, argv);
  InstallLog(options.common.log);
  options.common.threads = ResolveThreads(options.common.threads);
  fmt::print(
      "| threads | model | default ms | tuned ms | predicted ms | default / tuned | best single "
      "layout / tuned | capped / tuned | measured over predicted | measured entries | tuning{} |\n",
      options.exhaustive ? " | measured share | predicted / exhaustive" : "");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---{}|\n",
             options.exhaustive ? "|---|---" : "");
  double log_sum = 0;
  int count = 0;
  for (const std::string& model : options.models) {
    const auto job = MakeJob({.common = options.common, .model = model});
    if (!job.ok()) {
      fmt::print(stderr, "{}\n", job.status().message());
      continue;
    }
    double speedup = 1;
    const auto line = ModelBench(options, *job).Run(speedup);
    if (!line.ok()) {
      fmt::print(stderr, "{}: {}\n", model, line.status().message());
      continue;
    }
    fmt::print("{}\n", *line);
    std::fflush(stdout);
    log_sum += std::log(speedup);
    ++count;
  }
  fmt::print("\ndefault / tuned, geometric mean of {} models: {:.3f}\n", count,
             std::exp(log_sum / std::max(count, 1)));
  return 0;
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) { return fettle::tools::Main(argc, argv); }
