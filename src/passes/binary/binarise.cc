#include "passes/binary/binarise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "ops/binary/op.h"
#include "passes/binary/comparison.h"
#include "passes/binary/transposed.h"
#include "passes/binary/two_valued.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"
#include "passes/pipeline.h"

namespace fettle::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Bits of a value, by how a product wants them: so many channels, on axis 1 or on the last one, in
/// groups.
struct Packing {
  bool is_last = false;
  int64_t groups = 1, channels = 0;
  auto operator<=>(const Packing&) const = default;
};

class Binariser {
 public:
  explicit Binariser(Editor& editor) : editor_(editor), analysis_(editor.graph()) {}

  bool HasWork(ir::NodeId end) const {
    for (ir::NodeId id = 0; id < end; ++id) {
      if (analysis_.ProductOf(id) != nullptr) return true;
    }
    return false;
  }

  Status Visit(ir::NodeId id) {
    const BinaryProduct* product = analysis_.ProductOf(id);
    if (product == nullptr || editor_.node(id).dead) return OkStatus();
    std::vector<double> rows = product->w_zero;
    rows.insert(rows.end(), product->w_one.begin(), product->w_one.end());
    rows.insert(rows.end(), product->bias.begin(), product->bias.end());
    ASSIGN_OR_RETURN(Constant results, ConstantFrom(DType::kF32, Shape{3, product->outputs}, rows));
    ASSIGN_OR_RETURN(const std::vector<ir::ValueId> inputs, Inputs(*product, std::move(results)));
    editor_.Replace(id, OperatorOf(*product), inputs, AttributesOf(*product));
    return OkStatus();
  }

 private:
  static ir::OpRef OperatorOf(const BinaryProduct& product) {
    return product.is_conv ? ir::OpRef("BinaryConv"_op) : ir::OpRef("BinaryMatMul"_op);
  }

  ir::Attributes AttributesOf(const BinaryProduct& product) const {
    ir::Attributes attributes = {{"channels", product.channels},
                                 {"x_zero", product.x_low},
                                 {"x_one", product.x_high},
                                 {"x_unipolar", int64_t{product.x_unipolar}},
                                 {"w_unipolar", int64_t{product.w_unipolar}}};
    if (!product.is_conv) return attributes;
    for (const auto& [name, value] : editor_.graph().node(product.node).attributes.items()) {
      if (name == "pads" || name == "strides" || name == "dilations" || name == "auto_pad" ||
          name == "group")
        attributes.Set(name, value);
    }
    if (!product.pads.empty()) {
      attributes.Set("auto_pad", std::string("NOTSET"));
      attributes.Set("pads", product.pads);
      attributes.Set("pad_bit", int64_t{product.pad_bit});
    }
    return attributes;
  }

  Result<std::vector<ir::ValueId>> Inputs(const BinaryProduct& product, Constant results) {
    const int64_t channels = product.is_masked ? product.x_channels : product.channels;
    const Packing packing{!product.is_conv, product.groups, channels};
    ir::ValueId x = ir::kAbsent;
    if (product.is_masked) {
      x = PackPlanes(product.x, packing);
    } else {
      ASSIGN_OR_RETURN(x, BitsOf(product.x, packing));
    }
    return std::vector<ir::ValueId>{x, editor_.AddConstant(Constant::FromTensor(product.words)),
                                    editor_.AddConstant(std::move(results))};
  }

  /// The bits of a two-valued tensor: 1 where it has its upper value.
  Result<ir::ValueId> BitsOf(ir::ValueId id, Packing packing) {
    const auto key = std::pair(id, packing);
    if (const auto it = bits_.find(key); it != bits_.end()) return it->second;
    ASSIGN_OR_RETURN(ir::ValueId bits, BitsOfSums(id, packing));
    if (bits == ir::kAbsent) {
      ASSIGN_OR_RETURN(bits, BitsMoved(id, packing));
    }
    if (bits == ir::kAbsent) bits = Pack(id, packing);
    bits_.emplace(key, bits);
    return bits;
  }

  /// Whether whatever reads `id` takes bits.
  bool IsReadAsBits(ir::ValueId id) const {
    if (editor_.IsOutput(id)) return false;
    const auto& readers = editor_.Readers(id);
    return std::all_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
      const ir::Node& node = editor_.node(reader);
      if (ProductOf(reader) != nullptr) return true;
      if (node.op == "Pad"_op) return IsPaddedByReaders(node);
      return (node.op == "MaxPool"_op || IsFlattening(node)) && IsReadAsBits(node.outputs[0]);
    });
  }

  const BinaryProduct* ProductOf(ir::NodeId id) const {
    return id < static_cast<ir::NodeId>(analysis_nodes_) ? analysis_.ProductOf(id) : nullptr;
  }

  /// Whether convolutions that pad by themselves are all that reads a Pad.
  bool IsPaddedByReaders(const ir::Node& pad) const {
    if (editor_.IsOutput(pad.outputs[0])) return false;
    const auto& readers = editor_.Readers(pad.outputs[0]);
    return std::all_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
      const BinaryProduct* product = ProductOf(reader);
      return product != nullptr && product->x == pad.inputs[0];
    });
  }

  /// By thresholds where the value follows from sums of bits alone; kAbsent elsewhere.
  Result<ir::ValueId> BitsOfSums(ir::ValueId id, Packing packing) {
    const Sums* sums = analysis_.SumsOf(id);
    if (sums == nullptr || sums->is_pooled || sums->chain.empty() || packing.groups != 1 ||
        sums->product->is_conv == packing.is_last || !IsReadAsBits(id))
      return ir::kAbsent;
    const BinaryProduct& product = *sums->product;
    if (product.outputs != packing.channels) return ir::kAbsent;
    for (ir::NodeId link : sums->chain) {
      const ir::ValueId written = editor_.graph().node(link).outputs[0];
      if (written != id && !editor_.HasOneUse(written)) return ir::kAbsent;
    }
    if (product.groups > 1 && product.outputs / product.groups % 8 != 0) return ir::kAbsent;
    std::string why;
    const auto found = FindThresholds(editor_.graph(), product, sums->chain, why);
    if (!found) return ir::kAbsent;
    const ir::NodeId last = sums->chain.back();
    std::vector<double> rows(found->low_sum.begin(), found->low_sum.end());
    rows.insert(rows.end(), found->high_sum.begin(), found->high_sum.end());
    ASSIGN_OR_RETURN(Constant limits, ConstantFrom(DType::kI32, Shape{2, product.outputs}, rows));
    ASSIGN_OR_RETURN(std::vector<ir::ValueId> inputs, Inputs(product, std::move(limits)));
    const ir::Node like = editor_.node(last);
    return editor_.Add(like, OperatorOf(product), std::move(inputs), AttributesOf(product));
  }

  /// A node that drops spatial axes of one pixel, [n, c, 1, 1] to [n, c].
  bool IsFlattening(const ir::Node& node) const {
    if (node.op != "Reshape"_op && node.op != "Flatten"_op && node.op != "Squeeze"_op) return false;
    const ir::Value &x = editor_.value(node.inputs[0]), &y = editor_.value(node.outputs[0]);
    if (!x.has_concrete_shape() || !y.has_concrete_shape() || y.shape->rank() != 2) return false;
    return x.shape->rank() >= 3 && (*x.shape)[1] == (*y.shape)[1] &&
           (*x.shape)[0] == (*y.shape)[0] && x.shape->Count(2, x.shape->rank()) == 1;
  }

  /// Behind a maximum or a reshape of what has bits itself; kAbsent elsewhere.
  Result<ir::ValueId> BitsMoved(ir::ValueId id, Packing packing) {
    const ir::NodeId producer = editor_.ProducerId(id);
    if (producer < 0) return ir::kAbsent;
    const ir::Node node = editor_.node(producer);
    if (node.op == "MaxPool"_op && node.outputs.size() == 1 && !packing.is_last &&
        analysis_.Find(node.inputs[0]) != nullptr) {
      ASSIGN_OR_RETURN(const ir::ValueId x, BitsOf(node.inputs[0], packing));
      return editor_.Add(node, "BinaryMaxPool"_op, {x}, node.attributes);
    }
    if (IsFlattening(node) && packing.is_last && packing.groups == 1 &&
        analysis_.Find(node.inputs[0]) != nullptr) {
      const Shape y =
          *editor_.value(node.outputs[0]).shape;  // a copy: bits become values of the graph
      ASSIGN_OR_RETURN(const ir::ValueId x, BitsOf(node.inputs[0], {false, 1, packing.channels}));
      const ir::ValueId shape = editor_.AddConstant(IntsConstant({y[0], ops::WordsOf(y[1])}));
      return editor_.Add(node, "Reshape"_op, {x, shape});
    }
    return ir::kAbsent;
  }

  /// By comparing numbers: those that the value's own comparison reads, where it has one.
  ir::ValueId Pack(ir::ValueId id, Packing packing) {
    const TwoValued& two = *analysis_.Find(id);
    ir::ValueId x = id;
    ir::Attributes attributes = {{"axis", int64_t{packing.is_last ? -1 : 1}},
                                 {"channels", packing.channels},
                                 {"group", packing.groups},
                                 {"low", two.high()},
                                 {"high", kInfinity}};
    const ir::Node* comparison = editor_.Producer(two.root);
    if (comparison != nullptr && ReadComparison(editor_.graph(), *comparison, attributes)) {
      x = comparison->inputs[0];
      attributes.Set("invert", int64_t{two.result(0) > two.result(1)});
    }
    const ir::Node like = comparison != nullptr ? *comparison : ir::Node();
    return editor_.Add(like, "PackBits"_op, {x}, std::move(attributes));
  }

  /// Where numbers are above 0, and in words behind those of the same group where they are below.
  ir::ValueId PackPlanes(ir::ValueId x, Packing packing) {
    if (const auto it = planes_.find(std::pair(x, packing)); it != planes_.end()) return it->second;
    const ir::Node* producer = editor_.Producer(x);
    const ir::Node like = producer != nullptr ? *producer : ir::Node();
    const auto pack = [&](double low, double high) {
      return editor_.Add(like, "PackBits"_op, {x},
                         {{"axis", int64_t{packing.is_last ? -1 : 1}},
                          {"channels", packing.channels},
                          {"group", packing.groups},
                          {"low", low},
                          {"high", high}});
    };
    const ir::ValueId above = pack(After(0), kInfinity), below = pack(-kInfinity, Before(0));
    const ir::ValueId both =
        packing.groups == 1
            ? Join(like, above, below)
            : JoinGroups(like, above, below, *editor_.value(x).shape, packing.groups);
    planes_.emplace(std::pair(x, packing), both);
    return both;
  }

  ir::ValueId Join(const ir::Node& like, ir::ValueId a, ir::ValueId b) {
    return editor_.Add(like, "Concat"_op, {a, b}, {{"axis", int64_t{-1}}});
  }

  /// Bits of images of shape `x`: each group's words of `b` behind its words of `a`.
  ir::ValueId JoinGroups(const ir::Node& like, ir::ValueId a, ir::ValueId b, const Shape& x,
                         int64_t groups) {
    const int64_t words = ops::WordsOf(x[1] / groups);
    std::vector<int64_t> joined = x.dims();
    joined.erase(joined.begin() + 1);
    std::vector<int64_t> apart = joined;
    joined.push_back(groups * words * 2);
    apart.push_back(groups);
    apart.push_back(words);
    const auto shaped = [&](ir::ValueId id, const std::vector<int64_t>& dims) {
      return editor_.Add(like, "Reshape"_op, {id, editor_.AddConstant(IntsConstant(dims))});
    };
    return shaped(Join(like, shaped(a, apart), shaped(b, apart)), joined);
  }

  Editor& editor_;
  TwoValuedAnalysis analysis_;
  size_t analysis_nodes_ = editor_.graph().nodes().size();
  std::map<std::pair<ir::ValueId, Packing>, ir::ValueId> bits_, planes_;
};

}  // namespace

Result<bool> Binarise(ir::Graph& graph) {
  ASSIGN_OR_RETURN(const bool split, SplitTransposed(graph));
  if (!HasOp(graph, {"Conv"_op, "MatMul"_op, "Gemm"_op})) return split;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  Binariser binariser(editor);
  if (!binariser.HasWork(end)) return split;
  for (ir::NodeId id = 0; id < end; ++id) RETURN_IF_ERROR(binariser.Visit(id));
  ASSIGN_OR_RETURN(const bool changed, editor.Finish());
  return changed || split;
}

Result<std::set<int>> ProductsOfBits(ir::Graph graph) {
  std::set<int> nodes;
  if (!HasOp(graph, {"Conv"_op, "MatMul"_op, "Gemm"_op})) return nodes;
  RETURN_IF_ERROR(SweepAll(graph, {}).status());
  const TwoValuedAnalysis analysis(graph);
  for (ir::NodeId id : graph.nodes().ids())
    if (analysis.ProductOf(id) != nullptr) nodes.insert(graph.node(id).source_index);
  return nodes;
}

}  // namespace fettle::passes
