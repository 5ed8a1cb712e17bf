#include "tuner/measure/oracle.h"

#include <algorithm>
#include <mutex>
#include <random>

#include "base/subnormals.h"
#include "tuner/measure/oracle_cost.h"

namespace fettle::tuner {
namespace {

bool IsPointwise(const ir::OpDesc& op) {
  return op.Has(ir::Trait::kElementwise) || op.Has(ir::Trait::kPointwise);
}

/// Which elements of each value have to be computed.
class Demand {
 public:
  Demand(const ir::Graph& group, std::span<const Elements> wanted)
      : group_(group), elements_(group.values().size()), asked_(group.values().size(), false) {
    for (size_t o = 0; o < group.outputs.size(); ++o) Ask(group.outputs[o], wanted[o]);
    for (size_t n = group.nodes().size(); n-- > 0;) AskInputs(group.nodes()[n]);
  }

  const Elements& of(ir::ValueId id) const { return elements_[id]; }
  /// One per value.
  const std::vector<Elements>& elements() const { return elements_; }

 private:
  const Shape& ShapeOf(ir::ValueId id) const { return *group_.value(id).shape; }

  void Ask(ir::ValueId id, const Elements& elements) {
    const size_t at = id;
    const bool same = asked_[at] && CountElements(elements_[at]) == CountElements(elements);
    // Two different demands are met by all elements: rare, and always right.
    elements_[at] = asked_[at] && !same ? AllElements(ShapeOf(id)) : elements;
    asked_[at] = true;
  }

  void AskInputs(const ir::Node& node) {
    const ir::OpDesc& op = *node.op;
    const ir::ValueId output = node.output(0);
    const bool whole =
        op.Has(ir::Trait::kWholeOutput) || node.outputs.size() != 1 || output == ir::kAbsent;
    for (ir::ValueId id : node.inputs) {
      if (id == ir::kAbsent || group_.value(id).is_constant()) continue;
      const bool pointwise = !whole && IsPointwise(op) && ShapeOf(id) == ShapeOf(output);
      Ask(id, pointwise ? of(output) : AllElements(ShapeOf(id)));
    }
  }

  const ir::Graph& group_;
  std::vector<Elements> elements_;
  std::vector<bool> asked_;
};

/// Elements of one call of a reference: as many as outweigh what the call itself costs.
int64_t LongestPiece(const ReferenceCost& cost) {
  constexpr double kLeast = 1024;
  return static_cast<int64_t>(std::max(kLeast, cost.region / cost.element));
}

/// Cuts long ranges, so that they can be shared out.
Elements Split(const Elements& elements, int64_t longest) {
  Elements pieces;
  for (const ops::Region& range : elements) {
    for (int64_t begin = range.begin; begin < range.end; begin += longest)
      pieces.push_back({begin, std::min(begin + longest, range.end)});
  }
  return pieces;
}

Status RunNode(const ops::Operator& op, const ops::RefContext& context, const Elements& elements,
               int64_t longest, ThreadPool& pool) {
  if (op.Has(ir::Trait::kWholeOutput) || context.outputs.size() != 1) {
    const HostView& first = context.outputs[0];
    return op.reference(context, {0, first.data == nullptr ? 0 : first.shape.elements()});
  }
  const Elements pieces = Split(elements, longest);
  std::mutex mutex;
  Status failure;
  pool.ParallelFor(static_cast<int64_t>(pieces.size()), pool.threads(), [&](int64_t i, int) {
    const Status status = op.reference(context, pieces[i]);
    if (status.ok()) return;
    std::lock_guard lock(mutex);
    failure = status;
  });
  return failure;
}

/// The first and the last index of each axis with those of the others, for up to ten axes.
std::vector<int64_t> Corners(const Shape& shape) {
  const Dims strides = RowMajorStrides(shape);
  const int axes = std::min(shape.rank(), 10);
  std::vector<int64_t> indices;
  for (int corner = 0; corner < 1 << axes; ++corner) {
    int64_t index = 0;
    for (int axis = 0; axis < axes; ++axis) {
      if ((corner >> axis & 1) != 0) index += (shape[axis] - 1) * strides[axis];
    }
    indices.push_back(index);
  }
  return indices;
}

/// An element of which each axis is, `edges` times of 8, at a border or at the last whole block.
int64_t DrawElement(const Shape& shape, int64_t edges, std::mt19937_64& random) {
  const auto draw = [&](int64_t extent) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(extent));
  };
  const Dims strides = RowMajorStrides(shape);
  int64_t index = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t extent = shape[axis];
    const int64_t block = int64_t{4} << draw(5);
    const int64_t last_block = extent / block * block;
    const int64_t places[] = {0, extent - 1, last_block - 1, last_block, 1, extent - 2};
    int64_t at = draw(8) < edges ? places[draw(6)] : draw(extent);
    if (at < 0 || at >= extent) at = draw(extent);
    index += at * strides[axis];
  }
  return index;
}

}  // namespace

Elements AllElements(const Shape& shape) {
  if (shape.elements() == 0) return {};
  return {{0, shape.elements()}};
}

int64_t CountElements(const Elements& elements) {
  int64_t count = 0;
  for (const ops::Region& range : elements) count += range.end - range.begin;
  return count;
}

Elements SampleElements(const Shape& shape, int64_t count, uint64_t seed, int64_t run) {
  if (shape.elements() <= count + count / 4) return AllElements(shape);
  const int64_t starts = (count + run - 1) / run;
  std::vector<int64_t> indices = Corners(shape);
  if (run > 1 && starts < std::ssize(indices)) indices = {0, shape.elements() - run};
  std::mt19937_64 random(seed);
  int64_t drawn = 0;
  for (;;) {
    // Corners of an axis of one element are one.
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    const int64_t missing = starts - std::ssize(indices);
    if (missing <= 0) break;
    // A quarter on edges of all axes, a quarter on edges of half of them, the rest anywhere. Edges
    // run out, so the count goes on from round to round.
    for (int64_t i = 0; i < missing; ++i, ++drawn)
      indices.push_back(DrawElement(shape, drawn % 4 == 0 ? 8 : drawn % 4 == 1 ? 4 : 0, random));
  }
  Elements elements;
  for (int64_t index : indices) {
    const int64_t end = std::min(index + run, shape.elements());
    if (!elements.empty() && elements.back().end >= index) {
      elements.back().end = end;
    } else {
      elements.push_back({index, end});
    }
  }
  return elements;
}

Status CheckInputs(const ir::Graph& group) {
  for (const ir::Node& node : group.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->ReadsOnHost(i) && node.inputs[i] != ir::kAbsent &&
          !group.value(node.inputs[i]).is_constant())
        return Unsupported("{}: input {} is known at run time only", ir::Describe(node), i);
    }
  }
  return OkStatus();
}

Oracle::Oracle(std::shared_ptr<const ir::Graph> group, ThreadPool& pool)
    : group_(std::move(group)), pool_(&pool), constants_(group_->values().size()) {}

Result<Oracle> Oracle::Make(std::shared_ptr<const ir::Graph> group, ThreadPool& pool) {
  for (const ir::Node& node : group->nodes()) {
    if (ops::OperatorOf(node).reference == nullptr)
      return Unsupported("{}: has no reference", ir::Describe(node));
    if (node.op->Has(ir::Trait::kRandom))
      return Unsupported("{}: differs from run to run", ir::Describe(node));
  }
  Oracle oracle(std::move(group), pool);
  std::vector<Elements> all;
  for (size_t i = 0; i < oracle.constants_.size(); ++i) {
    const ir::Value& value = oracle.group_->values()[i];
    all.push_back(AllElements(*value.shape));
    if (value.is_constant()) {
      ASSIGN_OR_RETURN(oracle.constants_[i], value.constant->ToTensor());
    }
  }
  RETURN_IF_ERROR(oracle.RunNodes(all, /*constants_only=*/true, oracle.constants_));
  return oracle;
}

Result<std::vector<Tensor>> Oracle::Run(std::span<const Tensor> inputs,
                                        std::span<const Elements> wanted) const {
  std::vector<Tensor> values = constants_;
  for (size_t i = 0; i < inputs.size(); ++i) values[group_->inputs[i]] = inputs[i];
  const Demand demand(*group_, wanted);
  RETURN_IF_ERROR(RunNodes(demand.elements(), /*constants_only=*/false, values));
  std::vector<Tensor> outputs;
  for (ir::ValueId id : group_->outputs) outputs.push_back(values[id]);
  return outputs;
}

double Oracle::StepsFor(std::span<const Elements> wanted) const {
  const Demand demand(*group_, wanted);
  double steps = 0;
  for (const ir::Node& node : group_->nodes()) {
    const ir::ValueId output = node.output(0);
    if (output == ir::kAbsent || !constants_[output].empty()) continue;
    const ReferenceCost cost = CostOfReference(*group_, node);
    const bool whole = node.op->Has(ir::Trait::kWholeOutput) || node.outputs.size() != 1;
    const Elements& asked = demand.of(output);
    const int64_t elements = whole ? group_->value(output).shape->elements() : CountElements(asked);
    const int64_t regions = std::max(std::ssize(asked), elements / LongestPiece(cost));
    steps += cost.element * static_cast<double>(elements) +
             cost.region * static_cast<double>(whole ? 1 : regions);
  }
  return steps;
}

Status Oracle::RunNodes(std::span<const Elements> elements, bool constants_only,
                        std::vector<Tensor>& values) const {
  const SubnormalScope scope(Subnormals::kKeep);
  const auto is_there = [&](ir::ValueId id) { return id == ir::kAbsent || !values[id].empty(); };
  const auto view = [&](ir::ValueId id) {
    return id == ir::kAbsent ? HostView() : values[id].view();
  };
  for (const ir::Node& node : group_->nodes()) {
    if (std::all_of(node.outputs.begin(), node.outputs.end(), is_there)) continue;
    if (constants_only && !std::all_of(node.inputs.begin(), node.inputs.end(), is_there)) continue;
    std::vector<HostView> input_views, output_views;
    for (ir::ValueId id : node.inputs) input_views.push_back(view(id));
    for (ir::ValueId id : node.outputs) {
      if (id != ir::kAbsent) {
        ASSIGN_OR_RETURN(values[id],
                         Tensor::Create(group_->value(id).dtype, *group_->value(id).shape));
      }
      output_views.push_back(view(id));
    }
    const ir::ValueId first = node.output(0);
    const Elements wanted = first == ir::kAbsent ? Elements() : elements[first];
    const Status status = RunNode(ops::OperatorOf(node), {node, input_views, output_views}, wanted,
                                  LongestPiece(CostOfReference(*group_, node)), *pool_);
    if (!status.ok()) return status.WithContext(ir::Describe(node));
  }
  return OkStatus();
}

}  // namespace fettle::tuner
