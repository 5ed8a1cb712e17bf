// A model file as quantisation sees it: its nodes by index, values by name, constants behind names.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "importers/onnx/wire.h"
#include "ir/graph.h"
#include "runtime/model.h"

namespace fettle::quantise {

/// Where a value of the main graph comes from and goes to; node indices are those of the file.
struct ValueUses {
  int64_t producer = -1;
  std::vector<size_t> readers;
  /// Graph outputs and sub-graphs, which read it whatever happens to `readers`.
  bool read_elsewhere = false;
};

/// Views into a model file, which has to outlive it. Immutable, thread-safe.
class Network {
 public:
  /// `bytes` is a ModelProto without external data, `model` what Fettle loaded from it. Fails with
  /// kInvalidModel on broken bytes; with kInvalidArgument, naming the node, where the model is
  /// quantised already.
  static Result<Network> Read(std::string_view bytes, std::shared_ptr<const runtime::Model> model);

  std::string_view bytes() const { return bytes_; }
  const onnx::ModelRecord& model() const { return model_; }
  const std::vector<onnx::NodeRecord>& nodes() const { return model_.graph.nodes; }
  const onnx::NodeRecord& node(size_t i) const { return model_.graph.nodes[i]; }
  /// An integer attribute of a node.
  int64_t Int(const onnx::NodeRecord& node, std::string_view name, int64_t fallback) const;
  double Float(const onnx::NodeRecord& node, std::string_view name, double fallback) const;
  std::vector<int64_t> Ints(const onnx::NodeRecord& node, std::string_view name,
                            std::vector<int64_t> fallback) const;

  const ValueUses& uses(std::string_view value) const;
  /// The constant of that name, also where nodes compute it from constants alone; null where there
  /// is no such constant.
  const Constant* constant(std::string_view value) const;
  /// Whether the imported graph has the value, so that a session can return it.
  bool has_value(std::string_view value) const { return values_.contains(value); }
  bool IsInput(std::string_view value) const { return inputs_.contains(value); }
  /// Whether a node is a product that runs on bits (passes/binary): integers would take more.
  bool IsOnBits(size_t node) const { return on_bits_.contains(static_cast<int>(node)); }
  /// The only reader of a value, where nobody else reads it; null otherwise.
  const size_t* OnlyReader(std::string_view value) const;

 private:
  Network() = default;
  Status CheckPlain() const;
  void IndexUses();
  /// Whether it depends on constants alone, through at most `depth` nodes in a row.
  bool IsFixed(std::string_view value, int depth) const;

  std::string_view bytes_;
  onnx::ModelRecord model_;
  std::shared_ptr<const runtime::Model> loaded_;
  std::map<std::string, ValueUses, std::less<>> uses_;
  std::map<std::string_view, const ir::Value*> values_;  // as imported
  std::map<std::string_view, const Constant*> folded_;   // constants after load-time passes
  std::set<std::string_view> inputs_;
  std::set<int> on_bits_;  // nodes
};

/// Makes names that are new to the network and were not given out before.
class FreshNames {
 public:
  explicit FreshNames(const Network& network);
  /// `wanted`, with a number behind it where that is taken.
  std::string operator()(std::string wanted);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace fettle::quantise
