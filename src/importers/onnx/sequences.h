// Sequences of tensors, which graphs do not have: their operators become operators on tensors.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/import.h"

namespace fettle::onnx {

/// A sequence while nodes are imported: tensors one by one, or one tensor that is cut.
struct Sequence {
  struct Cut {
    ir::ValueId whole = ir::kAbsent;
    int64_t axis = 0;
    /// Extents along the axis: one for all parts, or a list; kAbsent: parts of extent 1.
    ir::ValueId sizes = ir::kAbsent;
    /// Whether parts of extent 1 have the axis.
    bool has_axis = true;
  };
  std::vector<ir::ValueId> tensors;
  std::optional<Cut> cut;
};
using SharedSequence = std::shared_ptr<const Sequence>;

/// What a node of sequences makes: one of the two.
struct MadeOfSequences {
  ir::ValueId tensor = ir::kAbsent;
  SharedSequence sequence;
};

/// Imports a node of ai.onnx that takes or makes sequences, or an Identity of one. `sequences[i]`
/// is null where operand i is a tensor. Fails with kUnsupported where a position has to be a
/// constant, or the number of parts known, and is not; with kInvalidModel where a sequence has no
/// such position.
Result<MadeOfSequences> ImportOfSequences(ops::ImportContext& context,
                                          const std::vector<SharedSequence>& sequences);

}  // namespace fettle::onnx
