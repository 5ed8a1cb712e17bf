// Post-training quantisation: from a network in fp32 and samples of its inputs to one of integers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quantise/samples.h"
#include "quantise/speed.h"
#include "quantise/writer.h"

namespace fettle::quantise {

/// kAuto takes the method that loses less over the samples.
enum class Switch { kAuto, kOn, kOff };

struct QuantiseOptions {
  GridOptions grids;  // but for corrects_bias, which follows from bias_correction
  Switch equalisation = Switch::kAuto;
  Switch bias_correction = Switch::kAuto;
  /// The accuracy that outputs must keep; layers stay in fp32 until they do.
  double min_sqnr_db = 20;
  double min_top1 = 0;
  /// Samples that the sensitivity of each layer is measured on; 0: it is measured only where the
  /// budget asks for it, on 4.
  size_t sensitivity_samples = 4;
  /// Layers stay in fp32 where the network is faster with them in fp32; null: speed does not
  /// matter.
  Race race;
};

/// Why a layer stays in fp32; kNone where it does not.
enum class Kept {
  kNone,
  kValues,  // what it reads was not finite, or is no fp32
  kBudget,  // integers would lose too much
  kSpeed,   // integers would be slower
};

/// The result for one layer.
struct LayerReport {
  std::string name, op;
  bool quantised = false;
  Kept kept = Kept::kNone;
  /// The layer's time in the race of all layers that hold the budget; nothing without a race.
  LayerTimes times;
  /// Signal to noise of its weights in integers; nothing where it has none.
  std::optional<double> weight_sqnr_db;
  /// Of the outputs, where nothing but this layer's operands is quantised.
  std::optional<double> sqnr_db;
};

struct QuantiseResult {
  std::string bytes;  // a ModelProto
  std::vector<LayerReport> layers;
  Loss loss;       // of `bytes`
  Loss full_loss;  // with all layers quantised
  size_t equalised_pairs = 0;
  bool bias_corrected = false;
  /// Of the network with all layers in integers that hold the budget: its size, and its race.
  size_t budget_bytes = 0;
  std::optional<RaceTimes> race;

  size_t quantised_layers() const;
  /// How many layers stay in fp32 for this reason.
  size_t layers_kept(Kept why) const;
};

/// A ModelProto that keeps no data in other files, and what Fettle loaded from it.
struct Source {
  std::string_view bytes;
  std::shared_ptr<const runtime::Model> model;
};

/// Calibrates on all samples, measures how much each layer loses, and keeps the worst layers in
/// fp32 until the budget holds: as few as a bisection over them, most sensitive first, finds. With
/// options.race, layers whose integers make the network slower stay in fp32 too; where the network
/// is fastest with all layers in fp32, `bytes` are the source's. Without a race the result depends
/// only on the source, the samples and the options. Where even one layer exceeds the budget,
/// `quantised_layers()` is 0 and `bytes` is empty. Fails with kInvalidArgument where the model is
/// quantised already or has nothing to quantise, kUnsupported where its opset cannot be raised,
/// kCancelled.
Result<QuantiseResult> Quantise(const Source& source, const Runs& runs,
                                const QuantiseOptions& options);

}  // namespace fettle::quantise
