// Weights of mixtures of experts as operands of products over all experts at once.
#pragma once

#include <cstdint>

#include "ops/import.h"

namespace fettle::ops {

/// Where a layer of the experts has its operands among a node's inputs.
struct ExpertLayer {
  size_t weights = 0, scales = 0, zeros = 0, bias = 0;
};

/// What MoE and QMoE have in common. `bits` 0: weights are floats.
struct ExpertSizes {
  int64_t experts = 0, hidden = 0, inter = 0;
  int64_t bits = 0, block = 0;
};

/// rows [.., hidden] times a layer into the experts, plus its bias: [.., experts * outputs], of
/// which `outputs` are `inter` or, where gate and value lie side by side, twice that. Fails where
/// operands are no constants of these sizes.
Result<ir::ValueId> EmitInto(ImportContext& context, const ExpertSizes& sizes,
                             const ExpertLayer& layer, ir::ValueId rows, int64_t outputs);
/// rows [.., experts * inter] times the layer out of the experts, added up over them.
Result<ir::ValueId> EmitOutOf(ImportContext& context, const ExpertSizes& sizes,
                              const ExpertLayer& layer, ir::ValueId rows);

/// The constant at input `i`, or kUnsupported with its name.
Result<Constant> ConstantAt(const ImportContext& context, size_t i, std::string_view name);

}  // namespace fettle::ops
