#include "runtime/control_flow.h"

#include <algorithm>
#include <cstring>

#include "base/memory_budget.h"
#include "ops/op.h"
#include "runtime/loop_times.h"

namespace fettle::runtime {
namespace {

/// Loops longer than this are hostile or broken, not slow.
constexpr int64_t kMaxIterations = int64_t{1} << 32;

std::unique_ptr<GraphRunner> MakeRunner(const ir::Node& node, std::string_view attribute,
                                        Context& context) {
  return std::make_unique<GraphRunner>(node.attributes.SubGraph(attribute), context);
}

/// Collects equal slices of a result along a new or existing axis.
class Stack {
 public:
  Stack(int64_t axis, bool reverse) : axis_(axis), reverse_(reverse) {}
  void Add(Tensor slice) { slices_.push_back(std::move(slice)); }

  /// Slices of shape S become one tensor with their count inserted at the axis. `empty` gives type
  /// and slice shape where there is no slice.
  Result<Tensor> Join(DType empty_dtype, const Shape& empty_slice) {
    if (reverse_) std::reverse(slices_.begin(), slices_.end());
    const Shape slice = slices_.empty() ? empty_slice : slices_[0].shape();
    const auto axis = NormaliseAxis(axis_, slice.rank() + 1);
    if (!axis) return InvalidModel("scan output axis {} is out of range", axis_);
    Dims dims = slice.dims();
    dims.insert(dims.begin() + *axis, static_cast<int64_t>(slices_.size()));
    ASSIGN_OR_RETURN(
        Tensor joined,
        Tensor::Create(slices_.empty() ? empty_dtype : slices_[0].dtype(), Shape(dims)));
    const size_t inner = StorageBytes(joined.dtype(), slice.Count(*axis, slice.rank()));
    const size_t outer = slice.Count(0, *axis);
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (slices_[i].shape() != slice)
        return InvalidModel("scan outputs change their shape between iterations");
      for (size_t o = 0; o < outer; ++o) {
        std::memcpy(joined.data() + (o * slices_.size() + i) * inner, slices_[i].data() + o * inner,
                    inner);
      }
    }
    return joined;
  }

 private:
  int64_t axis_;
  bool reverse_;
  std::vector<Tensor> slices_;
};

/// Slice `index` of `tensor` along `axis`, without that axis.
Result<Tensor> TakeSlice(const Tensor& tensor, int axis, int64_t index) {
  Dims dims = tensor.shape().dims();
  const int64_t count = dims[axis];
  dims.erase(dims.begin() + axis);
  ASSIGN_OR_RETURN(Tensor slice, Tensor::Create(tensor.dtype(), Shape(dims)));
  const int64_t inner =
      StorageBytes(tensor.dtype(), tensor.shape().Count(axis + 1, tensor.shape().rank()));
  const int64_t outer = tensor.shape().Count(0, axis);
  for (int64_t o = 0; o < outer; ++o) {
    std::memcpy(slice.data() + o * inner, tensor.data() + (o * count + index) * inner, inner);
  }
  return slice;
}

struct Slice {
  DType dtype = DType::kF32;
  Shape shape;
};

/// Types and shapes of the body's outputs from `first` on for the case that it never runs: what the
/// model declares, unknown extents as 0. Where it declares none, one run on `operands` tells; where
/// that fails too, scalars of f32.
std::vector<Slice> EmptySlices(const ir::Graph& body, size_t first, GraphRunner& runner,
                               std::span<const Tensor> operands) {
  std::vector<Slice> slices;
  bool declared = true;
  for (size_t i = first; i < body.outputs.size(); ++i) {
    const ir::Value& value = body.value(body.outputs[i]);
    declared = declared && value.dtype != DType::kUndefined && value.shape.has_value();
    Slice slice{value.dtype == DType::kUndefined ? DType::kF32 : value.dtype,
                value.shape.value_or(Shape{})};
    for (int axis = 0; axis < slice.shape.rank(); ++axis)
      slice.shape[axis] = std::max<int64_t>(slice.shape[axis], 0);
    slices.push_back(std::move(slice));
  }
  if (declared) return slices;
  const Result<std::vector<Tensor>> results = runner.Run(operands);
  for (size_t i = 0; results.ok() && i < slices.size(); ++i)
    slices[i] = {(*results)[first + i].dtype(), (*results)[first + i].shape()};
  return slices;
}

/// What `stacks` collected, one tensor each; `empty` says of what where there was nothing.
Status JoinAll(std::vector<Stack>& stacks, const std::vector<Slice>& empty,
               std::vector<Tensor>* outputs) {
  for (size_t k = 0; k < stacks.size(); ++k) {
    const Slice slice = k < empty.size() ? empty[k] : Slice();
    ASSIGN_OR_RETURN(Tensor joined, stacks[k].Join(slice.dtype, slice.shape));
    outputs->push_back(std::move(joined));
  }
  return OkStatus();
}

/// Counts the time and bounds the memory of all iterations.
struct Looping {
  explicit Looping(Context& context) : times(context.times), memory(MemoryBudget::ForLoop()) {}
  LoopTimes times;
  MemoryScope memory;
};

class If final : public ControlNode {
 public:
  If(const ir::Node& node, Context& context)
      : then_(MakeRunner(node, "then_branch", context)),
        else_(MakeRunner(node, "else_branch", context)) {}

  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) override {
    if (inputs[0].elements() != 1) return InvalidModel("the condition must be one element");
    GraphRunner& branch = inputs[0].view().GetInt(0) != 0 ? *then_ : *else_;
    return branch.Run(inputs.subspan(1));
  }

 private:
  std::unique_ptr<GraphRunner> then_, else_;
};

/// Whether a condition that was true once stays so: the body gives back what it took, or a number.
bool StaysTrue(const ir::Graph& body) {
  const auto producers = body.Producers();
  ir::ValueId id = body.outputs[0];
  while (producers[id] != -1 && body.node(producers[id]).op == "Identity"_op)
    id = body.node(producers[id]).inputs[0];
  const ir::Value& value = body.value(id);
  if (value.is_constant() && value.constant->elements() == 1) return value.constant->GetInt(0) != 0;
  return id == body.inputs[1];
}

class Loop final : public ControlNode {
 public:
  Loop(const ir::Node& node, Context& context)
      : body_(node.attributes.SubGraph("body")),
        runner_(MakeRunner(node, "body", context)),
        captures_(node.attributes.Int("captures")),
        stays_true_(StaysTrue(*body_)),
        context_(context) {}

  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) override {
    const size_t carried = inputs.size() - 2 - captures_;
    const size_t scans = body_->outputs.size() - 1 - carried;
    const int64_t trips = inputs[0].empty() ? kMaxIterations : inputs[0].view().GetInt(0);
    bool condition = inputs[1].empty() || inputs[1].view().GetInt(0) != 0;
    if (inputs[0].empty() && condition && stays_true_)
      return InvalidModel(
          "has no number of iterations, and its condition stays true: it never ends");

    std::vector<Tensor> operands(2);
    operands.insert(operands.end(), inputs.begin() + 2, inputs.end());
    ASSIGN_OR_RETURN(operands[1], Tensor::Create(DType::kBool, Shape{}));
    std::vector<Stack> stacks(scans, Stack(0, false));
    Looping looping(context_);
    int64_t i = 0;
    for (; i < trips && condition; ++i) {
      if (i == kMaxIterations - 1) return InvalidModel("the loop does not end");
      if (context_.cancelled) return Error(StatusCode::kCancelled, "cancelled");
      ASSIGN_OR_RETURN(operands[0], Tensor::Create(DType::kI64, Shape{}));
      operands[0].view().SetInt(0, i);
      operands[1].view().SetInt(0, condition ? 1 : 0);
      ASSIGN_OR_RETURN(std::vector<Tensor> results, runner_->Run(operands));
      looping.times.EndIteration();
      condition = results[0].view().GetInt(0) != 0;
      for (size_t k = 0; k < carried; ++k) operands[2 + k] = results[1 + k];
      for (size_t k = 0; k < scans; ++k) stacks[k].Add(results[1 + carried + k]);
    }
    std::vector<Tensor> outputs(operands.begin() + 2,
                                operands.begin() + 2 + static_cast<ptrdiff_t>(carried));
    std::vector<Slice> empty;
    if (i == 0 && scans > 0) {
      ASSIGN_OR_RETURN(operands[0], Tensor::Create(DType::kI64, Shape{}));
      empty = EmptySlices(*body_, 1 + carried, *runner_, operands);
    }
    RETURN_IF_ERROR(JoinAll(stacks, empty, &outputs));
    return outputs;
  }

 private:
  std::shared_ptr<const ir::Graph> body_;
  std::unique_ptr<GraphRunner> runner_;
  size_t captures_;
  bool stays_true_;
  Context& context_;
};

class Scan final : public ControlNode {
 public:
  Scan(const ir::Node& node, Context& context)
      : node_(node),
        body_(node.attributes.SubGraph("body")),
        runner_(MakeRunner(node, "body", context)),
        captures_(node.attributes.Int("captures")),
        scans_(node.attributes.Int("num_scan_inputs")),
        context_(context) {}

  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) override {
    const size_t states = inputs.size() - captures_ - scans_;
    const size_t scan_outputs = body_->outputs.size() - states;
    ASSIGN_OR_RETURN(const int64_t length, Length(inputs.subspan(states, scans_)));
    std::vector<Stack> stacks;
    for (size_t k = 0; k < scan_outputs; ++k) {
      stacks.emplace_back(Entry("scan_output_axes", k), Entry("scan_output_directions", k) != 0);
    }
    std::vector<Tensor> operands(inputs.begin(), inputs.end());
    Looping looping(context_);
    for (int64_t i = 0; i < length; ++i) {
      if (context_.cancelled) return Error(StatusCode::kCancelled, "cancelled");
      for (size_t k = 0; k < scans_; ++k) {
        const int axis =
            *NormaliseAxis(Entry("scan_input_axes", k), inputs[states + k].shape().rank());
        const bool reverse = Entry("scan_input_directions", k) != 0;
        ASSIGN_OR_RETURN(operands[states + k],
                         TakeSlice(inputs[states + k], axis, reverse ? length - 1 - i : i));
      }
      ASSIGN_OR_RETURN(std::vector<Tensor> results, runner_->Run(operands));
      looping.times.EndIteration();
      for (size_t k = 0; k < states; ++k) operands[k] = results[k];
      for (size_t k = 0; k < scan_outputs; ++k) stacks[k].Add(results[states + k]);
    }
    std::vector<Tensor> outputs(operands.begin(),
                                operands.begin() + static_cast<ptrdiff_t>(states));
    std::vector<Slice> empty;
    if (length == 0 && scan_outputs > 0) {
      for (size_t k = 0; k < scans_; ++k) {
        const Tensor& scanned = inputs[states + k];
        Dims dims = scanned.shape().dims();
        dims.erase(dims.begin() +
                   *NormaliseAxis(Entry("scan_input_axes", k), scanned.shape().rank()));
        ASSIGN_OR_RETURN(operands[states + k], Tensor::Create(scanned.dtype(), Shape(dims)));
      }
      empty = EmptySlices(*body_, states, *runner_, operands);
    }
    RETURN_IF_ERROR(JoinAll(stacks, empty, &outputs));
    return outputs;
  }

 private:
  int64_t Entry(std::string_view attribute, size_t index) const {
    const std::vector<int64_t> values = node_.attributes.Ints(attribute);
    return index < values.size() ? values[index] : 0;
  }

  Result<int64_t> Length(std::span<const Tensor> scanned) const {
    int64_t length = -1;
    for (size_t k = 0; k < scanned.size(); ++k) {
      const auto axis = NormaliseAxis(Entry("scan_input_axes", k), scanned[k].shape().rank());
      if (!axis)
        return InvalidModel("scan input {} has no axis {}", k, Entry("scan_input_axes", k));
      const int64_t extent = scanned[k].shape()[*axis];
      if (length >= 0 && extent != length)
        return InvalidModel("scan inputs differ in length: {} and {}", length, extent);
      length = extent;
    }
    return std::max<int64_t>(length, 0);
  }

  ir::Node node_;
  std::shared_ptr<const ir::Graph> body_;
  std::unique_ptr<GraphRunner> runner_;
  size_t captures_, scans_;
  Context& context_;
};

Status CheckBody(const ir::Node& node, std::string_view attribute, size_t inputs) {
  const auto body = node.attributes.SubGraph(attribute);
  if (body == nullptr) return InvalidModel("attribute '{}' is missing", attribute);
  if (body->inputs.size() != inputs) {
    return InvalidModel("attribute '{}': its graph has {} inputs, expected {}", attribute,
                        body->inputs.size(), inputs);
  }
  return OkStatus();
}

Status CheckArity(const ir::Node& node) {
  const size_t inputs = node.inputs.size();
  const size_t captures = node.attributes.Int("captures");
  if (node.op == "If"_op) {
    if (inputs < 1) return InvalidModel("the condition is missing");
    RETURN_IF_ERROR(CheckBody(node, "then_branch", inputs - 1));
    return CheckBody(node, "else_branch", inputs - 1);
  }
  RETURN_IF_ERROR(CheckBody(node, "body", inputs));
  const size_t results = node.attributes.SubGraph("body")->outputs.size();
  const size_t scans = std::max<int64_t>(node.attributes.Int("num_scan_inputs"), 0);
  const size_t fixed = node.op == "Loop"_op ? 2 : scans;
  if (inputs < fixed + captures ||
      results < inputs - fixed - captures + (node.op == "Loop"_op ? 1 : 0)) {
    return InvalidModel("its body has {} outputs for {} inputs", results, inputs);
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<ControlNode>> ControlNode::Create(const ir::Node& node, Context& context) {
  const Status status = CheckArity(node);
  if (!status.ok()) return status.WithContext(ir::Describe(node));
  if (node.op == "If"_op) return std::unique_ptr<ControlNode>(new If(node, context));
  if (node.op == "Loop"_op) return std::unique_ptr<ControlNode>(new Loop(node, context));
  if (node.op == "Scan"_op) return std::unique_ptr<ControlNode>(new Scan(node, context));
  return Unsupported("{}: control operator without an executor", ir::Describe(node));
}

}  // namespace fettle::runtime
