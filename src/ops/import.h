// What an import rule sees: one ONNX node, neutral of the wire format, and the graph it adds
// canonical nodes to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace fettle::ops {

/// The domain of the operators that ONNX Runtime adds.
inline constexpr std::string_view kMicrosoft = "com.microsoft";

/// An ONNX node with its operands resolved to values of the graph.
struct NeutralNode {
  std::string op_type;
  std::string domain;  // "" is ai.onnx
  std::string name;
  int opset = 0;
  int index = -1;
  ir::Attributes attributes;
  std::vector<ir::ValueId> inputs;   // ir::kAbsent where left out
  std::vector<std::string> outputs;  // value names; "" where unused
};

/// Builds the canonical nodes of one NeutralNode. Types and shapes are not known yet, except for
/// constants.
class ImportContext {
 public:
  ImportContext(const NeutralNode& node, ir::Graph& graph) : node_(node), graph_(graph) {}

  const NeutralNode& node() const { return node_; }
  const ir::Graph& graph() const { return graph_; }
  const ir::Attributes& attributes() const { return node_.attributes; }
  int opset() const { return node_.opset; }
  size_t num_inputs() const { return node_.inputs.size(); }
  size_t num_outputs() const { return node_.outputs.size(); }
  ir::ValueId input(size_t i) const {
    return i < node_.inputs.size() ? node_.inputs[i] : ir::kAbsent;
  }
  bool has_input(size_t i) const { return input(i) != ir::kAbsent; }
  /// The constant behind input `i`, or null.
  const Constant* constant(size_t i) const;
  /// The rank of input `i` where it is known: of constants and graph inputs.
  std::optional<int> rank(size_t i) const;

  /// Adds one canonical node and returns its outputs.
  std::vector<ir::ValueId> Emit(std::string_view op, std::vector<ir::ValueId> inputs,
                                ir::Attributes attributes = {}, size_t outputs = 1);
  /// The same for one output.
  ir::ValueId Emit1(std::string_view op, std::vector<ir::ValueId> inputs,
                    ir::Attributes attributes = {});
  ir::ValueId Const(Constant constant);
  /// Rank-1 int64 and f32 constants, and scalars of `dtype`.
  ir::ValueId ConstInts(const std::vector<int64_t>& values);
  ir::ValueId ConstFloats(const std::vector<double>& values);
  ir::ValueId ConstScalar(DType dtype, double value);
  /// Makes `value` output `i` of the ONNX node. A rule binds every used output once.
  void Bind(size_t i, ir::ValueId value);
  /// The plain case: one canonical node `op` with all inputs and outputs and `attributes`.
  void Copy(std::string_view op, ir::Attributes attributes);

  /// Values bound so far, kAbsent where none.
  const std::vector<ir::ValueId>& bound() const { return bound_; }

 private:
  const NeutralNode& node_;
  ir::Graph& graph_;
  std::vector<ir::ValueId> bound_;
};

/// OK where (domain, op_type, opset) has a rule; else kUnsupported, with a message that follows the
/// operator's name ("is supported from opset 9 on") where another opset has one.
Status CheckRule(std::string_view domain, std::string_view op_type, int opset);

/// Rules of operators that were removed from ONNX and have no row of their own; each has a `run`.
std::span<const ImportRule> LegacyImports();

/// Finds the rule for the node and runs it; CheckRule's failure where there is none.
Status Import(ImportContext& context);

}  // namespace fettle::ops
