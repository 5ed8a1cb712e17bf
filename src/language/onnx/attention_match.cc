#include "language/onnx/attention_match.h"

#include <algorithm>
#include <cmath>

#include "ops/op.h"

namespace fettle::language {
namespace {

/// What masks add at least to hide a key.
constexpr double kHides = -5000;

/// Whole numbers that halves hold, all others alike.
Result<Tensor> Numbers(DType dtype, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  uint32_t state = 12345;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 1664525 + 1013904223;
    tensor.view().SetDouble(i, static_cast<double>((state >> 16) % 255) - 127);
  }
  return tensor;
}

bool IsClose(double a, double b, DType dtype) {
  const double most = dtype == DType::kF32 ? 1e-5 : 2e-2;
  return std::abs(a - b) <= most * (1e-3 + std::max(std::abs(a), std::abs(b)));
}

/// Where elements of a cache lie in what is read of it.
class ReadForm {
 public:
  enum class Order {
    kRows,     // [1, heads, keys, size]
    kColumns,  // [1, heads, size, keys]
    kJoined,   // [1, keys, heads * size]
  };
  ReadForm(Order order, int64_t heads, int64_t keys, int64_t size)
      : order_(order), heads_(heads), keys_(keys), size_(size) {}

  Shape shape() const {
    if (order_ == Order::kRows) return Shape{1, heads_, keys_, size_};
    if (order_ == Order::kColumns) return Shape{1, heads_, size_, keys_};
    return Shape{1, keys_, heads_ * size_};
  }
  int64_t At(int64_t head, int64_t key, int64_t d) const {
    if (order_ == Order::kRows) return (head * keys_ + key) * size_ + d;
    if (order_ == Order::kColumns) return (head * size_ + d) * keys_ + key;
    return (key * heads_ + head) * size_ + d;
  }

 private:
  Order order_;
  int64_t heads_, keys_, size_;
};

/// Whether `to` is `factor` times the cache `from`, its heads repeated to be `heads`.
bool IsMoved(const LengthProbe& probe, ir::ValueId from, ir::ValueId to, const ReadForm& form,
             const OnnxCacheForm& cache, int64_t heads, double& factor) {
  const Shape given_shape = {1, cache.heads, probe.all(), cache.size};
  if (probe.value(from).shape != given_shape || heads % cache.heads != 0) return false;
  const auto given = Numbers(cache.dtype, given_shape);
  if (!given.ok()) return false;
  const auto made = probe.Evaluate(to, from, *given);
  if (!made || made->shape() != form.shape()) return false;
  const HostView view = made->view(), in = given->view();
  int64_t at = 0;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < probe.all() * cache.size; ++i, ++at) {
      const int64_t own = head / (heads / cache.heads);
      const double x = in.GetDouble(own * probe.all() * cache.size + i);
      const double y = view.GetDouble(form.At(head, i / cache.size, i % cache.size));
      if (factor == 0 && x != 0) factor = y / x;
      if (!IsClose(y, x * factor, made->dtype())) return false;
    }
  }
  return factor != 0;
}

/// Those that GroupQueryAttention takes.
bool TypesFit(const LengthProbe& probe, const OnnxForm& form, const GrowingAttention& a) {
  const OnnxCacheForm &keys = form.caches[a.key_cache], &values = form.caches[a.value_cache];
  if (keys.dtype != values.dtype || keys.heads != values.heads || a.heads % keys.heads != 0)
    return false;
  const auto fits = [&](ir::ValueId id, bool packed, int64_t heads, int64_t size) {
    const ir::Value& value = probe.value(id);
    const Shape split = {1, heads, probe.fresh(), size}, joined = {1, probe.fresh(), heads * size};
    return value.dtype == keys.dtype && value.shape == (packed ? joined : split);
  };
  return fits(a.queries, a.packed_queries, a.heads, keys.size) &&
         fits(a.keys, a.packed_keys, keys.heads, keys.size) &&
         fits(a.values, a.packed_keys, keys.heads, values.size) &&
         fits(a.result, a.packed_queries, a.heads, values.size);
}

bool ScoresSee(const LengthProbe& probe, const AttentionMatch& match, SeenWindow& window) {
  const Shape shape = {1, 1, probe.fresh(), probe.all()};
  const DType dtype = match.score_type;
  auto given = Numbers(dtype, shape);
  if (!given.ok()) return false;
  const HostView in = given->view();
  for (int64_t i = 0; i < given->elements(); ++i) in.SetDouble(i, in.GetDouble(i) / 64);
  const auto made = probe.Evaluate(match.weighed, match.sums, *given);
  if (!made || made->shape() != shape) return false;
  const double cap = match.attention.softcap;
  bool close = true;
  const auto sees = [&](int64_t row, int64_t key) {
    const int64_t at = row * probe.all() + key;
    const double y = made->view().GetDouble(at);
    if (y <= kHides) return false;
    const double x = in.GetDouble(at) * match.score_scale;
    close = close && IsClose(y, cap == 0 ? x : cap * std::tanh(x / cap),
                             dtype == DType::kF32 ? made->dtype() : dtype);
    return true;
  };
  return window.Take(probe.past(), probe.fresh(), sees) && close;
}

bool MaskSees(const LengthProbe& probe, const ir::Node& node, const AttentionMatch& match,
              SeenWindow& window) {
  const bool causal = node.attributes.Int("is_causal", 0) != 0;
  const Constant* mask = match.masks.empty() ? nullptr : probe.Known(match.masks[0]);
  if (!match.masks.empty() && mask == nullptr) return false;
  const Shape shape = mask == nullptr ? Shape{1, 1} : mask->shape();
  const int64_t rows = shape.rank() < 2 ? 0 : shape[shape.rank() - 2];
  if (mask != nullptr &&
      (rows == 0 || shape[shape.rank() - 1] != probe.all() || (rows != 1 && rows != probe.fresh())))
    return false;
  const int64_t plane = rows * probe.all(), heads = mask == nullptr ? 0 : mask->elements() / plane;
  bool clear = true;
  const auto sees = [&](int64_t row, int64_t key) {
    if (causal && key > probe.past() + row) return false;
    if (mask == nullptr) return true;
    const int64_t at = (rows == 1 ? 0 : row * probe.all()) + key;
    const double y = mask->GetDouble(at);
    for (int64_t head = 1; head < heads; ++head)
      clear = clear && mask->GetDouble(head * plane + at) == y;
    if (mask->dtype() == DType::kBool) return y != 0;
    clear = clear && (y == 0 || y <= kHides);
    return y == 0;
  };
  return window.Take(probe.past(), probe.fresh(), sees) && clear;
}

/// Whether the node counts tokens as they are.
bool Counts(const LengthProbe& probe, const ir::Node& node) {
  const Constant *last = probe.Known(node.input(5)), *all = probe.Known(node.input(6));
  return last != nullptr && all != nullptr && last->elements() == 1 && all->elements() == 1 &&
         last->GetInt(0) == probe.all() - 1 && all->GetInt(0) == probe.all();
}

}  // namespace

std::optional<ops::AttentionShape> ReadAttentionOf(const LengthProbe& probe, const ir::Node& node) {
  std::vector<Shape> shapes(6);
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (node.input(i) == ir::kAbsent) continue;
    if (!probe.value(node.input(i)).shape) return std::nullopt;
    shapes[i] = *probe.value(node.input(i)).shape;
  }
  const auto a = ops::ReadAttention(node, shapes);
  return a.ok() ? std::optional(*a) : std::nullopt;
}

bool ReadsCaches(std::span<const LengthProbe> probes, const OnnxForm& form, const ir::Graph& graph,
                 AttentionMatch& match) {
  GrowingAttention& a = match.attention;
  if (a.grouped >= 0) return true;
  const OnnxCacheForm &keys = form.caches[a.key_cache], &values = form.caches[a.value_cache];
  const bool joins = match.read_keys != ir::kAbsent;
  using Order = ReadForm::Order;
  const Order rows = a.packed_queries ? Order::kJoined : Order::kRows;
  double key_factor = 0, value_factor = 0;
  for (const LengthProbe& probe : probes.first(2)) {
    if (!TypesFit(probe, form, a)) return false;
    if (!joins) continue;
    // Attention itself repeats heads.
    int64_t heads = a.heads;
    if (match.node >= 0) {
      const auto shape = ReadAttentionOf(probe, graph.node(match.node));
      if (!shape) return false;
      heads = shape->kv_heads;
    }
    const ReadForm key_form(match.node < 0 ? Order::kColumns : rows, heads, probe.all(), keys.size);
    const ReadForm value_form(rows, heads, probe.all(), values.size);
    if (!IsMoved(probe, match.key_present, match.read_keys, key_form, keys, heads, key_factor) ||
        !IsMoved(probe, match.value_present, match.read_values, value_form, values, heads,
                 value_factor))
      return false;
  }
  if (joins) a.scale *= key_factor;
  return !joins || IsClose(value_factor, 1, DType::kF32);
}

void AddParts(const ir::Graph& graph, const AttentionMatch& match, ProbedParts& parts) {
  if (match.attention.grouped >= 0) {
    const ir::Node& node = graph.node(match.node);
    parts.wanted.insert(parts.wanted.end(), {node.input(5), node.input(6)});
  } else if (match.node >= 0) {
    parts.wanted.insert(parts.wanted.end(), match.masks.begin(), match.masks.end());
  } else {
    parts.wanted.push_back(match.weighed);
    parts.scores.emplace_back(match.sums, match.score_type);
  }
}

bool SeesWindow(const LengthProbe& probe, const ir::Graph& graph, const AttentionMatch& match,
                SeenWindow& window) {
  if (match.attention.grouped >= 0) return Counts(probe, graph.node(match.node));
  return match.node < 0 ? ScoresSee(probe, match, window)
                        : MaskSees(probe, graph.node(match.node), match, window);
}

}  // namespace fettle::language
