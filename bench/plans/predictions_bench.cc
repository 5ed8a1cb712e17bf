// How far predictions hold: tunes one model after the other into one database and prints what its
// steps take alone, what was expected of the network by what the networks before it had taught,
// what is predicted once it has taught too, and what it took; then the median and the worst ratios.
//
//     predictions_bench [--threads N] [--cache FOLDER] [--level L] [--budget S] [--json] MODEL...
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/tuning.h"

namespace fettle::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  JobOptions job;
  TuningOptions tuning;
  std::vector<std::string> models;
};

void Print(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Of one kind of prediction, over all models: measured over predicted.
class Ratios {
 public:
  explicit Ratios(std::string name) : name_(std::move(name)) {}
  void Add(const std::string& model, double measured, double predicted) {
    if (measured > 0 && predicted > 0) all_.push_back({measured / predicted, model});
  }
  Json ToJson() const {
    if (all_.empty()) return {{"prediction", name_}, {"models", 0}};
    std::vector<double> values, distances;
    auto worst = all_.front();
    for (const auto& one : all_) {
      values.push_back(one.first);
      distances.push_back(std::fabs(one.first - 1));
      if (distances.back() > std::fabs(worst.first - 1)) worst = one;
    }
    const auto within = std::count_if(distances.begin(), distances.end(),
                                      [](double distance) { return distance <= 0.1; });
    return {{"prediction", name_},         {"models", all_.size()},
            {"median", Middle(values)},    {"median_distance", Middle(distances)},
            {"within_10_percent", within}, {"worst", worst.first},
            {"worst_model", worst.second}};
  }
  std::string ToText() const {
    const Json json = ToJson();
    if (all_.empty()) return name_ + ": no model ran";
    return fmt::format(
        "measured over {}: median {:.3f}, median distance from 1 {:.1f} %, {} of {} models within "
        "10 %, worst {:.2f} ({})",
        name_, json["median"].get<double>(), 100 * json["median_distance"].get<double>(),
        json["within_10_percent"].get<int>(), all_.size(), json["worst"].get<double>(),
        json["worst_model"].get<std::string>());
  }

 private:
  static double Middle(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  }
  std::string name_;
  std::vector<std::pair<double, std::string>> all_;
};

class Table {
 public:
  explicit Table(const Options& options)
      : options_(options), store_(StoreFor(options.job.common)) {}

  void Run() {
    if (!options_.job.common.json)
      Print(
          "| model | alone ms | expected ms | predicted ms | steps ms | measured ms |\n"
          "|---|---|---|---|---|---|");
    for (const std::string& model : options_.models) RunModel(model);
    for (const Ratios* ratios : {&alone_, &expected_, &predicted_})
      Print(options_.job.common.json ? ratios->ToJson().dump() : ratios->ToText());
  }

 private:
  Result<tuner::TuneModelResult> Tune(const std::string& path) {
    JobOptions job_options = options_.job;
    job_options.model = path;
    ASSIGN_OR_RETURN(const Job job, MakeJob(job_options));
    return TuneJob(job, options_.job.common, options_.tuning, *store_);
  }

  void RunModel(const std::string& path) {
    const std::string model = BaseName(path);
    const Result<tuner::TuneModelResult> result = Tune(path);
    if (!result.ok()) {
      fmt::print(stderr, "{}: {}\n", model, result.status().message());
      return;
    }
    const tuner::GateResult& gate = result->gate;
    const double measured = gate.accepted ? gate.challenger_us : gate.incumbent_us;
    alone_.Add(model, measured, result->alone_us);
    expected_.Add(model, gate.challenger_us, result->expected_us);
    predicted_.Add(model, measured, result->predicted_us);
    if (options_.job.common.json) {
      Print(Json{{"model", model},
                 {"alone_ms", result->alone_us * 1e-3},
                 {"expected_ms", result->expected_us * 1e-3},
                 {"predicted_ms", result->predicted_us * 1e-3},
                 {"steps_ms", result->steps_us * 1e-3},
                 {"measured_ms", measured * 1e-3},
                 {"runs", 2 * gate.pairs},
                 {"disturbed", gate.disturbed}}
                .dump());
    } else {
      Print(fmt::format("| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |", model,
                        result->alone_us * 1e-3, result->expected_us * 1e-3,
                        result->predicted_us * 1e-3, result->steps_us * 1e-3, measured * 1e-3));
    }
  }

  const Options& options_;
  std::shared_ptr<tuner::Store> store_;
  Ratios alone_{"steps alone"}, expected_{"expected"}, predicted_{"predicted"};
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Predictions beside measured times");
  AddCommonOptions(app, options.job.common);
  AddTuningOptions(app, options.tuning);
  app.add_option("MODEL", options.models)->required();
  CLI11_PARSE(app, argc, argv);
  InstallLog(options.job.common.log);
  options.tuning.writes_package = false;
  Table(options).Run();
  return 0;
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) { return fettle::tools::Main(argc, argv); }
