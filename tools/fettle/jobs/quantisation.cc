#include "jobs/quantisation.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/file.h"
#include "io/samples.h"
#include "io/tensor_io.h"
#include "jobs/exit_code.h"
#include "jobs/interrupt.h"
#include "jobs/job.h"
#include "jobs/model_file.h"
#include "report/progress.h"
#include "report/statistics.h"
#include "runtime/device_choice.h"

namespace fettle::tools {
namespace {

/// Inferences of either model that are timed.
constexpr int kTimedRuns = 9;

quantise::Switch SwitchFrom(const std::string& text) {
  if (text == "on") return quantise::Switch::kOn;
  return text == "off" ? quantise::Switch::kOff : quantise::Switch::kAuto;
}

Result<quantise::QuantiseOptions> OptionsFrom(const QuantisationOptions& options) {
  quantise::QuantiseOptions wanted;
  ASSIGN_OR_RETURN(wanted.grids.ranges, quantise::RangeMethodFromName(options.ranges));
  wanted.grids.activations = options.activations == "i8" ? DType::kI8 : DType::kU8;
  wanted.grids.percentile = options.percentile;
  wanted.grids.weights.method = wanted.grids.ranges;
  wanted.grids.weights.largest = options.weight_bits == 7 ? 63 : 127;
  wanted.equalisation = SwitchFrom(options.equalisation);
  wanted.bias_correction = SwitchFrom(options.bias_correction);
  wanted.min_sqnr_db = options.min_sqnr_db;
  wanted.min_top1 = options.min_top1;
  wanted.sensitivity_samples = options.sensitivity;
  return wanted;
}

/// Draws a line per stage.
class StageProgress {
 public:
  void operator()(std::string_view stage, double share) {
    if (stage != stage_) {
      progress_.reset();
      progress_ = std::make_unique<Progress>(fmt::format("quantise: {}", stage), 0);
      stage_ = stage;
    }
    progress_->UpdateFraction(share);
  }

 private:
  std::string stage_;
  std::unique_ptr<Progress> progress_;
};

Result<double> TimedRun(runtime::Session& session, const runtime::TensorMap& inputs) {
  runtime::TensorMap outputs;
  const int64_t start = NowNs();
  RETURN_IF_ERROR(session.Run(inputs, &outputs));
  return static_cast<double>(NowNs() - start) * 1e-6;
}

/// In turns, so that both meet the same machine.
Status MeasureTimes(const std::shared_ptr<const runtime::Model>& before, const std::string& after,
                    const quantise::Runs& runs, Quantisation& done) {
  ASSIGN_OR_RETURN(const auto model,
                   runtime::Model::LoadBytes(std::as_bytes(std::span(after)), "quantised model"));
  ASSIGN_OR_RETURN(const auto plain, runtime::Session::Create(before, runs.session));
  ASSIGN_OR_RETURN(const auto quantised, runtime::Session::Create(model, runs.session));
  std::vector<double> plain_ms, quantised_ms;
  for (int i = -2; i < kTimedRuns; ++i) {
    ASSIGN_OR_RETURN(const double a, TimedRun(*plain, runs.samples[0]));
    ASSIGN_OR_RETURN(const double b, TimedRun(*quantised, runs.samples[0]));
    if (i < 0) continue;
    plain_ms.push_back(a);
    quantised_ms.push_back(b);
  }
  done.threads = plain->threads();
  done.before.ms = Summarise(plain_ms).median;
  done.after.ms = Summarise(quantised_ms).median;
  return OkStatus();
}

/// Reads, quantises, measures and writes; fails as QuantiseFile does.
Status Perform(const QuantisationOptions& options, runtime::SessionOptions session,
               Quantisation& done) {
  ASSIGN_OR_RETURN(const quantise::QuantiseOptions wanted, OptionsFrom(options));
  SampleOptions reading{
      .limit = options.samples, .seed = options.common.seed, .cancelled = session.cancelled};
  ASSIGN_OR_RETURN(reading.preprocess, ParsePreprocess(options.preprocess));
  ASSIGN_OR_RETURN(reading.shapes, ParseShapes(options.common.shapes));
  ASSIGN_OR_RETURN(const ModelFile source, ReadModelFile(options.model));
  done.warnings.insert(done.warnings.end(), source.model->warnings().begin(),
                       source.model->warnings().end());
  ASSIGN_OR_RETURN(const quantise::Samples samples,
                   ReadSamples(source.model->graph(), options.data, reading, done.warnings));
  StageProgress progress;
  const quantise::Runs runs{samples, std::move(session),
                            [&](std::string_view stage, double share) { progress(stage, share); }};
  auto result = quantise::Quantise({source.bytes(), source.model}, runs, wanted);
  if (!result.ok()) return result.status().WithContext(options.model);
  done.result = *std::move(result);
  done.samples = samples.size();
  done.before.bytes = std::ssize(source.bytes());
  done.after.bytes = std::ssize(done.result.bytes);
  if (done.result.quantised_layers() == 0) return OkStatus();
  RETURN_IF_ERROR(MeasureTimes(source.model, done.result.bytes, runs, done));
  return AsWriteFailure(WriteTextFile(options.output, done.result.bytes));
}

}  // namespace

Result<Quantisation> QuantiseFile(const QuantisationOptions& options) {
  const int64_t start = NowNs();
  Quantisation done;
  RETURN_IF_ERROR(CheckCpuOptions(options.common, done.warnings));
  RETURN_IF_ERROR(CheckModelOutput(options.model, "-o", options.output));
  RETURN_IF_ERROR(CheckWritable(options.output));
  runtime::SessionOptions session{.threads = options.common.threads,
                                  .cancelled = &InterruptScope::Flag()};
  ASSIGN_OR_RETURN(session.subnormals, runtime::SubnormalsFromName(options.common.subnormals));
  const InterruptScope interrupt([] {});
  const Status status = Perform(options, std::move(session), done);
  if (status.code() == StatusCode::kCancelled)
    return Error(StatusCode::kCancelled, "interrupted; nothing was written");
  RETURN_IF_ERROR(status);
  done.seconds = static_cast<double>(NowNs() - start) * 1e-9;
  return done;
}

}  // namespace fettle::tools
