#include "importers/gguf/language_graph.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/file.h"
#include "importers/gguf/decoder_parts.h"
#include "ops/attention/byte_rows.h"

namespace fettle::gguf {
namespace {

class Builder : DecoderParts {
 public:
  Builder(std::shared_ptr<const File> file, const Decoder& decoder, int64_t capacity,
          const DecoderForm& form)
      : DecoderParts(std::move(file), decoder, form), capacity_(capacity) {}

  Result<ir::Graph> Run() {
    graph_.name = d_.architecture;
    RETURN_IF_ERROR(CheckPositions());
    AddInputs();
    RETURN_IF_ERROR(AddRotaries());
    ir::ValueId x = hidden_;
    for (int64_t i = 0; i < d_.layers; ++i) {
      ASSIGN_OR_RETURN(x, d_.parallel ? ParallelLayer(i, x) : Layer(i, x));
    }
    if (!form_.every_row) x = Emit("Gather", {x, last_}, {{"axis", int64_t{1}}});
    ASSIGN_OR_RETURN(x, Norm("output_norm", x, d_.width));
    const bool tied = file_->FindTensor("output.weight") == nullptr;
    ASSIGN_OR_RETURN(ir::ValueId logits,
                     Product(tied ? "token_embd" : "output", x, d_.width, d_.vocabulary));
    logits = Scaled(logits, d_.logit_scale);
    if (d_.logit_cap != 0)
      logits = Scaled(Emit("Tanh", {Scaled(logits, 1 / d_.logit_cap)}), d_.logit_cap);
    graph_.value(logits).name = "logits";
    for (ir::ValueId id : graph_.outputs) graph_.value(id).dtype = form_.cache;
    graph_.value(logits).dtype = DType::kF32;
    graph_.outputs.insert(graph_.outputs.begin(), logits);
    RETURN_IF_ERROR(graph_.Normalise());
    return std::move(graph_);
  }

 private:
  ir::ValueId Input(std::string name, DType dtype, const Shape& shape,
                    std::vector<std::string> symbols = {}) {
    const ir::ValueId id = graph_.AddValue(
        {.name = std::move(name), .dtype = dtype, .shape = shape, .symbols = std::move(symbols)});
    graph_.inputs.push_back(id);
    return id;
  }

  void AddInputs() {
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
    if (!form_.every_row) last_ = Input("last", DType::kI64, Shape{1});
    total_ = Ints("total", {capacity_});
    heads_shape_ = Ints("query_heads", {0, 0, d_.heads, d_.head_size});
    keys_shape_ = Ints("key_heads", {0, 0, d_.kv_heads, d_.head_size});
    packed_shape_ = Ints("packed", {0, 0, -1});
  }

  Status CheckPositions() const {
    if (d_.positions.empty()) return OkStatus();
    const TensorInfo* rows = file_->FindTensor(d_.positions);
    if (rows == nullptr) return InvalidModel("tensor '{}' is missing", d_.positions);
    RETURN_IF_ERROR(Need(d_.positions, d_.width, rows->rows).status());
    if (capacity_ <= rows->rows) return OkStatus();
    return InvalidArgument("the model has {} positions, fewer than a context of {}", rows->rows,
                           capacity_);
  }

  /// Cosines and sines [capacity, rotated / 2] of position * frequency, for each rotary.
  Status AddRotaries() {
    for (const Rotary& rotary : d_.rotaries) {
      const int64_t half = rotary.rotated / 2;
      const std::string& name = rotary.FactorsIn(capacity_);
      std::vector<float> divisors(half, 1.0F);
      if (!name.empty()) {
        ASSIGN_OR_RETURN(const TensorInfo* factors, Need(name, half, 1));
        ReadRow(*factors, 0, divisors.data());
      }
      std::vector<float> cosines(capacity_ * half), sines(capacity_ * half);
      for (int64_t i = 0; i < half; ++i) {
        const double frequency = rotary.Frequency(i, divisors[i]);
        for (int64_t p = 0; p < capacity_; ++p) {
          const double angle = static_cast<double>(p) * frequency;
          cosines[p * half + i] = static_cast<float>(rotary.magnitude * std::cos(angle));
          sines[p * half + i] = static_cast<float>(rotary.magnitude * std::sin(angle));
        }
      }
      const Shape shape = {capacity_, half};
      ASSIGN_OR_RETURN(const Tensor cosine, Tensor::FromVector(shape, cosines));
      ASSIGN_OR_RETURN(const Tensor sine, Tensor::FromVector(shape, sines));
      const std::string number = turns_.empty() ? "" : fmt::format(".{}", turns_.size());
      turns_.push_back({graph_.AddConstant("cosines" + number, Constant::FromTensor(cosine)),
                        graph_.AddConstant("sines" + number, Constant::FromTensor(sine))});
    }
    return OkStatus();
  }

  /// Queries or keys: normalised, by head or all heads as one, where the model does that, and
  /// turned.
  Result<ir::ValueId> Heads(const LayerForm& form, const std::string& norm, ir::ValueId x,
                            int64_t count) {
    const TensorInfo* scale = file_->FindTensor(norm + ".weight");
    if (scale != nullptr && scale->columns == count * d_.head_size && count > 1) {
      ASSIGN_OR_RETURN(x, Norm(norm, x, count * d_.head_size));
    } else if (scale != nullptr) {
      x = Emit("Reshape", {x, count == d_.heads ? heads_shape_ : keys_shape_});
      ASSIGN_OR_RETURN(x, Norm(norm, x, d_.head_size));
      x = Emit("Reshape", {x, packed_shape_});
    }
    if (form.rotary < 0) return x;
    const Turns& turns = turns_[form.rotary];
    return Emit("RotaryEmbedding", {x, turns.cosines, turns.sines, position_},
                {{"interleaved", int64_t{d_.interleaved}},
                 {"num_heads", count},
                 {"rotary_embedding_dim", d_.rotaries[form.rotary].rotated}});
  }

  Shape CacheShape(int64_t size) const {
    return {form_.caches, d_.kv_heads, capacity_, ops::StoredSize(form_.cache, size)};
  }

  Result<ir::ValueId> Attention(int64_t layer, const std::string& at, ir::ValueId x) {
    const LayerForm& form = d_.forms[layer];
    const int64_t queries = d_.heads * d_.head_size, keys = d_.kv_heads * d_.head_size;
    const int64_t values = d_.kv_heads * d_.value_size, all = queries + keys + values;
    const std::string several = at + "attn_qkv";
    ASSIGN_OR_RETURN(ir::ValueId q, PartProduct(Find(at + "attn_q", {several, 0, all}, queries), x,
                                                d_.width, queries));
    ASSIGN_OR_RETURN(ir::ValueId k, PartProduct(Find(at + "attn_k", {several, queries, all}, keys),
                                                x, d_.width, keys));
    ASSIGN_OR_RETURN(const ir::ValueId v,
                     PartProduct(Find(at + "attn_v", {several, queries + keys, all}, values), x,
                                 d_.width, values));
    ASSIGN_OR_RETURN(q, Heads(form, at + "attn_q_norm", q, d_.heads));
    ASSIGN_OR_RETURN(k, Heads(form, at + "attn_k_norm", k, d_.kv_heads));
    const Shape past_keys = CacheShape(d_.head_size), past_values = CacheShape(d_.value_size);
    const ir::ValueId past_key = Input(fmt::format("past_key.{}", layer), form_.cache, past_keys);
    const ir::ValueId past_value =
        Input(fmt::format("past_value.{}", layer), form_.cache, past_values);
    std::vector<ir::ValueId> inputs = {q, k, v, past_key, past_value, seqlens_, total_};
    const std::string sinks = at + "attn_sinks.weight";
    if (file_->FindTensor(sinks) != nullptr || form_.caches > 1)
      inputs.insert(inputs.end(), {ir::kAbsent, ir::kAbsent});
    if (file_->FindTensor(sinks) != nullptr) {
      ASSIGN_OR_RETURN(inputs.back(), Vector(sinks, d_.heads));
    }
    if (form_.caches > 1) inputs.push_back(cache_of_);
    ir::Attributes attributes{
        {"num_heads", d_.heads}, {"kv_num_heads", d_.kv_heads}, {"local_window_size", form.window}};
    if (d_.attention_scale != 0) attributes.Set("scale", d_.attention_scale);
    if (d_.attention_cap != 0) attributes.Set("softcap", d_.attention_cap);
    const std::vector<ir::ValueId> y =
        EmitMany("GroupQueryAttention", std::move(inputs), std::move(attributes), 3);
    graph_.value(y[1]).name = fmt::format("present_key.{}", layer);
    graph_.value(y[2]).name = fmt::format("present_value.{}", layer);
    graph_.value(y[1]).shape = past_keys;
    graph_.value(y[2]).shape = past_values;
    graph_.outputs.insert(graph_.outputs.end(), {y[1], y[2]});
    return Product(at + "attn_output", y[0], d_.heads * d_.value_size, d_.width);
  }

  /// x plus what a part of a layer makes of it.
  template <typename F>
  Result<ir::ValueId> Residual(ir::ValueId x, const std::string& before, const std::string& after,
                               const F& part) {
    ir::ValueId y = x;
    if (d_.norms_before) {
      ASSIGN_OR_RETURN(y, Norm(before, y, d_.width));
    }
    ASSIGN_OR_RETURN(y, part(y));
    if (d_.norms_after) {
      ASSIGN_OR_RETURN(y, Norm(after, y, d_.width));
    }
    return Emit("Add", {x, Scaled(y, d_.residual_scale)});
  }

  Result<ir::ValueId> Layer(int64_t layer, ir::ValueId x) {
    const std::string at = fmt::format("blk.{}.", layer);
    ASSIGN_OR_RETURN(x, Residual(x, at + "attn_norm", at + "post_attention_norm",
                                 [&](ir::ValueId y) { return Attention(layer, at, y); }));
    const bool mixes = d_.forms[layer].experts;
    return Residual(x, at + d_.feed_norm, at + "post_ffw_norm",
                    [&](ir::ValueId y) { return mixes ? Mixture(at, y) : FeedForward(at, y); });
  }

  /// Both parts read x, by one norm or by one each, and are added to it.
  Result<ir::ValueId> ParallelLayer(int64_t layer, ir::ValueId x) {
    const std::string at = fmt::format("blk.{}.", layer);
    const auto has = [&](const std::string& name) {
      return file_->FindTensor(at + name + ".weight") != nullptr;
    };
    ASSIGN_OR_RETURN(const ir::ValueId rows, Norm(at + "attn_norm", x, d_.width));
    ir::ValueId to_attention = rows, to_feed = rows;
    if (has("attn_norm_2")) {
      ASSIGN_OR_RETURN(to_attention, Norm(at + "attn_norm_2", x, d_.width));
    }
    if (has(d_.feed_norm)) {
      ASSIGN_OR_RETURN(to_feed, Norm(at + d_.feed_norm, x, d_.width));
    }
    ASSIGN_OR_RETURN(const ir::ValueId attended, Attention(layer, at, to_attention));
    ASSIGN_OR_RETURN(const ir::ValueId fed, FeedForward(at, to_feed));
    return Emit("Add", {Emit("Add", {x, attended}), fed});
  }

  struct Turns {
    ir::ValueId cosines = 0, sines = 0;
  };
  int64_t capacity_;
  ir::ValueId hidden_ = 0, position_ = 0, last_ = 0, seqlens_ = 0, total_ = 0;
  ir::ValueId cache_of_ = ir::kAbsent;
  ir::ValueId heads_shape_ = 0, keys_shape_ = 0, packed_shape_ = 0;
  std::vector<Turns> turns_;  // of Decoder::rotaries
};

}  // namespace

Result<ir::Graph> BuildDecoder(const std::shared_ptr<const File>& file, const Decoder& decoder,
                               int64_t capacity, const DecoderForm& form) {
  return Builder(file, decoder, capacity, form).Run();
}

void EmbeddingRow(const File& file, const Decoder& decoder, int64_t token, int64_t position,
                  float* out) {
  ReadRow(*file.FindTensor("token_embd.weight"), token, out);
  const auto scale = static_cast<float>(decoder.embedding_scale);
  for (int64_t i = 0; scale != 1 && i < decoder.width; ++i) out[i] *= scale;
  if (decoder.positions.empty()) return;
  const TensorInfo& rows = *file.FindTensor(decoder.positions);
  thread_local std::vector<float> added;  // no allocation for each token
  added.resize(decoder.width);
  ReadRow(rows, std::min(position, rows.rows - 1), added.data());
  for (int64_t i = 0; i < decoder.width; ++i) out[i] += added[i];
}

void DropEmbedding(const File& file) {
  DropMappedPages(std::as_bytes(file.FindTensor("token_embd.weight")->bytes));
}

}  // namespace fettle::gguf
