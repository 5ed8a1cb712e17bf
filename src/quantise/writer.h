// Writes a network with some of its layers quantised.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "importers/onnx/raise_opset.h"
#include "quantise/layer.h"
#include "quantise/placement.h"
#include "quantise/value_statistics.h"
#include "quantise/weight_grid.h"

namespace fettle::quantise {

/// How values become integers.
struct GridOptions {
  DType activations = DType::kU8;
  RangeMethod ranges = RangeMethod::kMse;
  double percentile = 99.99;
  WeightOptions weights;
  bool corrects_bias = true;
};

/// Turns layers into integer ones by what calibration saw. Keeps views of its arguments; belongs to
/// one thread.
class Writer {
 public:
  Writer(const Network& network, const std::vector<Layer>& layers, const Statistics& seen,
         const GridOptions& options);

  /// The model with these layers quantised: QuantizeLinear and DequantizeLinear nodes, i8 weights
  /// with a scale per output channel, biases as i32 in units of both scales. Whatever is not named
  /// by this stays byte for byte. Fails as onnx::ApplyEdit and onnx::RaiseOpset do.
  Result<std::string> Write(const PlacementOptions& placement);
  /// The model in fp32, with the weights of rescaled layers.
  Result<std::string> WriteFloat();

  /// RelativeError of the weights that were written last; nothing for layers that have none.
  std::optional<double> weight_error(size_t layer) const;
  /// Values of f32 that were finite in all samples.
  const std::set<std::string, std::less<>>& usable() const { return usable_; }

 private:
  struct Made {
    float input_scale = 0;
    IntegerWeights weights;
    std::vector<float> bias;
    double error = 0;
  };
  class Edit;

  const Made& Quantised(size_t layer, float input_scale);
  std::map<std::string, Grid, std::less<>> GridsOf(const Placement& placement) const;

  const Network& network_;
  const std::vector<Layer>& layers_;
  const Statistics& seen_;
  GridOptions options_;
  std::set<std::string, std::less<>> usable_;
  std::map<std::string, Range, std::less<>> ranges_;
  std::map<size_t, Made> made_;
};

}  // namespace fettle::quantise
