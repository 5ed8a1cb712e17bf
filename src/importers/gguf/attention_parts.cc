#include "importers/gguf/attention_parts.h"

#include <bit>
#include <cmath>

#include "base/memory_budget.h"
#include "ops/attention/byte_rows.h"

namespace fettle::gguf {

ir::ValueId AttentionParts::Input(std::string name, DType dtype, const Shape& shape,
                                  std::vector<std::string> symbols) {
  const ir::ValueId id = graph_.AddValue(
      {.name = std::move(name), .dtype = dtype, .shape = shape, .symbols = std::move(symbols)});
  graph_.inputs.push_back(id);
  return id;
}

void AttentionParts::AddInputs() {
  if (form_.caches > 1) {
    hidden_ = Input("hidden", DType::kF32, Shape{-1, -1, d_.width}, {"batch", "sequence", ""});
    position_ = Input("position", DType::kI64, Shape{-1}, {"batch"});
    seqlens_ = Input("seqlens", DType::kI32, Shape{-1}, {"batch"});
    cache_of_ = Input("cache_of", DType::kI32, Shape{-1}, {"batch"});
  } else {
    hidden_ = Input("hidden", DType::kF32, Shape{1, -1, d_.width}, {"", "sequence", ""});
    position_ = Input("position", DType::kI64, Shape{1});
    seqlens_ = Input("seqlens", DType::kI32, Shape{1});
  }
  if (d_.has_states())
    steps_ = Input("steps", DType::kI32, Shape{form_.caches > 1 ? -1 : 1, 3},
                   {form_.caches > 1 ? "batch" : "", ""});
  if (!form_.every_row) last_ = Input("last", DType::kI64, Shape{1});
  total_ = Ints("total", {capacity_});
  packed_shape_ = Ints("packed", {0, 0, -1});
}

Status AttentionParts::AddPositions() {
  for (const Rotary& rotary : d_.rotaries) {
    RETURN_IF_ERROR(AddRotary(rotary, 0, turns_));
    if (d_.temperature != 0) RETURN_IF_ERROR(AddRotary(rotary, d_.temperature, query_turns_));
  }
  if (d_.most_slope != 0) AddSlopes();
  return OkStatus();
}

/// Cosines and sines [capacity, rotated / 2] of position * frequency. Where there is a temperature,
/// later positions have more of both.
Status AttentionParts::AddRotary(const Rotary& rotary, double temperature,
                                 std::vector<Turns>& turns) {
  const int64_t half = rotary.rotated / 2;
  const std::string& name = rotary.FactorsIn(capacity_);
  std::vector<float> divisors(half, 1.0F);
  if (!name.empty()) {
    ASSIGN_OR_RETURN(const TensorInfo* factors, Need(name, half, 1));
    ReadRow(*factors, 0, divisors.data());
  }
  std::vector<float> cosines(capacity_ * half), sines(capacity_ * half);
  const auto magnitude_at = [&](int64_t position) {
    return rotary.magnitude *
           (temperature == 0
                ? 1
                : 1 + temperature * std::log1p(static_cast<double>(position / rotary.context)));
  };
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = rotary.Frequency(i, divisors[i]);
    for (int64_t p = 0; p < capacity_; ++p) {
      const double angle = static_cast<double>(p) * frequency;
      cosines[p * half + i] = static_cast<float>(magnitude_at(p) * std::cos(angle));
      sines[p * half + i] = static_cast<float>(magnitude_at(p) * std::sin(angle));
    }
  }
  const Shape shape = {capacity_, half};
  ASSIGN_OR_RETURN(const Tensor cosine, Tensor::FromVector(shape, cosines));
  ASSIGN_OR_RETURN(const Tensor sine, Tensor::FromVector(shape, sines));
  std::string number = turns.empty() ? "" : fmt::format(".{}", turns.size());
  if (temperature != 0) number += ".queries";
  turns.push_back({graph_.AddConstant("cosines" + number, Constant::FromTensor(cosine)),
                   graph_.AddConstant("sines" + number, Constant::FromTensor(sine))});
  return OkStatus();
}

/// "Train Short, Test Long" (Press et al., 2022): scores fall by a head's slope for each key
/// between key and query. The query's share is the same for all keys, and the softmax drops it.
void AttentionParts::AddSlopes() {
  const MemoryScope scope(MemoryBudget::Unbounded());
  const auto whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(d_.heads)));
  std::vector<float> slopes(d_.heads * capacity_);
  for (int64_t head = 0; head < d_.heads; ++head) {
    const int64_t steps = head < whole ? 2 * (head + 1) : 2 * (head - whole) + 1;
    const double slope =
        std::exp2(-d_.most_slope / 2 * static_cast<double>(steps) / static_cast<double>(whole));
    for (int64_t key = 0; key < capacity_; ++key)
      slopes[head * capacity_ + key] = static_cast<float>(slope * static_cast<double>(key));
  }
  slopes_ = graph_.AddConstant("slopes", Constant::FromTensor(*Tensor::FromVector(
                                             Shape{1, d_.heads, 1, capacity_}, slopes)));
}

ir::ValueId AttentionParts::Shaped(ir::ValueId x, const std::vector<int64_t>& sizes) {
  const ir::ValueId shape = Ints(fmt::format("shape.{}", graph_.nodes().size()), sizes);
  return Emit("Reshape", {x, shape});
}

std::vector<ir::ValueId> AttentionParts::Parts(ir::ValueId x, const std::vector<int64_t>& sizes) {
  const ir::ValueId columns = Ints(fmt::format("parts.{}", graph_.nodes().size()), sizes);
  return EmitMany("Split", {x, columns}, {{"axis", int64_t{-1}}}, static_cast<int>(sizes.size()));
}

ir::ValueId AttentionParts::Clamped(ir::ValueId x) {
  return d_.clamp == 0 ? x : Emit("Clip", {x, Number(-d_.clamp), Number(d_.clamp)});
}

Result<AttentionParts::Projected> AttentionParts::Project(const std::string& at, ir::ValueId x) {
  const int64_t queries = d_.heads * d_.head_size, keys = d_.kv_heads * d_.head_size;
  const int64_t values = d_.kv_heads * d_.value_size, all = queries + keys + values;
  const std::string several = at + "attn_qkv";
  const auto project = [&](const char* name, int64_t first, int64_t rows) -> Result<ir::ValueId> {
    ASSIGN_OR_RETURN(const ir::ValueId y,
                     PartProduct(Find(at + name, {several, first, all}, rows), x, d_.width, rows));
    return Clamped(y);
  };
  Projected made;
  const TensorInfo* gated = file_->FindTensor(at + "attn_q.weight");
  if (gated != nullptr && gated->rows == 2 * queries) {
    ASSIGN_OR_RETURN(const ir::ValueId both, Product(at + "attn_q", x, d_.width, 2 * queries));
    const std::vector<ir::ValueId> halves =
        Parts(Shaped(both, {0, 0, d_.heads, 2 * d_.head_size}), d_.head_size, d_.head_size);
    made.q = Clamped(Emit("Reshape", {halves[0], packed_shape_}));
    made.gate = Emit("Reshape", {halves[1], packed_shape_});
  } else {
    ASSIGN_OR_RETURN(made.q, project("attn_q", 0, queries));
  }
  if (file_->FindTensor(at + "attn_gate.weight") != nullptr) {
    ASSIGN_OR_RETURN(made.gate, Product(at + "attn_gate", x, d_.width, d_.heads * d_.value_size));
  }
  ASSIGN_OR_RETURN(made.k, project("attn_k", queries, keys));
  ASSIGN_OR_RETURN(made.v, project("attn_v", queries + keys, values));
  return made;
}

/// x normalised by head, all heads as one, or by head with weights of each, as the file has it.
Result<ir::ValueId> AttentionParts::HeadNorm(const std::string& norm, ir::ValueId x,
                                             int64_t count) {
  const TensorInfo* scale = file_->FindTensor(norm + ".weight");
  if (scale == nullptr) return x;
  if (scale->columns == count * d_.head_size && count > 1)
    return Norm(norm, x, count * d_.head_size);
  x = Shaped(x, {0, 0, count, d_.head_size});
  if (scale->rows == 1) {
    ASSIGN_OR_RETURN(x, Norm(norm, x, d_.head_size));
  } else {
    RETURN_IF_ERROR(Need(norm + ".weight", d_.head_size, count).status());
    x = PlainNorm(x, d_.head_size);
    x = Emit("Mul", {x, graph_.AddConstant(scale->name, ReadFloats(*scale, file_, false))});
  }
  return Emit("Reshape", {x, packed_shape_});
}

ir::ValueId AttentionParts::Turned(const LayerForm& form, bool are_queries, ir::ValueId x,
                                   int64_t count) {
  if (form.rotary < 0) return x;
  const bool has_own = are_queries && !query_turns_.empty();
  const Turns& turns = (has_own ? query_turns_ : turns_)[form.rotary];
  return Emit("RotaryEmbedding", {x, turns.cosines, turns.sines, position_},
              {{"interleaved", int64_t{d_.interleaved}},
               {"num_heads", count},
               {"rotary_embedding_dim", d_.rotaries[form.rotary].rotated}});
}

Result<ir::ValueId> AttentionParts::Heads(const LayerForm& form, bool are_queries,
                                          const std::string& norm, ir::ValueId x) {
  const int64_t count = are_queries ? d_.heads : d_.kv_heads;
  if (d_.norms_turned) return HeadNorm(norm, Turned(form, are_queries, x, count), count);
  ASSIGN_OR_RETURN(x, HeadNorm(norm, x, count));
  x = Turned(form, are_queries, x, count);
  if (!d_.unit_heads || form.rotary < 0) return x;
  x = PlainNorm(Shaped(x, {0, 0, count, d_.head_size}), d_.head_size);
  return Emit("Reshape", {x, packed_shape_});
}

Result<ir::ValueId> AttentionParts::HeadAttention(int64_t layer, const std::string& at,
                                                  ir::ValueId x) {
  const LayerForm& form = d_.forms[layer];
  ASSIGN_OR_RETURN(Projected heads, Project(at, x));
  ASSIGN_OR_RETURN(heads.q, Heads(form, true, at + "attn_q_norm", heads.q));
  ASSIGN_OR_RETURN(heads.k, Heads(form, false, at + "attn_k_norm", heads.k));
  ASSIGN_OR_RETURN(ir::ValueId y, Attended(layer, at, heads));
  if (heads.gate != ir::kAbsent) y = Emit("Mul", {y, Emit("Sigmoid", {heads.gate})});
  ASSIGN_OR_RETURN(y, SubNorm(at + "attn_sub_norm", y, d_.heads * d_.value_size));
  return Product(at + "attn_output", y, d_.heads * d_.value_size, d_.width);
}

Result<ir::ValueId> AttentionParts::Attended(int64_t layer, const std::string& at,
                                             const Projected& heads) {
  const auto cache = [&](int64_t size) {
    return Shape{form_.caches, d_.kv_heads, capacity_, ops::StoredSize(form_.cache, size)};
  };
  const Shape past_keys = cache(d_.head_size), past_values = cache(d_.value_size);
  const ir::ValueId past_key = Input(fmt::format("past_key.{}", layer), form_.cache, past_keys);
  const ir::ValueId past_value =
      Input(fmt::format("past_value.{}", layer), form_.cache, past_values);
  std::vector<ir::ValueId> inputs = {heads.q,    heads.k,  heads.v, past_key,
                                     past_value, seqlens_, total_};
  const std::string sinks = at + "attn_sinks.weight";
  const bool has_sinks = file_->FindTensor(sinks) != nullptr;
  if (has_sinks || form_.caches > 1 || slopes_ != ir::kAbsent)
    inputs.insert(inputs.end(), {slopes_, ir::kAbsent});
  if (has_sinks) {
    ASSIGN_OR_RETURN(inputs.back(), Vector(sinks, d_.heads));
  }
  if (form_.caches > 1) inputs.push_back(cache_of_);
  ir::Attributes attributes{{"num_heads", d_.heads},
                            {"kv_num_heads", d_.kv_heads},
                            {"local_window_size", d_.forms[layer].window}};
  if (d_.attention_scale != 0) attributes.Set("scale", d_.attention_scale);
  if (d_.attention_cap != 0) attributes.Set("softcap", d_.attention_cap);
  const std::vector<ir::ValueId> y =
      EmitMany("GroupQueryAttention", std::move(inputs), std::move(attributes), 3);
  graph_.value(y[1]).name = fmt::format("present_key.{}", layer);
  graph_.value(y[2]).name = fmt::format("present_value.{}", layer);
  graph_.value(y[1]).shape = past_keys;
  graph_.value(y[2]).shape = past_values;
  for (size_t i : {1, 2}) graph_.value(y[i]).dtype = form_.cache;
  graph_.outputs.insert(graph_.outputs.end(), {y[1], y[2]});
  return y[0];
}

}  // namespace fettle::gguf
