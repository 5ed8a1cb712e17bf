#include "quantisation/quantisation.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/file.h"
#include "io/samples.h"
#include "jobs/exit_code.h"
#include "jobs/interrupt.h"
#include "jobs/job.h"
#include "jobs/model_file.h"
#include "quantisation/racer.h"
#include "report/progress.h"
#include "runtime/device_choice.h"

namespace fettle::tools {
namespace {

/// From here on networks are called slower, and files larger.
constexpr double kTold = 1.03;

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

/// The times of what was written, and of what the budget alone would have written.
Status MeasureTimes(Racer& racer, Quantisation& done) {
  const quantise::QuantiseResult& result = done.result;
  done.within_budget.bytes = static_cast<int64_t>(result.budget_bytes);
  if (result.race) {
    done.before.ms = result.race->plain.ms;
    done.within_budget.ms = done.after.ms = result.race->quantised.ms;
    done.ratio = result.race->ratio;
    if (result.layers_kept(quantise::Kept::kSpeed) == 0) return OkStatus();
    if (result.quantised_layers() == 0) {
      done.after.ms = done.before.ms;
      done.ratio = 1;
      return OkStatus();
    }
  }
  ASSIGN_OR_RETURN(const quantise::RaceTimes last, racer.Run(result.bytes));
  done.before.ms = last.plain.ms;
  done.after.ms = last.quantised.ms;
  done.ratio = last.ratio;
  if (!result.race) done.within_budget = done.after;
  return OkStatus();
}

std::string Slower(double ratio, double before, double after) {
  return fmt::format("{:.2f} times the time of fp32, {:.3f} to {:.3f} ms", ratio, before, after);
}

/// Warns where integers gain nothing.
void Tell(const QuantisationOptions& options, Quantisation& done) {
  const quantise::QuantiseResult& result = done.result;
  const size_t kept = result.layers_kept(quantise::Kept::kSpeed);
  if (kept > 0) {
    const std::string all =
        Slower(result.race->ratio, result.race->plain.ms, result.race->quantised.ms);
    done.warnings.push_back(
        result.quantised_layers() == 0
            ? fmt::format("no layer gains by int8 on this device ({}): {} is the network in fp32 "
                          "as it was; --for-size writes it in int8",
                          all, options.output)
            : fmt::format("{} of {} layers stay in fp32, where int8 is slower on this device (in "
                          "int8 too: {}); --for-size writes them in int8",
                          kept, result.layers.size(), all));
  }
  if (done.ratio > kTold)
    done.warnings.push_back(fmt::format("int8 is slower on this device: {}",
                                        Slower(done.ratio, done.before.ms, done.after.ms)));
  if (done.after.bytes > done.before.bytes)
    done.warnings.push_back(fmt::format("{} is larger than the model: {} to {} bytes",
                                        options.output, done.before.bytes, done.after.bytes));
}

/// Reads, quantises, measures and writes; fails as QuantiseFile does.
Status Perform(const QuantisationOptions& options, runtime::SessionOptions session,
               Quantisation& done) {
  ASSIGN_OR_RETURN(quantise::QuantiseOptions wanted, OptionsFrom(options));
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
  Racer racer(source.model, runs.session, samples[0]);
  if (!options.for_size) wanted.race = [&](const std::string& bytes) { return racer.Run(bytes); };
  auto result = quantise::Quantise({source.bytes(), source.model}, runs, wanted);
  if (!result.ok()) return result.status().WithContext(options.model);
  done.result = *std::move(result);
  done.samples = samples.size();
  done.before.bytes = std::ssize(source.bytes());
  done.after.bytes = std::ssize(done.result.bytes);
  if (done.result.bytes.empty()) return OkStatus();
  RETURN_IF_ERROR(MeasureTimes(racer, done));
  done.threads = racer.threads();
  Tell(options, done);
  return AsWriteFailure(WriteTextFile(options.output, done.result.bytes));
}

}  // namespace

Result<Quantisation> QuantiseFile(const QuantisationOptions& options) {
  const int64_t start = NowNs();
  Quantisation done;
  RETURN_IF_ERROR(CheckCpuOptions(options.common, done.warnings));
  RETURN_IF_ERROR(CheckModelOutput(options.model, "-o", options.output));
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
