// Making a model of an older opset one of opset 13, where per-channel quantisation begins.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/onnx/model_edit.h"
#include "importers/onnx/wire.h"

namespace fettle::onnx {

/// The opset that RaiseOpset reaches, and the IR version that came with it.
inline constexpr int64_t kRaisedOpset = 13, kRaisedIr = 7;

/// The opset of ai.onnx that the model imports; 1 where it imports none.
int64_t OpsetOf(const ModelRecord& model);

/// The rank of a value; below 0 where it is not known.
using RankOf = std::function<int(std::string_view name)>;

/// The values whose ranks RaiseOpset asks for.
std::vector<std::string_view> RanksFor(const ModelRecord& model);

/// Adds to `edit` what makes nodes of an older opset mean the same in opset 13 (attributes that
/// became operands, mostly); nothing where the model imports 13 or newer. `fresh_name` makes a name
/// that no value has of one that says what it is for.
/// Fails with kUnsupported naming the first node that cannot be carried over.
Status RaiseOpset(const ModelRecord& model, const RankOf& rank,
                  const std::function<std::string(std::string)>& fresh_name, ModelEdit& edit);

}  // namespace fettle::onnx
