#include "kernels/cost_text.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/problem_text.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Contents that are not printed.
class LeftOut final : public ConstantSource {
 public:
  void CopyTo(int64_t, int64_t, std::byte*) const override {}
  uint64_t Hash() const override { return 0; }
  std::span<const std::byte> raw_bytes() const override { return {}; }
};

Constant Splat(const Constant& constant, double value) {
  const Result<Tensor> element = Tensor::Create(constant.dtype(), Shape{});
  if (!element.ok()) return constant;
  element->view().SetDouble(0, value);
  return Constant::Splat(constant.dtype(), constant.shape(), element->bytes());
}

/// 0 or 128 where all elements are, else 1.
double ZeroPointClass(const Constant& constant) {
  const int64_t first = constant.GetInt(0);
  if (first != 0 && first != 128) return 1;
  for (int64_t i = 1; i < constant.elements(); ++i)
    if (constant.GetInt(i) != first) return 1;
  return static_cast<double>(first);
}

/// What is printed for a constant that `node` reads; nothing where its contents matter.
std::optional<Constant> Representative(const ir::Node& node, size_t input,
                                       const Constant& constant) {
  constexpr double kScale = 0.02;
  if (constant.elements() == 0 || node.op->ReadsOnHost(input)) return std::nullopt;
  const bool quantisation = node.op->Has(ir::Trait::kQuantises);
  if (IsFloat(constant.dtype())) {
    if (quantisation) return Splat(constant, kScale);
    if (constant.elements() == 1) return std::nullopt;
  } else if (!quantisation) {
    return std::nullopt;
  } else if (constant.shape().rank() <= 1 && RowOf(constant.dtype()).bits <= 8) {
    return Splat(constant, ZeroPointClass(constant));
  }
  return Constant::Generated(constant.dtype(), constant.shape(), std::make_shared<LeftOut>());
}

}  // namespace

std::string PrintCosts(const ir::Graph& group) {
  ir::Graph copy = group;
  // Each reader gets a constant of its own: whether two happened to be equal changes nothing.
  for (size_t n = 0; n < group.nodes().size(); ++n) {
    const ir::Node& node = group.nodes()[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId id = node.inputs[i];
      if (id == ir::kAbsent || !group.value(id).is_constant()) continue;
      const std::optional<Constant> representative =
          Representative(node, i, *group.value(id).constant);
      if (!representative) continue;
      copy.node(static_cast<ir::NodeId>(n)).inputs[i] = copy.AddConstant("", *representative);
    }
  }
  // What has no reader left is not printed.
  const std::vector<std::vector<ir::NodeId>> readers = copy.Consumers();
  for (size_t id = 0; id < readers.size(); ++id) {
    const bool is_output = std::find(copy.outputs.begin(), copy.outputs.end(),
                                     static_cast<ir::ValueId>(id)) != copy.outputs.end();
    if (readers[id].empty() && !is_output)
      copy.value(static_cast<ir::ValueId>(id)).constant = nullptr;
  }
  return PrintGroup(copy);
}

}  // namespace fettle::kernels
