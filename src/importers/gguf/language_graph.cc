#include "importers/gguf/language_graph.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/memory_budget.h"
#include "ops/attention/byte_rows.h"
#include "ops/op.h"

namespace fettle::gguf {
namespace {

class Builder {
 public:
  Builder(std::shared_ptr<const File> file, const Decoder& decoder, int64_t capacity,
          const DecoderForm& form)
      : file_(std::move(file)), d_(decoder), capacity_(capacity), form_(form) {}

  Result<ir::Graph> Run() {
    graph_.name = d_.architecture;
    AddInputs();
    RETURN_IF_ERROR(AddRotary());
    ir::ValueId x = hidden_;
    for (int64_t i = 0; i < d_.layers; ++i) {
      ASSIGN_OR_RETURN(x, Layer(i, x));
    }
    if (!form_.every_row) x = Emit("Gather", {x, last_}, {{"axis", int64_t{1}}});
    ASSIGN_OR_RETURN(x, Norm("output_norm.weight", x, d_.width));
    const bool tied = file_->FindTensor("output.weight") == nullptr;
    ASSIGN_OR_RETURN(const ir::ValueId logits,
                     Product(tied ? "token_embd" : "output", x, d_.width, d_.vocabulary));
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

  ir::ValueId Ints(const std::string& name, const std::vector<int64_t>& values) {
    const MemoryScope scope(MemoryBudget::Unbounded());
    return graph_.AddConstant(name, Constant::FromTensor(*Tensor::FromVector(
                                        Shape{static_cast<int64_t>(values.size())}, values)));
  }

  /// Cosines and sines [capacity, rotated / 2] of position * base^(-2 i / rotated).
  Status AddRotary() {
    const int64_t half = d_.rotated / 2;
    const TensorInfo* factors = file_->FindTensor("rope_freqs.weight");
    std::vector<float> divisors(half, 1.0F);
    if (factors != nullptr) {
      RETURN_IF_ERROR(CheckTensor(*factors, half, 1));
      ReadRow(*factors, 0, divisors.data());
    }
    std::vector<float> cosines(capacity_ * half), sines(capacity_ * half);
    for (int64_t p = 0; p < capacity_; ++p) {
      for (int64_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(p) / d_.rope_scale / divisors[i] *
            std::pow(d_.rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(d_.rotated));
        cosines[p * half + i] = static_cast<float>(std::cos(angle));
        sines[p * half + i] = static_cast<float>(std::sin(angle));
      }
    }
    const Shape shape = {capacity_, half};
    ASSIGN_OR_RETURN(const Tensor cosine, Tensor::FromVector(shape, cosines));
    ASSIGN_OR_RETURN(const Tensor sine, Tensor::FromVector(shape, sines));
    cosines_ = graph_.AddConstant("cosines", Constant::FromTensor(cosine));
    sines_ = graph_.AddConstant("sines", Constant::FromTensor(sine));
    return OkStatus();
  }

  std::vector<ir::ValueId> EmitMany(const std::string& op, std::vector<ir::ValueId> inputs,
                                    ir::Attributes attributes, int outputs) {
    ir::Node node;
    node.op = &ops::Get(op);
    node.name = fmt::format("{}.{}", op, graph_.nodes().size());
    node.attributes = std::move(attributes);
    node.inputs = std::move(inputs);
    for (int i = 0; i < outputs; ++i)
      node.outputs.push_back(graph_.AddValue({.name = fmt::format("{}.{}", node.name, i)}));
    std::vector<ir::ValueId> y = node.outputs;
    graph_.AddNode(std::move(node));
    return y;
  }
  ir::ValueId Emit(const std::string& op, std::vector<ir::ValueId> inputs,
                   ir::Attributes attributes = {}) {
    return EmitMany(op, std::move(inputs), std::move(attributes), 1)[0];
  }

  static Status CheckTensor(const TensorInfo& tensor, int64_t columns, int64_t rows) {
    if (tensor.columns == columns && tensor.rows == rows) return OkStatus();
    return InvalidModel("tensor '{}': expected {} rows of {}, got {} of {}", tensor.name, rows,
                        columns, tensor.rows, tensor.columns);
  }

  Result<const TensorInfo*> Need(const std::string& name, int64_t columns, int64_t rows) const {
    const TensorInfo* tensor = file_->FindTensor(name);
    if (tensor == nullptr) return InvalidModel("tensor '{}' is missing", name);
    RETURN_IF_ERROR(CheckTensor(*tensor, columns, rows));
    return tensor;
  }

  Result<ir::ValueId> Vector(const std::string& name, int64_t size) {
    ASSIGN_OR_RETURN(const TensorInfo* tensor, Need(name, size, 1));
    return graph_.AddConstant(name, ReadVector(*tensor, file_));
  }

  /// x times the transposed matrix `name`.weight [n, k], plus `name`.bias where there is one.
  Result<ir::ValueId> Product(const std::string& name, ir::ValueId x, int64_t k, int64_t n) {
    ASSIGN_OR_RETURN(const TensorInfo* tensor, Need(name + ".weight", k, n));
    ir::ValueId y = ir::kAbsent;
    if (tensor->type->bits == 0 || form_.floats) {
      y = Emit("MatMul", {x, graph_.AddConstant(tensor->name, ReadFloats(*tensor, file_, true))});
    } else {
      BlockConstants blocks = ReadBlocks(*tensor, file_);
      const ir::ValueId codes = graph_.AddConstant(tensor->name, std::move(blocks.codes));
      const ir::ValueId scales = graph_.AddConstant(name + ".scales", std::move(blocks.scales));
      const ir::ValueId minima = graph_.AddConstant(name + ".minima", std::move(blocks.minima));
      y = Emit("BlockMatMul", {x, codes, scales, minima}, {{"block_size", tensor->type->part}});
    }
    if (file_->FindTensor(name + ".bias") == nullptr) return y;
    ASSIGN_OR_RETURN(const ir::ValueId bias, Vector(name + ".bias", n));
    return Emit("Add", {y, bias});
  }

  Result<ir::ValueId> Norm(const std::string& name, ir::ValueId x, int64_t size) {
    ASSIGN_OR_RETURN(const ir::ValueId scale, Vector(name, size));
    return Emit("RMSNormalization", {x, scale}, {{"axis", int64_t{-1}}, {"epsilon", d_.epsilon}});
  }

  /// Queries or keys, normalised by head where the model does that, and rotated.
  Result<ir::ValueId> Heads(const std::string& norm, ir::ValueId x, int64_t count) {
    if (file_->FindTensor(norm) != nullptr) {
      x = Emit("Reshape", {x, count == d_.heads ? heads_shape_ : keys_shape_});
      ASSIGN_OR_RETURN(x, Norm(norm, x, d_.head_size));
      x = Emit("Reshape", {x, packed_shape_});
    }
    return Emit("RotaryEmbedding", {x, cosines_, sines_, position_},
                {{"interleaved", int64_t{d_.interleaved}},
                 {"num_heads", count},
                 {"rotary_embedding_dim", d_.rotated}});
  }

  Shape CacheShape(int64_t size) const {
    return {form_.caches, d_.kv_heads, capacity_, ops::StoredSize(form_.cache, size)};
  }

  Result<ir::ValueId> Attention(int64_t layer, const std::string& at, ir::ValueId x) {
    const int64_t keys = d_.kv_heads * d_.head_size, values = d_.kv_heads * d_.value_size;
    ASSIGN_OR_RETURN(ir::ValueId q, Product(at + "attn_q", x, d_.width, d_.heads * d_.head_size));
    ASSIGN_OR_RETURN(ir::ValueId k, Product(at + "attn_k", x, d_.width, keys));
    ASSIGN_OR_RETURN(const ir::ValueId v, Product(at + "attn_v", x, d_.width, values));
    ASSIGN_OR_RETURN(q, Heads(at + "attn_q_norm.weight", q, d_.heads));
    ASSIGN_OR_RETURN(k, Heads(at + "attn_k_norm.weight", k, d_.kv_heads));
    const Shape past_keys = CacheShape(d_.head_size), past_values = CacheShape(d_.value_size);
    const ir::ValueId past_key = Input(fmt::format("past_key.{}", layer), form_.cache, past_keys);
    const ir::ValueId past_value =
        Input(fmt::format("past_value.{}", layer), form_.cache, past_values);
    std::vector<ir::ValueId> inputs = {q, k, v, past_key, past_value, seqlens_, total_};
    if (form_.caches > 1) inputs.insert(inputs.end(), {ir::kAbsent, ir::kAbsent, cache_of_});
    const std::vector<ir::ValueId> y = EmitMany(
        "GroupQueryAttention", std::move(inputs),
        {{"num_heads", d_.heads}, {"kv_num_heads", d_.kv_heads}, {"local_window_size", d_.window}},
        3);
    graph_.value(y[1]).name = fmt::format("present_key.{}", layer);
    graph_.value(y[2]).name = fmt::format("present_value.{}", layer);
    graph_.value(y[1]).shape = past_keys;
    graph_.value(y[2]).shape = past_values;
    graph_.outputs.insert(graph_.outputs.end(), {y[1], y[2]});
    return Product(at + "attn_output", y[0], d_.heads * d_.value_size, d_.width);
  }

  Result<ir::ValueId> Layer(int64_t layer, ir::ValueId x) {
    const std::string at = fmt::format("blk.{}.", layer);
    ASSIGN_OR_RETURN(ir::ValueId y, Norm(at + "attn_norm.weight", x, d_.width));
    ASSIGN_OR_RETURN(y, Attention(layer, at, y));
    x = Emit("Add", {x, y});
    ASSIGN_OR_RETURN(y, Norm(at + "ffn_norm.weight", x, d_.width));
    ASSIGN_OR_RETURN(ir::ValueId gate, Product(at + "ffn_gate", y, d_.width, d_.hidden));
    ASSIGN_OR_RETURN(const ir::ValueId up, Product(at + "ffn_up", y, d_.width, d_.hidden));
    gate = d_.gelu ? Emit("Gelu", {gate}, {{"approximate", std::string("tanh")}})
                   : Emit("Swish", {gate});
    ASSIGN_OR_RETURN(y, Product(at + "ffn_down", Emit("Mul", {gate, up}), d_.hidden, d_.width));
    return Emit("Add", {x, y});
  }

  std::shared_ptr<const File> file_;
  const Decoder& d_;
  int64_t capacity_;
  DecoderForm form_;
  ir::Graph graph_;
  ir::ValueId hidden_ = 0, position_ = 0, last_ = 0, seqlens_ = 0, total_ = 0;
  ir::ValueId cache_of_ = ir::kAbsent;
  ir::ValueId cosines_ = 0, sines_ = 0, heads_shape_ = 0, keys_shape_ = 0, packed_shape_ = 0;
};

struct Architecture {
  std::string_view name;
  bool interleaved, gelu, scales_embedding;
};
constexpr Architecture kArchitectures[] = {
    {"gemma", false, true, true},
    {"llama", true, false, false},
    {"qwen2", false, false, false},
    {"qwen3", false, false, false},
};

Status ReadSizes(const File& file, Decoder& d) {
  const auto key = [&](std::string_view name) {
    return fmt::format("{}.{}", d.architecture, name);
  };
  constexpr int64_t kMost = 1 << 20;
  ASSIGN_OR_RETURN(d.layers, file.Int(key("block_count"), {}, 1, 4096));
  ASSIGN_OR_RETURN(d.width, file.Int(key("embedding_length"), {}, 1, kMost));
  ASSIGN_OR_RETURN(d.hidden, file.Int(key("feed_forward_length"), {}, 1, kMost));
  ASSIGN_OR_RETURN(d.trained_context, file.Int(key("context_length"), {}, 1, int64_t{1} << 40));
  ASSIGN_OR_RETURN(d.heads, file.Int(key("attention.head_count"), {}, 1, 4096));
  ASSIGN_OR_RETURN(d.kv_heads, file.Int(key("attention.head_count_kv"), d.heads, 1, 4096));
  ASSIGN_OR_RETURN(d.head_size, file.Int(key("attention.key_length"),
                                         std::max<int64_t>(1, d.width / d.heads), 1, kMost));
  ASSIGN_OR_RETURN(d.value_size, file.Int(key("attention.value_length"), d.head_size, 1, kMost));
  ASSIGN_OR_RETURN(d.rotated, file.Int(key("rope.dimension_count"), d.head_size, 2, d.head_size));
  ASSIGN_OR_RETURN(d.window, file.Int(key("attention.sliding_window"), -1, -1, int64_t{1} << 40));
  if (d.window == 0) d.window = -1;
  if (d.heads % d.kv_heads != 0 || d.rotated % 2 != 0)
    return InvalidModel("{} heads, {} key heads and {} rotated elements do not fit", d.heads,
                        d.kv_heads, d.rotated);
  ASSIGN_OR_RETURN(d.epsilon, file.Float(key("attention.layer_norm_rms_epsilon"), {}));
  ASSIGN_OR_RETURN(d.rope_base, file.Float(key("rope.freq_base"), 10000.0));
  return OkStatus();
}

Status ReadStretch(const File& file, Decoder& d) {
  const std::string key = d.architecture + ".rope.scaling.";
  ASSIGN_OR_RETURN(const std::string stretch, file.Text(key + "type", "none"));
  if (stretch != "none" && stretch != "linear")
    return Unsupported("value '{}type': expected none or linear, got '{}'", key, stretch);
  if (stretch == "linear") {
    ASSIGN_OR_RETURN(d.rope_scale, file.Float(key + "factor", 1.0));
  }
  if (d.rope_scale <= 0 || d.rope_base <= 0) return InvalidModel("positions have no frequencies");
  return OkStatus();
}

}  // namespace

Result<Decoder> ReadDecoder(const File& file) {
  Decoder d;
  ASSIGN_OR_RETURN(d.architecture, file.Text("general.architecture", {}));
  const Architecture* found = nullptr;
  std::string names;
  for (const Architecture& row : kArchitectures) {
    if (row.name == d.architecture) found = &row;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  if (found == nullptr)
    return Unsupported("architecture '{}' is not supported; supported: {}", d.architecture, names);
  d.interleaved = found->interleaved;
  d.gelu = found->gelu;
  RETURN_IF_ERROR(ReadSizes(file, d));
  RETURN_IF_ERROR(ReadStretch(file, d));
  if (found->scales_embedding) d.embedding_scale = std::sqrt(static_cast<double>(d.width));
  const TensorInfo* embedding = file.FindTensor("token_embd.weight");
  if (embedding == nullptr) return InvalidModel("tensor 'token_embd.weight' is missing");
  if (embedding->columns != d.width)
    return InvalidModel("tensor 'token_embd.weight': expected rows of {}, got {}", d.width,
                        embedding->columns);
  d.vocabulary = embedding->rows;
  return d;
}

Result<ir::Graph> BuildDecoder(const std::shared_ptr<const File>& file, const Decoder& decoder,
                               int64_t capacity, const DecoderForm& form) {
  return Builder(file, decoder, capacity, form).Run();
}

void EmbeddingRow(const File& file, const Decoder& decoder, int64_t token, float* out) {
  ReadRow(*file.FindTensor("token_embd.weight"), token, out);
  const auto scale = static_cast<float>(decoder.embedding_scale);
  for (int64_t i = 0; scale != 1 && i < decoder.width; ++i) out[i] *= scale;
}

void DropEmbedding(const File& file) {
  DropMappedPages(std::as_bytes(file.FindTensor("token_embd.weight")->bytes));
}

}  // namespace fettle::gguf
