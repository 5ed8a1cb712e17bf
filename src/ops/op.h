// The operator contract: what every operator in the table brings with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "tensor/tensor.h"

namespace fettle::ops {

using ir::Trait;

/// What shape inference knows of one node: concrete input shapes, types, and those input values
/// that are known.
class InferContext {
 public:
  struct Input {
    bool present = false;
    DType dtype = DType::kUndefined;
    Shape shape;                      // concrete
    const Constant* value = nullptr;  // null where not known
  };
  struct Output {
    DType dtype = DType::kUndefined;
    Shape shape;
    bool set = false;
  };

  InferContext(const ir::Node& node, std::vector<Input> inputs)
      : node_(node), inputs_(std::move(inputs)), outputs_(node.outputs.size()) {}

  const ir::Node& node() const { return node_; }
  const ir::Attributes& attributes() const { return node_.attributes; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_input(int i) const { return i < num_inputs() && inputs_[i].present; }
  DType dtype(int i) const { return inputs_[i].dtype; }
  const Shape& shape(int i) const { return inputs_[i].shape; }
  /// The value of input `i`, or null where it is not known (then MarkDataDependent(i), if the shape
  /// needs it).
  const Constant* value(int i) const { return has_input(i) ? inputs_[i].value : nullptr; }
  /// The known value of input `i` as integers; empty where it is absent or unknown.
  std::vector<int64_t> Ints(int i) const;

  /// Sets output `i`; ignored for outputs that the node does not have, so that optional outputs
  /// need no check.
  void SetOutput(int i, DType dtype, Shape shape);
  /// Says that output shapes cannot be known before the value of input `i` is; return OkStatus()
  /// afterwards.
  void MarkDataDependent(int i) { needed_input_ = i; }

  const Output& output(int i) const { return outputs_[i]; }
  /// The input whose value is needed, or -1.
  int needed_input() const { return needed_input_; }

 private:
  const ir::Node& node_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  int needed_input_ = -1;
};

/// A half-open range of row-major elements of output 0.
struct Region {
  int64_t begin = 0;
  int64_t end = 0;
};

/// What the scalar oracle computes with. Views are strided; absent operands have a null `data`.
struct RefContext {
  const ir::Node& node;
  std::span<const HostView> inputs;
  std::span<const HostView> outputs;

  const ir::Attributes& attributes() const { return node.attributes; }
  bool has_input(size_t i) const { return i < inputs.size() && inputs[i].data != nullptr; }
  bool has_output(size_t i) const { return i < outputs.size() && outputs[i].data != nullptr; }
};

class ImportContext;

/// How an ONNX operator becomes canonical nodes, for the opsets [since, until]. A null `run` copies
/// the node as it is, under the operator's canonical name.
struct ImportRule {
  std::string_view op_type;
  int since = 1;
  int until = 99;
  Status (*run)(ImportContext&) = nullptr;
  std::string_view domain = "";  // "" is ai.onnx
};

/// How an operator is computed and where it comes from. Everything but `infer` and `reference` may
/// be left at its default.
struct Implementation {
  /// Sets all outputs or marks them data-dependent; refuses bad attributes, types and shapes with
  /// kInvalidModel, and what Fettle cannot do with kUnsupported. Input shapes are concrete.
  Status (*infer)(InferContext&) = nullptr;
  /// The oracle: scalar, strided, accumulates in double or int64. Writes the elements of output 0
  /// in the region (and, of kWholeOutput, everything whatever the region says). Never fails on
  /// inputs that infer accepted, except for values out of range (an index), which give
  /// kInvalidArgument.
  Status (*reference)(const RefContext&, const Region&) = nullptr;
  /// Multiply-adds; null means none worth counting.
  int64_t (*macs)(const ir::Node&, std::span<const Shape> inputs,
                  std::span<const Shape> outputs) = nullptr;
  std::span<const ImportRule> imports;
  /// For docs/operators.md: accepted types, and what is refused and why.
  std::string_view types = "floats";
  std::string_view refused = "";
};

/// One operator: what it is, and how it is computed.
struct Operator : ir::OpDesc, Implementation {};

/// The row of a canonical operator, or null.
const Operator* Find(std::string_view name);
/// All operators, ordered by family.
std::span<const Operator* const> AllOps();
/// The row of a canonical operator; a name that has none is a bug.
const Operator& Get(std::string_view name);
/// The row of a node, whose graph knows the operators of this table.
inline const Operator& OperatorOf(const ir::Node& node) {
  return static_cast<const Operator&>(*node.op);
}
/// ir::Parse with this table.
Result<ir::Graph> Parse(std::string_view text, ir::NoiseHints* hints = nullptr);

/// Runs inference for one node of `graph`, whose present inputs must have concrete shapes.
/// `known` gives values beyond the graph's constants (may be empty or hold nulls). Adds the node to
/// messages.
struct Inferred {
  std::vector<InferContext::Output> outputs;
  int needed_input = -1;  // not -1: outputs are unset, the value of this input is needed first
};
Result<Inferred> Infer(const ir::Graph& graph, const ir::Node& node,
                       std::span<const std::shared_ptr<const Constant>> known = {});

/// Infers every node of `graph` in order and stores types and shapes; fails on data-dependent
/// shapes. For cases, problems and tests, whose graph inputs are concrete.
Status InferGraph(ir::Graph& graph);

/// Runs the reference of one node whole on host tensors (absent inputs: empty tensors).
Result<std::vector<Tensor>> Evaluate(const ir::Node& node, std::span<const Tensor> inputs);

/// Runs every node's reference in order: the oracle of a group. `inputs` in the order of
/// graph.inputs.
Result<std::vector<Tensor>> EvaluateGraph(const ir::Graph& graph, std::span<const Tensor> inputs);

/// A name as a template argument.
template <size_t kSize>
struct OperatorName {
  consteval OperatorName(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }
  char text[kSize];
};

}  // namespace fettle::ops

namespace fettle {

/// `node.op == "Conv"_op`: the row of an operator, looked up once.
template <ops::OperatorName kName>
const ops::Operator* operator""_op() {
  static const ops::Operator* const row = &ops::Get(kName.text);
  return row;
}

}  // namespace fettle
