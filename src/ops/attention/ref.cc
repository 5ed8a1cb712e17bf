// Scalar oracles of attention and rotary embedding.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/op.h"
#include "ops/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

/// All operands as [batch, heads, length, size].
struct AttentionOperands {
  AttentionShape a;
  HostView q, k, v;

  /// Element (key, d) of the past or the current keys (values).
  double Get(const RefContext& context, const HostView& current, size_t past_input, int64_t batch,
             int64_t head, int64_t key, int64_t d) const {
    const bool past = key < a.past;
    const HostView& view = past ? context.inputs[past_input] : current;
    const int64_t coordinate[] = {batch, head, past ? key : key - a.past, d};
    return view.GetDouble(view.Offset(coordinate));
  }
};

Result<AttentionOperands> ReadOperands(const RefContext& context) {
  std::vector<Shape> shapes(6);
  for (size_t i = 0; i < 6 && i < context.inputs.size(); ++i) shapes[i] = context.inputs[i].shape;
  AttentionOperands o;
  ASSIGN_OR_RETURN(o.a, ReadAttention(context.node, shapes));
  o.q = HeadsView(context.inputs[0], o.a.packed, o.a.q_heads);
  o.k = HeadsView(context.inputs[1], o.a.packed, o.a.kv_heads);
  o.v = HeadsView(context.inputs[2], o.a.packed, o.a.kv_heads);
  return o;
}

/// What is added to the score of (batch, head, query, key).
double MaskAt(const RefContext& context, const AttentionShape& a, std::span<const int64_t> row,
              int64_t key) {
  // Keys before this query's own: those of the past, or, in a cache of fixed size, the valid ones
  // that are not of this block.
  int64_t before = a.past;
  if (context.has_input(6)) {
    const HostView& lengths = context.inputs[6];
    const int64_t valid = lengths.GetInt(row[0] * lengths.strides[0]);
    if (key >= valid) return kMasked;
    if (a.past == 0) before = valid - a.queries;
  }
  const int64_t position = before + row[2];
  if (a.causal && key > position) return kMasked;
  if (a.left_window >= 0 && key < position - a.left_window) return kMasked;
  if (a.right_window >= 0 && key > position + a.right_window) return kMasked;
  if (!context.has_input(3)) return 0;
  const HostView& mask = context.inputs[3];
  const int64_t coordinate[] = {row[0], row[1], row[2], key};
  int64_t offset = 0;
  for (int axis = 0; axis < mask.shape.rank(); ++axis) {
    const int64_t index = coordinate[axis + 4 - mask.shape.rank()];
    if (mask.shape[axis] == 1) continue;
    if (index >= mask.shape[axis]) return kMasked;
    offset += index * mask.strides[axis];
  }
  const double value = mask.GetDouble(offset);
  if (mask.dtype == DType::kBool) return value != 0 ? 0 : kMasked;
  return value;
}

/// The probabilities of one query over all keys; a query that sees no key gives zeros. Scores go to
/// output 3 where it is asked for.
std::vector<double> Probabilities(const RefContext& context, const AttentionOperands& o,
                                  std::span<const int64_t> row) {
  const AttentionShape& a = o.a;
  const int64_t kv_head = row[1] / (a.q_heads / a.kv_heads);
  std::vector<double> scores(a.keys);
  const auto show = [&](int64_t mode) {
    if (!context.has_output(3) || mode != a.score_mode) return;
    const HostView& out = context.outputs[3];
    for (int64_t key = 0; key < a.keys; ++key) {
      const int64_t coordinate[] = {row[0], row[1], row[2], key};
      out.SetDouble(out.Offset(coordinate), scores[key]);
    }
  };
  for (int64_t key = 0; key < a.keys; ++key) {
    double dot = 0;
    for (int64_t d = 0; d < a.qk_size; ++d) {
      const int64_t coordinate[] = {row[0], row[1], row[2], d};
      dot +=
          o.q.GetDouble(o.q.Offset(coordinate)) * o.Get(context, o.k, 4, row[0], kv_head, key, d);
    }
    scores[key] = dot * a.scale;
  }
  show(0);
  if (a.softcap != 0) {
    for (double& score : scores) score = a.softcap * std::tanh(score / a.softcap);
  }
  show(1);
  for (int64_t key = 0; key < a.keys; ++key) scores[key] += MaskAt(context, a, row, key);
  show(2);
  const double max = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = max == kMasked ? 0 : std::exp(score - max);
  for (double& score : scores) score = sum == 0 ? 0 : score / sum;
  show(3);
  return scores;
}

/// Past and current keys (or values), one behind the other.
void StorePresent(const RefContext& context, const AttentionOperands& o, const HostView& current,
                  size_t past_input, size_t output) {
  if (!context.has_output(output)) return;
  const HostView& out = context.outputs[output];
  Walker walk(out.shape, {out.strides}, 0);
  const int64_t count = out.shape.elements();
  for (int64_t i = 0; i < count; ++i, walk.Next()) {
    const Dims& c = walk.coordinate();
    out.SetDouble(walk[0], o.Get(context, current, past_input, c[0], c[1], c[2], c[3]));
  }
}

/// Of values without elements: no element of the output shows the scores.
void ShowScoresAlone(const RefContext& context, const AttentionOperands& o) {
  for (int64_t n = 0; n < o.a.batch; ++n) {
    for (int64_t head = 0; head < o.a.q_heads; ++head) {
      for (int64_t query = 0; query < o.a.queries; ++query) {
        const int64_t row[] = {n, head, query};
        Probabilities(context, o, row);
      }
    }
  }
}

}  // namespace

/// The region that starts at 0 writes the present keys and values, the one that holds the first
/// element of a query its scores.
Status AttentionReference(const RefContext& context, const Region& region) {
  ASSIGN_OR_RETURN(const AttentionOperands o, ReadOperands(context));
  const AttentionShape& a = o.a;
  if (region.begin == 0) {
    StorePresent(context, o, o.k, 4, 1);
    StorePresent(context, o, o.v, 5, 2);
    if (context.outputs[0].shape.elements() == 0 && context.has_output(3))
      ShowScoresAlone(context, o);
  }
  // Loops in the order of the output's elements; heads and queries swap where it is packed.
  HostView y = HeadsView(context.outputs[0], a.packed, a.q_heads);
  const size_t head_axis = a.packed ? 2 : 1, query_axis = a.packed ? 1 : 2;
  Dims loops = y.shape.dims();
  if (a.packed) {
    std::swap(loops[1], loops[2]);
    std::swap(y.strides[1], y.strides[2]);
  }
  Walker walk(Shape(loops), {y.strides, {loops[1] * loops[2], loops[2], 1, 0}}, region.begin);
  RowMemo<std::vector<double>> rows;
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const Dims& c = walk.coordinate();
    const int64_t row[] = {c[0], c[head_axis], c[query_axis]};
    const std::vector<double>& weights =
        rows.At(walk[1], [&] { return Probabilities(context, o, row); });
    const int64_t kv_head = row[1] / (a.q_heads / a.kv_heads);
    double sum = 0;
    for (int64_t key = 0; key < a.keys; ++key) {
      const double weight = weights[key];
      if (weight != 0) sum += weight * o.Get(context, o.v, 5, row[0], kv_head, key, c[3]);
    }
    y.SetDouble(walk[0], sum);
  }
  return OkStatus();
}

Status RotaryReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const HostView &cosines = context.inputs[1], &sines = context.inputs[2];
  ASSIGN_OR_RETURN(const RotaryShape r, ReadRotary(context.node, x.shape, cosines.shape));
  const int64_t half = r.rotated / 2;
  const int64_t x_step = x.strides.back();
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const Dims& c = walk.coordinate();
    const int64_t d = c.back() % r.size;
    const double value = x.GetDouble(walk[0]);
    if (d >= r.rotated) {
      y.SetDouble(walk[1], value);
      continue;
    }
    const bool first = r.interleaved ? d % 2 == 0 : d < half;
    const int64_t distance = (r.interleaved ? 1 : half) * (first ? 1 : -1);
    const double partner = x.GetDouble(walk[0] + distance * x_step);
    const int64_t position = c[r.packed ? 1 : 2];
    int64_t offset = (r.interleaved ? d / 2 : d % half) * cosines.strides.back();
    if (context.has_input(3)) {
      const HostView& ids = context.inputs[3];
      const int64_t id = ids.shape.rank() == 1
                             ? ids.GetInt(ids.shape[0] == 1 ? 0 : c[0] * ids.strides[0]) + position
                             : ids.GetInt(c[0] * ids.strides[0] + position * ids.strides[1]);
      if (id < 0 || id >= cosines.shape[0])
        return InvalidArgument("position {} is not one of {}", id, cosines.shape[0]);
      offset += id * cosines.strides[0];
    } else {
      offset += c[0] * cosines.strides[0] + position * cosines.strides[1];
    }
    const double cosine = cosines.GetDouble(offset), sine = sines.GetDouble(offset);
    y.SetDouble(walk[1], value * cosine + (first ? -partner : partner) * sine);
  }
  return OkStatus();
}

}  // namespace fettle::ops
