// Changing a model file: what an edit does not name stays as it is, byte for byte.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fettle::onnx {

/// What becomes of one node of the main graph.
struct NodeEdit {
  bool dropped = false;
  /// NodeProtos that come right before it, in order; they are written where it is dropped, too.
  std::vector<std::string> before;
  /// New names of operands, by position; positions behind the last one are appended.
  std::map<size_t, std::string> inputs;
  std::map<size_t, std::string> outputs;
  std::set<std::string, std::less<>> dropped_attributes;
  /// Integer attributes, in the place of those of their names.
  std::map<std::string, int64_t, std::less<>> attributes;
};

struct ModelEdit {
  /// Of ai.onnx, and of the file; 0: as they are.
  int64_t opset = 0, ir_version = 0;
  std::map<size_t, NodeEdit> nodes;  // by index in the file
  /// NodeProtos behind the last node.
  std::vector<std::string> last_nodes;
  /// TensorProtos to add, and names of those to leave out, which are no longer graph inputs
  /// either.
  std::vector<std::string> initializers;
  std::set<std::string, std::less<>> dropped_initializers;
  /// Initialisers are no longer graph inputs; files of IR version 3 had to list them there.
  bool drops_initialised_inputs = false;
  /// What the file says of types and shapes between inputs and outputs goes: they follow again.
  bool drops_value_infos = false;
};

/// The bytes of `model`, a ModelProto, after `edit`; fields that Fettle does not know are kept.
/// Fails with kInvalidModel on broken bytes, kUnsupported where the result would pass the 2 GiB of
/// a protocol buffer.
Result<std::string> ApplyEdit(std::string_view model, const ModelEdit& edit);

/// A NodeProto of ai.onnx.
struct NewNode {
  std::string op_type;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, int64_t>> attributes;
  std::vector<std::pair<std::string, std::vector<int64_t>>> lists;  // attributes, too
};
std::string WriteNode(const NewNode& node);

}  // namespace fettle::onnx
