// Scalar oracles of AttentionMask and GroupQueryAttention.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/attention/byte_rows.h"
#include "ops/attention/contrib.h"
#include "ops/attention/mask.h"
#include "ops/element_access.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

const Shape* ShapeIfPresent(const RefContext& context, size_t i) {
  return context.has_input(i) ? &context.inputs[i].shape : nullptr;
}

bool Sees(const HostView& mask, const AttentionMaskShape& a, int64_t batch, int64_t query,
          int64_t key) {
  using Kind = AttentionMaskShape::Kind;
  const auto at = [&](std::initializer_list<int64_t> c) {
    return mask.GetInt(mask.Offset(std::span(c.begin(), c.size())));
  };
  switch (a.kind) {
    case Kind::kEnds: return key < at({batch});
    case Kind::kRanges: return key < at({batch}) && key >= at({a.batch + batch});
    case Kind::kKeys: return at({batch, key}) > 0;
    case Kind::kPairs: return at({batch, query, key}) > 0;
    case Kind::kSquare: return at({batch, 0, a.past + query, key}) > 0;
  }
  return true;
}

/// One query head of one batch element.
class Head {
 public:
  Head(const RefContext& context, const GroupQueryShape& a, int64_t total, int64_t batch,
       int64_t head)
      : context_(context), a_(a), batch_(batch), head_(head), kv_(head / (a.q_heads / a.kv_heads)) {
    const HostView& lengths = context.inputs[5];
    valid_ = IntsOf(lengths)[batch] + 1;
    cache_ = context.has_input(9) ? context.inputs[9].GetInt(batch) : batch;
    first_new_ = a.length == total ? 0 : valid_ - a.length;
  }

  int64_t valid() const { return valid_; }
  int64_t cache() const { return cache_; }

  /// Valid keys, and the position of the first new one; both must lie in the sequence.
  bool ok(int64_t keys) const {
    return first_new_ >= 0 && valid_ >= 0 && first_new_ <= a_.cache &&
           std::max(valid_, first_new_ + a_.length) <= keys;
  }

  /// Element d of the cached or new key (input 1) or value (input 2) at `key`; 0 where there is
  /// none.
  double At(size_t input, int64_t key, int64_t d) const {
    if (key >= first_new_ + a_.length) return 0;
    const int64_t size = input == 1 ? a_.size : a_.v_size;
    if (a_.in_bytes) return static_cast<double>(Code(input, key, d)) * Step(input, key);
    if (key >= first_new_) {
      const double x = Get(context_.inputs[input], {batch_, key - first_new_, kv_ * size + d});
      // What is read is what was stored.
      return context_.has_output(input) && context_.outputs[input].dtype == DType::kF16
                 ? static_cast<float>(Half(static_cast<float>(x)))
                 : x;
    }
    return Get(context_.inputs[input + 2], {cache_, kv_, key, d});
  }

  /// Byte d of a key or value in bytes: a code, or one of its step.
  [[gnu::noinline]] int64_t Code(size_t input, int64_t key, int64_t d) const {
    const int64_t size = input == 1 ? a_.size : a_.v_size;
    if (key >= first_new_ + a_.length) return 0;
    if (key < first_new_) {
      const HostView& past = context_.inputs[input + 2];
      return past.GetInt(past.Offset(Dims{cache_, kv_, key, d}));
    }
    std::vector<float> row(size);
    for (int64_t i = 0; i < size; ++i)
      row[i] = static_cast<float>(
          Get(context_.inputs[input], {batch_, key - first_new_, kv_ * size + i}));
    std::vector<std::byte> rounded(size + kStepBytes);
    RoundByteRow(row.data(), size, rounded.data());
    return static_cast<int8_t>(rounded[d]);
  }

  void Run(int64_t query) const {
    const int64_t position = first_new_ + query;
    const int64_t end = std::min(position + 1, valid_);
    const int64_t begin = a_.window > 0 ? std::max<int64_t>(position - a_.window + 1, 0) : 0;
    std::vector<double> weights(std::max<int64_t>(end, 0), 0.0);
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t key = begin; key < end; ++key) {
      weights[key] = Score(query, key);
      max = std::max(max, weights[key]);
    }
    if (context_.has_input(8)) {
      // A score of the head's own, which takes its share and gives nothing.
      const double sink = Get(context_.inputs[8], {head_});
      if (begin < end) max = std::max(max, sink);
      sum = std::exp(sink - max);
    }
    for (int64_t key = begin; key < end; ++key) {
      double& weight = weights[key];
      sum += weight = std::exp(weight - max);
    }
    for (int64_t d = 0; d < a_.v_size; ++d) {
      double y = 0;
      for (int64_t key = begin; key < end; ++key) y += weights[key] / sum * At(2, key, d);
      const int64_t c[] = {batch_, query, head_ * a_.v_size + d};
      context_.outputs[0].SetDouble(context_.outputs[0].Offset(c), y);
    }
  }

 private:
  float Step(size_t input, int64_t key) const {
    const int64_t size = input == 1 ? a_.size : a_.v_size;
    std::byte bytes[kStepBytes];
    for (int64_t i = 0; i < kStepBytes; ++i)
      bytes[i] = static_cast<std::byte>(Code(input, key, size + i));
    return StepOf(bytes, 0);
  }
  static double Get(const HostView& view, std::initializer_list<int64_t> c) {
    return view.GetDouble(view.Offset(std::span(c.begin(), c.size())));
  }
  double Score(int64_t query, int64_t key) const {
    double dot = 0;
    for (int64_t d = 0; d < a_.size; ++d)
      dot += Get(context_.inputs[0], {batch_, query, head_ * a_.size + d}) * At(1, key, d);
    dot *= a_.scale;
    if (a_.softcap != 0) dot = a_.softcap * std::tanh(dot / a_.softcap);
    if (!context_.has_input(7)) return dot;
    const HostView& bias = context_.inputs[7];
    const int64_t c[] = {bias.shape[0] == 1 ? 0 : batch_, bias.shape[1] == 1 ? 0 : head_,
                         bias.shape[2] == 1 ? 0 : query, bias.shape[3] == 1 ? 0 : key};
    return dot + bias.GetDouble(bias.Offset(c));
  }

  const RefContext& context_;
  const GroupQueryShape& a_;
  int64_t batch_, head_, kv_, cache_ = 0;
  int64_t valid_ = 0, first_new_ = 0;
};

/// Checks that batch elements have caches of their own, and copies all of them: those that no
/// element has stay.
Status CopyCaches(const RefContext& context, const GroupQueryShape& a) {
  const std::vector<int64_t> wide = IntsOf(context.inputs[9]);
  const std::vector<int32_t> named(wide.begin(), wide.end());
  RETURN_IF_ERROR(CheckCachesNamed(named, a.caches));
  for (size_t output : {1, 2}) {
    if (!context.has_output(output)) continue;
    const HostView &present = context.outputs[output], &past = context.inputs[output + 2];
    ForEachCoordinate(
        present.shape, {0, present.shape.elements()}, [&](int64_t, std::span<const int64_t> c) {
          const bool has = c[2] < a.cache;
          present.SetDouble(present.Offset(c), has ? past.GetDouble(past.Offset(c)) : 0);
        });
  }
  return OkStatus();
}

}  // namespace

Status AttentionMaskReference(const RefContext& context, const Region& region) {
  const HostView &mask = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const AttentionMaskShape a,
                   ReadAttentionMask(mask.shape, context.inputs[1].shape, context.inputs[2].shape,
                                     ShapeIfPresent(context, 3)));
  const double value = context.attributes().Float("value", -10000);
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
    y.SetDouble(y.Offset(c), Sees(mask, a, c[0], c[2], c[3]) ? 0 : value);
  });
  return OkStatus();
}

Status GroupQueryReference(const RefContext& context, const Region&) {
  ASSIGN_OR_RETURN(const GroupQueryShape a,
                   ReadGroupQuery(context.node, context.inputs[0].shape, context.inputs[1].shape,
                                  context.inputs[2].shape, ShapeIfPresent(context, 3)));
  const int64_t total = context.inputs[6].GetInt(0), keys = std::max(total, a.cache);
  if (context.has_input(9)) RETURN_IF_ERROR(CopyCaches(context, a));
  for (int64_t n = 0; n < a.batch; ++n) {
    for (int64_t h = 0; h < a.q_heads; ++h) {
      const Head head(context, a, total, n, h);
      if (!head.ok(keys) || (context.has_input(7) && head.valid() > total))
        return InvalidArgument("seqlens_k of batch element {} does not fit {} keys", n, keys);
      for (int64_t query = 0; context.has_output(0) && query < a.length; ++query) head.Run(query);
      if (h % (a.q_heads / a.kv_heads) != 0) continue;
      for (size_t output : {1, 2}) {
        if (!context.has_output(output)) continue;
        const HostView& present = context.outputs[output];
        for (int64_t key = 0; key < keys; ++key) {
          for (int64_t d = 0; d < present.shape[3]; ++d) {
            const int64_t c[] = {head.cache(), h / (a.q_heads / a.kv_heads), key, d};
            if (a.in_bytes)
              present.SetInt(present.Offset(c), head.Code(output, key, d));
            else
              present.SetDouble(present.Offset(c), head.At(output, key, d));
          }
        }
      }
    }
  }
  return OkStatus();
}

}  // namespace fettle::ops
