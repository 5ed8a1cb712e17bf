#include "quantise/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "quantise/equalise.h"
#include "quantise/norms.h"

namespace fettle::quantise {
namespace {

constexpr size_t kSamplesWhereAsked = 4;

double ToDecibels(double relative_error) {
  return relative_error > 0 ? -10 * std::log10(relative_error)
                            : std::numeric_limits<double>::infinity();
}

Result<std::shared_ptr<const runtime::Model>> Load(const std::string& bytes) {
  return runtime::Model::LoadBytes(std::as_bytes(std::span(bytes)), "quantised model");
}

/// The layers in one form, with what calibration saw of it.
struct Variant {
  std::vector<Layer> layers;
  Statistics seen;
  size_t equalised_pairs = 0;
  bool corrects_bias = false;
  std::unique_ptr<Writer> writer;
  /// With all layers quantised.
  std::string bytes;
  Loss loss;
};

class Search {
 public:
  Search(const Network& network, const Source& source, const Runs& runs,
         const QuantiseOptions& options)
      : network_(network), source_(source), runs_(runs), options_(options) {}

  Result<QuantiseResult> Run() {
    RETURN_IF_ERROR(Calibrate());
    RETURN_IF_ERROR(ChooseVariant());
    if (options_.min_top1 > 0 && !variant_->loss.top1)
      return InvalidArgument("the first output is not a row of scores, so it has no top 1");
    if (options_.sensitivity_samples > 0 || !Holds(variant_->loss))
      RETURN_IF_ERROR(MeasureLayers());
    QuantiseResult result{.bytes = variant_->bytes,
                          .loss = variant_->loss,
                          .full_loss = variant_->loss,
                          .equalised_pairs = variant_->equalised_pairs,
                          .bias_corrected = variant_->corrects_bias};
    std::vector<bool> quantised(variant_->layers.size(), true);
    if (!Holds(variant_->loss)) RETURN_IF_ERROR(Bisect(quantised, result));
    Describe(quantised, result);
    result.budget_bytes = result.bytes.size();
    if (options_.race && result.quantised_layers() > 0) RETURN_IF_ERROR(KeepFast(result));
    return result;
  }

 private:
  Status Calibrate() {
    first_ = std::make_unique<Variant>();
    first_->layers = FindLayers(network_);
    if (first_->layers.empty())
      return InvalidArgument("no layer to quantise: no Conv, Gemm or MatMul in fp32");
    for (const std::string& name : Candidates(network_, first_->layers))
      if (network_.has_value(name) && network_.constant(name) == nullptr) values_.push_back(name);
    for (const std::string_view name : onnx::RanksFor(network_.model()))
      if (network_.has_value(name)) values_.emplace_back(name);
    ASSIGN_OR_RETURN(Observed observed, Observe(source_.model, values_, runs_));
    first_->seen = std::move(observed.values);
    wanted_ = std::move(observed.outputs);
    const bool any = std::ranges::any_of(first_->layers, [&](const Layer& layer) {
      return std::ranges::all_of(
          layer.inputs, [&](const std::string& input) { return first_->seen.contains(input); });
    });
    if (any) return OkStatus();
    return InvalidArgument("no layer to quantise: none reads finite values of fp32");
  }

  /// With and without equalisation, then without bias correction, as far as the options leave that
  /// open.
  Status ChooseVariant() {
    const bool corrects = options_.bias_correction != Switch::kOff;
    std::unique_ptr<Variant> equalised;
    if (options_.equalisation != Switch::kOff) RETURN_IF_ERROR(MakeEqualised(equalised));
    if (equalised != nullptr) RETURN_IF_ERROR(Try(*equalised, corrects));
    if (equalised == nullptr || options_.equalisation == Switch::kAuto) {
      RETURN_IF_ERROR(Try(*first_, corrects));
    }
    const bool takes_first =
        equalised == nullptr ||
        (options_.equalisation == Switch::kAuto && first_->loss.sqnr_db >= equalised->loss.sqnr_db);
    variant_ = takes_first ? std::move(first_) : std::move(equalised);
    if (options_.bias_correction != Switch::kAuto) return OkStatus();
    const Loss loss = variant_->loss;
    std::string bytes = std::move(variant_->bytes);
    RETURN_IF_ERROR(Try(*variant_, false));
    if (variant_->loss.sqnr_db > loss.sqnr_db) return OkStatus();
    MakeWriter(*variant_, true);
    variant_->bytes = std::move(bytes);
    variant_->loss = loss;
    return OkStatus();
  }

  /// Null where no two layers can share channels.
  Status MakeEqualised(std::unique_ptr<Variant>& equalised) {
    auto variant = std::make_unique<Variant>();
    variant->layers = first_->layers;
    variant->equalised_pairs = Equalise(network_, first_->seen, variant->layers);
    if (variant->equalised_pairs == 0) return OkStatus();
    ASSIGN_OR_RETURN(const std::string bytes,
                     Writer(network_, variant->layers, {}, options_.grids).WriteFloat());
    ASSIGN_OR_RETURN(const auto model, Load(bytes));
    ASSIGN_OR_RETURN(Observed observed, Observe(model, values_, runs_));
    variant->seen = std::move(observed.values);
    equalised = std::move(variant);
    return OkStatus();
  }

  void MakeWriter(Variant& variant, bool corrects_bias) {
    GridOptions grids = options_.grids;
    grids.corrects_bias = variant.corrects_bias = corrects_bias;
    variant.writer = std::make_unique<Writer>(network_, variant.layers, variant.seen, grids);
  }

  /// Quantises all layers.
  Status Try(Variant& variant, bool corrects_bias) {
    MakeWriter(variant, corrects_bias);
    const std::vector<bool> all(variant.layers.size(), true);
    return Evaluate(*variant.writer, {.quantised = all}, wanted_.size(), runs_, "outputs",
                    variant.bytes, variant.loss);
  }

  Status Evaluate(Writer& writer, const PlacementOptions& placement, size_t samples,
                  const Runs& runs, std::string_view stage, std::string& bytes, Loss& loss) {
    ASSIGN_OR_RETURN(bytes, writer.Write(placement));
    ASSIGN_OR_RETURN(const auto model, Load(bytes));
    ASSIGN_OR_RETURN(loss, LossOf(model, wanted_, samples, runs, stage));
    return OkStatus();
  }

  /// Each layer alone.
  Status MeasureLayers() {
    const size_t count = variant_->layers.size();
    const size_t asked =
        options_.sensitivity_samples > 0 ? options_.sensitivity_samples : kSamplesWhereAsked;
    for (size_t i = 0; i < count; ++i) {
      Runs runs = runs_;
      if (runs_.report) {
        runs.report = [&, i](std::string_view stage, double share) {
          runs_.report(stage, (static_cast<double>(i) + share) / static_cast<double>(count));
        };
      }
      PlacementOptions alone{.quantised = std::vector<bool>(count), .outputs = false};
      alone.quantised[i] = true;
      std::string bytes;
      Loss loss;
      RETURN_IF_ERROR(Evaluate(*variant_->writer, alone, std::min(asked, wanted_.size()), runs,
                               "sensitivity", bytes, loss));
      sensitivity_.push_back(loss.sqnr_db);
    }
    return OkStatus();
  }

  bool Holds(const Loss& loss) const {
    return loss.sqnr_db >= options_.min_sqnr_db && loss.top1.value_or(1) >= options_.min_top1;
  }

  /// The fewest layers in fp32, most sensitive first, that hold the budget.
  Status Bisect(std::vector<bool>& quantised, QuantiseResult& result) {
    std::vector<size_t> order(quantised.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return sensitivity_[i]; });
    const auto without = [&](size_t plain) {
      std::vector<bool> chosen(order.size(), true);
      for (size_t i = 0; i < plain; ++i) chosen[order[i]] = false;
      return chosen;
    };
    result.bytes.clear();
    size_t fails = 0, holds = order.size();
    while (holds - fails > 1) {
      const size_t middle = (fails + holds) / 2;
      std::string bytes;
      Loss loss;
      RETURN_IF_ERROR(Evaluate(*variant_->writer, {.quantised = without(middle)}, wanted_.size(),
                               runs_, "budget", bytes, loss));
      if (!Holds(loss)) {
        fails = middle;
        continue;
      }
      holds = middle;
      result.bytes = std::move(bytes);
      result.loss = loss;
    }
    quantised = without(holds);
    return OkStatus();
  }

  /// Leaves those layers of `result` in fp32 without which the network is faster.
  Status KeepFast(QuantiseResult& result) {
    ASSIGN_OR_RETURN(result.race, options_.race(result.bytes));
    ASSIGN_OR_RETURN(const auto times,
                     TimesOfLayers(network_, variant_->layers, result.bytes, *result.race));
    Timed all{.ratio = result.race->ratio, .sure = true};
    for (size_t i = 0; i < times.size(); ++i) {
      result.layers[i].times = times[i];
      all.quantised.push_back(result.layers[i].quantised);
    }
    const auto race = [&](const std::vector<bool>& quantised, double share) -> Result<double> {
      if (runs_.report) runs_.report("speed", share);
      ASSIGN_OR_RETURN(const std::string bytes, variant_->writer->Write({.quantised = quantised}));
      ASSIGN_OR_RETURN(const RaceTimes raced, options_.race(bytes));
      return raced.ratio;
    };
    ASSIGN_OR_RETURN(std::vector<Timed> tried, RaceFewer(all, times, race));
    while (true) {
      const size_t best = FastEnough(tried);
      if (best == 0) return OkStatus();
      if (!tried[best].sure) {
        ASSIGN_OR_RETURN(const double again, race(tried[best].quantised, 1));
        tried[best].ratio = std::max(tried[best].ratio, again);
        tried[best].sure = true;
        continue;
      }
      ASSIGN_OR_RETURN(const bool taken, Take(tried[best].quantised, result));
      if (taken) return OkStatus();
      tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(best));
    }
  }

  /// False where these layers, though fewer, do not hold the budget.
  Result<bool> Take(const std::vector<bool>& quantised, QuantiseResult& result) {
    std::string bytes(source_.bytes);
    Loss loss{.sqnr_db = std::numeric_limits<double>::infinity(), .top1 = result.loss.top1};
    if (loss.top1) loss.top1 = 1;
    if (std::ranges::count(quantised, true) > 0)
      RETURN_IF_ERROR(Evaluate(*variant_->writer, {.quantised = quantised}, wanted_.size(), runs_,
                               "speed", bytes, loss));
    if (!Holds(loss)) return false;
    result.bytes = std::move(bytes);
    result.loss = loss;
    for (size_t i = 0; i < quantised.size(); ++i) {
      LayerReport& layer = result.layers[i];
      if (layer.quantised && !quantised[i]) layer.kept = Kept::kSpeed;
      layer.quantised = quantised[i];
    }
    return true;
  }

  void Describe(const std::vector<bool>& quantised, QuantiseResult& result) const {
    for (size_t i = 0; i < quantised.size(); ++i) {
      const Layer& layer = variant_->layers[i];
      const bool usable = std::ranges::all_of(layer.inputs, [&](const std::string& input) {
        return variant_->writer->usable().contains(input);
      });
      LayerReport report{.name = layer.name, .op = layer.op, .quantised = quantised[i] && usable};
      if (!report.quantised) report.kept = usable ? Kept::kBudget : Kept::kValues;
      const auto error = variant_->writer->weight_error(i);
      if (layer.has_weights() && error) report.weight_sqnr_db = ToDecibels(*error);
      if (!sensitivity_.empty()) report.sqnr_db = sensitivity_[i];
      result.layers.push_back(std::move(report));
    }
  }

  const Network& network_;
  const Source& source_;
  const Runs& runs_;
  const QuantiseOptions& options_;
  std::vector<std::string> values_;
  std::vector<runtime::TensorMap> wanted_;
  std::unique_ptr<Variant> first_, variant_;
  std::vector<double> sensitivity_;  // dB, one per layer
};

}  // namespace

size_t QuantiseResult::quantised_layers() const {
  return static_cast<size_t>(std::ranges::count(layers, true, &LayerReport::quantised));
}

size_t QuantiseResult::layers_kept(Kept why) const {
  return static_cast<size_t>(std::ranges::count(layers, why, &LayerReport::kept));
}

Result<QuantiseResult> Quantise(const Source& source, const Runs& runs,
                                const QuantiseOptions& options) {
  ASSIGN_OR_RETURN(const Network given, Network::Read(source.bytes, source.model));
  ASSIGN_OR_RETURN(const std::string folded, FoldNorms(given));
  if (folded.empty()) return Search(given, source, runs, options).Run();
  ASSIGN_OR_RETURN(const auto model, Load(folded));
  ASSIGN_OR_RETURN(const Network network, Network::Read(folded, model));
  const Source normalised{folded, model};
  ASSIGN_OR_RETURN(QuantiseResult result, Search(network, normalised, runs, options).Run());
  if (result.quantised_layers() == 0 && !result.bytes.empty()) result.bytes = source.bytes;
  return result;
}

}  // namespace fettle::quantise
