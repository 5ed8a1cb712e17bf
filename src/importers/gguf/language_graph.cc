#include "importers/gguf/language_graph.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file.h"
#include "importers/gguf/recurrent_parts.h"

namespace fettle::gguf {
namespace {

class Builder : RecurrentParts {
 public:
  Builder(std::shared_ptr<const File> file, const Decoder& decoder, int64_t capacity,
          const DecoderForm& form)
      : RecurrentParts(std::move(file), decoder, capacity, form) {}

  Result<ir::Graph> Run() {
    graph_.name = d_.architecture;
    RETURN_IF_ERROR(CheckPositions());
    AddInputs();
    RETURN_IF_ERROR(AddPositions());
    ir::ValueId x = hidden_;
    const std::string embedded = "token_embd_norm";
    if (d_.output_norm != embedded && file_->FindTensor(embedded + ".weight") != nullptr) {
      ASSIGN_OR_RETURN(x, Norm(embedded, x, d_.width));
    }
    for (int64_t i = 0; i < d_.layers; ++i) {
      ASSIGN_OR_RETURN(x, d_.parallel ? ParallelLayer(i, x) : Layer(i, x));
    }
    if (!form_.every_row) x = Emit("Gather", {x, last_}, {{"axis", int64_t{1}}});
    ASSIGN_OR_RETURN(x, Norm(d_.output_norm, x, d_.width));
    const bool tied = file_->FindTensor("output.weight") == nullptr;
    ASSIGN_OR_RETURN(ir::ValueId logits,
                     Product(tied ? "token_embd" : "output", x, d_.width, d_.vocabulary));
    logits = Scaled(logits, d_.logit_scale);
    if (d_.logit_cap != 0)
      logits = Scaled(Emit("Tanh", {Scaled(logits, 1 / d_.logit_cap)}), d_.logit_cap);
    graph_.value(logits).name = "logits";
    graph_.value(logits).dtype = DType::kF32;
    graph_.outputs.insert(graph_.outputs.begin(), logits);
    RETURN_IF_ERROR(graph_.Normalise());
    return std::move(graph_);
  }

 private:
  Status CheckPositions() const {
    if (d_.most_context != 0 && capacity_ > d_.most_context)
      return InvalidArgument(
          "of the chunks that the model sees only the first is computed: a context of at most {}, "
          "not {}",
          d_.most_context, capacity_);
    if (d_.positions.empty()) return OkStatus();
    const TensorInfo* rows = file_->FindTensor(d_.positions);
    if (rows == nullptr) return InvalidModel("tensor '{}' is missing", d_.positions);
    RETURN_IF_ERROR(Need(d_.positions, d_.width, rows->rows).status());
    if (capacity_ <= rows->rows) return OkStatus();
    return InvalidArgument("the model has {} positions, fewer than a context of {}", rows->rows,
                           capacity_);
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
    const LayerForm& form = d_.forms[layer];
    layer_ = &form;
    if (form.attends || form.recurrence != Recurrence::kNone) {
      ASSIGN_OR_RETURN(x, Residual(x, at + "attn_norm", at + "post_attention_norm",
                                   [&](ir::ValueId y) { return Mixed(layer, at, y); }));
    }
    if (!form.feeds) return x;
    const bool mixes = form.experts;
    return Residual(x, at + d_.feed_norm, at + "post_ffw_norm",
                    [&](ir::ValueId y) { return mixes ? Mixture(at, y) : FeedForward(at, y); });
  }

  /// What attention, a recurrence, or both together make of rows.
  Result<ir::ValueId> Mixed(int64_t layer, const std::string& at, ir::ValueId x) {
    const LayerForm& form = d_.forms[layer];
    if (form.recurrence == Recurrence::kNone) return Attention(layer, at, x);
    ASSIGN_OR_RETURN(const ir::ValueId kept, Recurred(layer, at, x));
    if (!form.attends) return kept;
    ASSIGN_OR_RETURN(const ir::ValueId seen, Attention(layer, at, x));
    return Emit("Add", {seen, kept});
  }

  /// Both parts read x, by one norm or by one each, and are added to it.
  Result<ir::ValueId> ParallelLayer(int64_t layer, ir::ValueId x) {
    const std::string at = fmt::format("blk.{}.", layer);
    layer_ = &d_.forms[layer];
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
