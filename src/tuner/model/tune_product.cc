#include "tuner/model/tune_product.h"

#include <algorithm>

#include "base/clock.h"
#include "ir/noise.h"
#include "tuner/model/tune_model.h"

namespace fettle::tuner {

Status TuneProduct(runtime::MatrixProduct& product, Level level, double seconds, Store& store) {
  if (product.model() == nullptr) return OkStatus();
  TuneModelOptions tune{.session = product.options()};
  tune.tune.level = level;
  if (seconds > 0) tune.deadline_ns = NowNs() + static_cast<int64_t>(std::min(seconds, 1e9) * 1e9);
  const ir::Graph& graph = product.model()->graph();
  ASSIGN_OR_RETURN(std::vector<Tensor> noise, ir::NoiseInputs(graph, 1));
  runtime::TensorMap inputs;
  for (size_t i = 0; i < noise.size(); ++i)
    inputs.emplace(graph.value(graph.inputs[i]).name, std::move(noise[i]));
  ASSIGN_OR_RETURN(const TuneModelResult result, TuneModel(product.model(), inputs, tune, store));
  return product.UsePlans(planner::PlansOf(result.book));
}

}  // namespace fettle::tuner
