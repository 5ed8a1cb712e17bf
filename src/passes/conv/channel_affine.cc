#include "passes/conv/channel_affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "ops/op.h"
#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

/// Smaller results are stored rather than computed again.
constexpr int64_t kSmallBytes = 4096;

/// Rows of a constant times the scale of their channel, rounded once.
class ScaledRows final : public ConstantSource {
 public:
  ScaledRows(Constant base, int64_t inner, std::function<int64_t(int64_t)> channel,
             std::vector<double> scale)
      : base_(std::move(base)),
        inner_(inner),
        channel_(std::move(channel)),
        scale_(std::move(scale)) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    base_.CopyTo(begin, count, out);
    DispatchDType(base_.dtype(), [&]<typename T>() {
      if constexpr (kIsFloating<T>) Scale<T>(begin, count, out);
    });
  }
  uint64_t Hash() const override {
    return HashBytes(std::as_bytes(std::span<const double>(scale_)),
                     base_.Hash() + static_cast<uint64_t>(inner_));
  }
  std::span<const std::byte> raw_bytes() const override { return base_.raw_bytes(); }

  bool IsFinite() const {
    constexpr int64_t kChunk = 4096;
    const int64_t elements = base_.elements();
    std::vector<std::byte> chunk(StorageBytes(base_.dtype(), kChunk));
    for (int64_t begin = 0; begin < elements; begin += kChunk) {
      const int64_t count = std::min(kChunk, elements - begin);
      CopyTo(begin, count, chunk.data());
      const HostView view{chunk.data(), base_.dtype(), Shape{count}, {1}};
      for (int64_t i = 0; i < count; ++i) {
        if (!std::isfinite(view.GetDouble(i))) return false;
      }
    }
    return true;
  }

 private:
  template <typename T>
  void Scale(int64_t begin, int64_t count, std::byte* out) const {
    int64_t row = begin / inner_, left = inner_ - begin % inner_;
    for (int64_t i = 0; i < count; left = inner_, ++row) {
      const double factor = scale_[channel_(row)];
      for (const int64_t end = std::min(count, i + left); i < end; ++i) {
        // The caller's bytes may not be aligned.
        T element;
        std::memcpy(&element, out + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
        element = Narrow<T>(Widen(element) * factor);
        std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &element, sizeof(T));
      }
    }
  }

  Constant base_;
  int64_t inner_;
  std::function<int64_t(int64_t)> channel_;
  std::vector<double> scale_;
};

/// The constant `id` as one value per channel, or nothing where it varies otherwise.
std::optional<std::vector<double>> PerChannel(const ir::Graph& graph, ir::ValueId id,
                                              const ChannelAxis& axis) {
  const Constant* constant = ConstantOf(graph, id);
  if (constant == nullptr || !IsFloat(constant->dtype())) return std::nullopt;
  const Shape& shape = constant->shape();
  // Where the rank is not known, more than the channel axis and what is behind it might add axes.
  const int most = axis.rank >= 0 ? axis.rank : axis.from_right + 1;
  if (shape.rank() > most) return std::nullopt;
  const int at = shape.rank() - 1 - axis.from_right;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 && (i != at || shape[i] != axis.channels)) return std::nullopt;
  }
  std::vector<double> values = DoublesOf(*constant);
  if (values.size() == 1) values.assign(axis.channels, values[0]);
  if (static_cast<int64_t>(values.size()) != axis.channels) return std::nullopt;
  return values;
}

bool ComposeBatchNorm(const ir::Graph& graph, const ir::Node& node, const ChannelAxis& axis,
                      ChannelAffine& affine) {
  if (axis.rank < 2 || axis.from_right != axis.rank - 2 || node.inputs.size() != 5 ||
      node.attributes.Int("training_mode", 0) != 0) {
    return false;
  }
  std::vector<double> parameters[4];
  for (size_t i = 0; i < 4; ++i) {
    const Constant* constant = ConstantOf(graph, node.inputs[i + 1]);
    if (constant == nullptr || constant->shape() != Shape{axis.channels}) return false;
    parameters[i] = DoublesOf(*constant);
  }
  const auto& [scale, bias, mean, variance] = parameters;
  const double epsilon = node.attributes.Float("epsilon", 1e-5);
  for (size_t c = 0; c < scale.size(); ++c) {
    if (!(variance[c] + epsilon > 0)) return false;
  }
  for (size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
    affine.scale[c] *= factor;
    affine.shift[c] = (affine.shift[c] - mean[c]) * factor + bias[c];
  }
  return true;
}

}  // namespace

bool ChannelAffine::OnlyShifts() const {
  return std::all_of(scale.begin(), scale.end(), [](double s) { return s == 1; });
}

bool Compose(const ir::Graph& graph, const ir::Node& node, ir::ValueId x, const ChannelAxis& axis,
             ChannelAffine& affine) {
  if (node.outputs.size() != 1 || node.inputs.size() < 2) return false;
  if (node.op == "BatchNormalization"_op) {
    return node.inputs[0] == x && ComposeBatchNorm(graph, node, axis, affine);
  }
  if (node.op != "Mul"_op && node.op != "Add"_op && node.op != "Sub"_op) return false;
  const bool first = node.inputs[0] == x;
  const auto values = PerChannel(graph, node.inputs[first ? 1 : 0], axis);
  if (!values) return false;
  for (size_t c = 0; c < values->size(); ++c) {
    const double v = (*values)[c];
    if (node.op == "Mul"_op) {
      affine.scale[c] *= v;
      affine.shift[c] *= v;
    } else if (node.op == "Add"_op) {
      affine.shift[c] += v;
    } else {
      affine.scale[c] *= first ? 1 : -1;
      affine.shift[c] = first ? affine.shift[c] - v : v - affine.shift[c];
    }
  }
  return true;
}

std::optional<Constant> ScaleRows(const Constant& constant, int64_t inner,
                                  const std::function<int64_t(int64_t)>& channel,
                                  const std::vector<double>& scale) {
  if (!IsFloat(constant.dtype()) || inner < 1 || scale.empty()) return std::nullopt;
  const bool uniform =
      std::all_of(scale.begin(), scale.end(), [&](double s) { return s == scale[0]; });
  if (constant.is_splat() && uniform) {
    const Result<Constant> one =
        ConstantFrom(constant.dtype(), Shape{1}, {constant.GetDouble(0) * scale[0]});
    if (!one.ok() || !std::isfinite(one->GetDouble(0))) return std::nullopt;
    return Constant::Splat(constant.dtype(), constant.shape(), one->bytes());
  }
  const auto source = std::make_shared<const ScaledRows>(constant, inner, channel, scale);
  if (!source->IsFinite()) return std::nullopt;
  Constant scaled = Constant::Generated(constant.dtype(), constant.shape(), source);
  if (StorageBytes(constant.dtype(), constant.elements()) > kSmallBytes) return scaled;
  const Result<Tensor> tensor = scaled.ToTensor();
  if (!tensor.ok()) return std::nullopt;
  return Constant::FromTensor(*tensor);
}

}  // namespace fettle::passes
