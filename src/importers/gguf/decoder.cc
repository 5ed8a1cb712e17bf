#include "importers/gguf/decoder.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "importers/gguf/architecture.h"
#include "importers/gguf/value_reader.h"

namespace fettle::gguf {
namespace {

class DecoderReader : ValueReader {
 public:
  DecoderReader(const File& file, Decoder& decoder, const Architecture& architecture)
      : ValueReader(file, decoder.architecture), d_(decoder), a_(architecture) {}

  Status Run() {
    RETURN_IF_ERROR(ReadSizes());
    if (a_.recurrence != Recurrence::kNone) RETURN_IF_ERROR(ReadRecurrent());
    if (a_.latent) RETURN_IF_ERROR(ReadLatent());
    RETURN_IF_ERROR(ReadParallel());
    RETURN_IF_ERROR(ReadExperts());
    RETURN_IF_ERROR(ReadScales());
    RETURN_IF_ERROR(ReadRotaries());
    return ReadForms();
  }

 private:
  Status ReadSizes() {
    ASSIGN_OR_RETURN(d_.layers, Int("block_count", {}, 1, 4096));
    ASSIGN_OR_RETURN(d_.width, Int("embedding_length", {}, 1, kMostSize));
    ASSIGN_OR_RETURN(const int64_t unread, Int("nextn_predict_layers", 0, 0, d_.layers - 1));
    const int64_t listed = d_.layers;
    d_.layers -= unread;  // they guess tokens behind the next one
    const bool mixes = file_.Find(Key(kExpertHidden)) != nullptr;  // no other layers, perhaps
    const int64_t least = a_.recurrence == Recurrence::kNone ? 1 : 0;
    ASSIGN_OR_RETURN(
        d_.hidden, OfLayers(mixes && file_.Find(Key(kHidden)) == nullptr ? kExpertHidden : kHidden,
                            {}, least, kMostSize, listed, hidden_, true));
    ASSIGN_OR_RETURN(d_.trained_context, Int("context_length", {}, 1, kMostPositions));
    if (a_.attends == Attends::kNever) {
      d_.heads = d_.kv_heads = d_.head_size = d_.value_size = 1;  // of no layer
    } else {
      RETURN_IF_ERROR(ReadHeads(listed));
    }
    ASSIGN_OR_RETURN(d_.epsilon, Float(a_.centred ? "attention.layer_norm_epsilon"
                                                  : "attention.layer_norm_rms_epsilon",
                                       {}));
    return OkStatus();
  }

  Status ReadHeads(int64_t listed) {
    std::vector<int64_t> heads;
    ASSIGN_OR_RETURN(d_.heads, OfLayers("attention.head_count", {}, 1, 4096, listed, heads));
    ASSIGN_OR_RETURN(d_.kv_heads,
                     OfLayers("attention.head_count_kv", d_.heads, 1, 4096, listed, key_heads_));
    const bool has_skips = a_.attends == Attends::kByKeyHeads && a_.recurrence == Recurrence::kNone;
    for (int64_t i = 0; has_skips && i < listed; ++i) {
      if ((heads[i] == 0) != (key_heads_[i] == 0))
        return Unsupported("layer {} has {} heads and {} key heads", i, heads[i], key_heads_[i]);
    }
    ASSIGN_OR_RETURN(d_.head_size, Int("attention.key_length",
                                       std::max<int64_t>(1, d_.width / d_.heads), 1, kMostSize));
    ASSIGN_OR_RETURN(d_.value_size, Int("attention.value_length", d_.head_size, 1, kMostSize));
    if (d_.heads % d_.kv_heads != 0)
      return InvalidModel("{} heads and {} key heads do not fit", d_.heads, d_.kv_heads);
    return OkStatus();
  }

  Status ReadRecurrent() {
    Recurrent& r = d_.recurrent;
    if (a_.recurrence == Recurrence::kShortConv) {
      ASSIGN_OR_RETURN(r.taps, Int("shortconv.l_cache", {}, 2, 4096));
      r.inner = d_.width;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(r.taps, Int("ssm.conv_kernel", {}, 2, 4096));
    ASSIGN_OR_RETURN(r.inner, Int("ssm.inner_size", {}, 1, kMostSize));
    ASSIGN_OR_RETURN(r.size, Int("ssm.state_size", {}, 1, kMostSize));
    if (a_.recurrence == Recurrence::kScan) {
      ASSIGN_OR_RETURN(r.rank, Int("ssm.time_step_rank", {}, 1, kMostSize));
      ASSIGN_OR_RETURN(r.norms, Flag("ssm.dt_b_c_rms", false));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(r.heads, Int("ssm.time_step_rank", {}, 1, kMostSize));
    ASSIGN_OR_RETURN(r.key_heads, Int("ssm.group_count", 1, 1, kMostSize));
    if (r.inner % r.heads == 0 && r.heads % r.key_heads == 0) return OkStatus();
    return InvalidModel("{} columns, {} heads and {} groups of states do not fit", r.inner, r.heads,
                        r.key_heads);
  }

  /// Older files count heads as they are made, newer ones as they are kept.
  Status ReadLatent() {
    Latent& l = d_.latent;
    const int64_t most = int64_t{1} << 20;
    ASSIGN_OR_RETURN(l.rank, Int("attention.kv_lora_rank", {}, 1, most));
    ASSIGN_OR_RETURN(l.query_rank, Int("attention.q_lora_rank", 0, 0, most));
    ASSIGN_OR_RETURN(const int64_t size, Int("attention.key_length_mla", d_.head_size, 2, most));
    ASSIGN_OR_RETURN(l.value, Int("attention.value_length_mla", d_.value_size, 1, most));
    ASSIGN_OR_RETURN(l.turned, Int("rope.dimension_count", {}, 2, size - 1));
    l.plain = size - l.turned;
    l.is_absorbed = file_.FindTensor("blk.0.attn_kv_b.weight") == nullptr;
    d_.kv_heads = l.is_absorbed ? 1 : d_.heads;
    d_.head_size = l.is_absorbed ? l.rank + l.turned : size;
    d_.value_size = l.is_absorbed ? l.rank : l.value;
    return OkStatus();
  }

  Status ReadParallel() {
    ASSIGN_OR_RETURN(const bool flag, Flag("use_parallel_residual", false));
    const bool has_norm = file_.FindTensor(fmt::format("blk.0.{}.weight", a_.feed_norm)) != nullptr;
    d_.parallel = (a_.parallel && !has_norm) || (a_.parallel_by_flag && flag);
    return OkStatus();
  }

  Status ReadExperts() {
    Experts& e = d_.experts;
    constexpr int64_t kMost = 1 << 16;
    ASSIGN_OR_RETURN(e.count, Int("expert_count", a_.mixes ? std::optional<int64_t>() : 0,
                                  a_.mixes ? 1 : 0, kMost));
    if (e.count == 0) return OkStatus();
    ASSIGN_OR_RETURN(e.used, Int("expert_used_count", {}, 1, e.count));
    ASSIGN_OR_RETURN(e.hidden, Int(kExpertHidden, d_.hidden, 1, 1 << 20));
    ASSIGN_OR_RETURN(const int64_t shared, Int("expert_shared_count", a_.shared_experts, 0, kMost));
    ASSIGN_OR_RETURN(e.shared_hidden, Int("expert_shared_feed_forward_length", shared * e.hidden, 0,
                                          int64_t{1} << 36));
    RETURN_IF_ERROR(ReadGroups());
    ASSIGN_OR_RETURN(e.normalised, Flag("expert_weights_norm", a_.normalised));
    ASSIGN_OR_RETURN(e.scale, Float("expert_weights_scale", 1.0));
    if (e.scale == 0) e.scale = 1;  // as files say that there is none
    for (const TensorInfo& tensor : file_.tensors()) {
      if (tensor.extents.size() == 3 && tensor.extents[2] == e.count)
        e.idle_bytes += std::ssize(tensor.bytes) / e.count * (e.count - e.used);
    }
    return ReadScores();
  }

  Status ReadGroups() {
    Experts& e = d_.experts;
    ASSIGN_OR_RETURN(e.groups, Int("expert_group_count", 1, 0, e.count));
    e.groups = std::max<int64_t>(1, e.groups);
    if (e.groups == 1) return OkStatus();
    ASSIGN_OR_RETURN(e.used_groups, Int("expert_group_used_count", {}, 1, e.groups));
    if (e.count % e.groups == 0 && e.used <= e.count / e.groups * e.used_groups) return OkStatus();
    return InvalidModel("{} of {} experts cannot be of {} of {} groups", e.used, e.count,
                        e.used_groups, e.groups);
  }

  /// Softmax of the chosen scores is that of all scores, divided by their sum.
  Status ReadScores() {
    enum : int64_t { kUnknown, kSoftmax, kSigmoid, kSoftmaxOfChosen };
    ASSIGN_OR_RETURN(const int64_t kind,
                     Int("expert_gating_func", kUnknown, kUnknown, kSoftmaxOfChosen));
    d_.experts.sigmoid = kind == kUnknown ? a_.sigmoid : kind == kSigmoid;
    d_.experts.normalised |= kind == kSoftmaxOfChosen;
    return OkStatus();
  }

  Status ReadScales() {
    const auto width = static_cast<double>(d_.width), layers = static_cast<double>(d_.layers);
    const double embedding = a_.scales_embedding ? std::sqrt(width) : a_.scales_depth ? 12 : 1;
    ASSIGN_OR_RETURN(d_.embedding_scale, Float("embedding_scale", embedding));
    ASSIGN_OR_RETURN(d_.residual_scale,
                     Float("residual_scale", a_.scales_depth ? 1.4 / std::sqrt(layers) : 1));
    ASSIGN_OR_RETURN(const double logits, Float("logit_scale", a_.scales_depth ? width / 256 : 1));
    d_.logit_scale = logits == 0 ? 1 : a_.multiplies_logits ? logits : 1 / logits;
    const bool is_wide = a_.wide_layers != 0 && d_.layers == a_.wide_layers;
    const Latent& l = d_.latent;
    const double size = l.rank > 0 ? static_cast<double>(l.plain + l.turned)
                                   : width / static_cast<double>(d_.heads);
    ASSIGN_OR_RETURN(d_.attention_scale,
                     Float("attention.scale", is_wide || l.rank > 0 ? 1 / std::sqrt(size) : 0));
    ASSIGN_OR_RETURN(d_.clamp, Float("attention.clamp_kqv", 0.0));
    ASSIGN_OR_RETURN(d_.attention_cap, Float("attn_logit_softcapping", a_.attention_cap));
    ASSIGN_OR_RETURN(d_.logit_cap, Float("final_logit_softcapping", a_.logit_cap));
    if (d_.attention_scale < 0 || d_.attention_cap < 0 || d_.logit_cap < 0)
      return InvalidModel("scores have a negative scale or cap");
    if (!(d_.clamp >= 0))
      return InvalidModel("value '{}': {}", Key("attention.clamp_kqv"), d_.clamp);
    return OkStatus();
  }

  Status ReadRotaries() {
    ASSIGN_OR_RETURN(const bool turns, Flag("rope.scaling.finetuned", true));
    if (a_.learned_positions || a_.unturned || a_.attends == Attends::kNever ||
        (a_.turned_by_flag && !turns))
      return OkStatus();
    if (a_.sloped && (a_.sloped_layers == 0 || a_.sloped_layers == d_.layers)) {
      ASSIGN_OR_RETURN(d_.most_slope, Float("attention.max_alibi_bias", 8.0));
      if (!(d_.most_slope >= 0 && d_.most_slope < 1e3))
        return InvalidModel("value '{}': {}", Key("attention.max_alibi_bias"), d_.most_slope);
      return OkStatus();
    }
    Rotary all;
    ASSIGN_OR_RETURN(all.rotated, Int("rope.dimension_count", d_.head_size, 2, d_.head_size));
    if (all.rotated % 2 != 0)
      return InvalidModel("{} elements of a head cannot be turned in pairs", all.rotated);
    ASSIGN_OR_RETURN(all.base, Float("rope.freq_base", 10000.0));
    if (file_.FindTensor("rope_freqs.weight") != nullptr) all.factors = "rope_freqs.weight";
    if (file_.FindTensor("rope_factors_short.weight") != nullptr)
      all.factors = "rope_factors_short.weight";
    if (file_.FindTensor("rope_factors_long.weight") != nullptr)
      all.long_factors = "rope_factors_long.weight";
    Rotary of_windows = all;
    RETURN_IF_ERROR(ReadStretch(all));
    d_.rotaries = {all};
    if (a_.windows_stay) {
      const double usual = a_.window_base == 0 ? all.base : a_.window_base;
      ASSIGN_OR_RETURN(of_windows.base, Float("rope.freq_base_swa", usual));
      d_.rotaries.push_back(of_windows);
    }
    for (const Rotary& rotary : d_.rotaries) {
      const bool fits = rotary.base > 0 && rotary.stretch > 0 && std::isfinite(rotary.magnitude);
      if (!fits) return InvalidModel("positions have no frequencies");
    }
    return OkStatus();
  }

  Status ReadStretch(Rotary& rotary) {
    ASSIGN_OR_RETURN(const std::string type, file_.Text(Key("rope.scaling.type"), "none"));
    ASSIGN_OR_RETURN(rotary.context, Int("rope.scaling.original_context_length", d_.trained_context,
                                         1, kMostPositions));
    ASSIGN_OR_RETURN(rotary.magnitude, Float("rope.scaling.attn_factor", 1.0));
    if (type == "none" || type == "longrope") return OkStatus();
    if (type != "linear" && type != "yarn")
      return Unsupported("value '{}': expected none, linear, yarn or longrope, got '{}'",
                         Key("rope.scaling.type"), type);
    ASSIGN_OR_RETURN(rotary.stretch, Float("rope.scaling.factor", 1.0));
    rotary.yarn = type == "yarn" && rotary.stretch > 0;
    if (!rotary.yarn) return OkStatus();
    ASSIGN_OR_RETURN(rotary.fast, Float("rope.scaling.yarn_beta_fast", 32.0));
    ASSIGN_OR_RETURN(rotary.slow, Float("rope.scaling.yarn_beta_slow", 1.0));
    return ReadMagnitudes(rotary);
  }

  /// YaRN makes scores grow with the logarithm of the stretch: by what turned queries and keys are
  /// multiplied or, in files that say so, by the scale of scores, the temperature of queries, or
  /// not.
  Status ReadMagnitudes(Rotary& rotary) {
    const double grown = 0.1 * std::max(0.0, std::log(rotary.stretch));
    ASSIGN_OR_RETURN(const double share, Float("rope.scaling.yarn_log_multiplier", 0.0));
    ASSIGN_OR_RETURN(d_.temperature, Float("attention.temperature_scale", 0.0));
    if (share == 0) {
      rotary.magnitude *= 1 + grown;
    } else if (a_.latent) {  // such files have a tenth
      d_.attention_scale *= (1 + 10 * share * grown) * (1 + 10 * share * grown);
    } else {
      rotary.magnitude *= (1 + grown) / (1 + share * grown);
    }
    return OkStatus();
  }

  /// The period of layers that see all keys, as the file has it, or flags of all layers.
  Status ReadForms() {
    constexpr std::string_view kPattern = "attention.sliding_window_pattern";
    ASSIGN_OR_RETURN(int64_t window, Int("attention.sliding_window", -1, -1, kMostPositions));
    if (window == 0) window = -1;
    const std::vector<double>* flags = file_.Numbers(Key(kPattern));
    int64_t period = a_.window_period;
    if (flags != nullptr && std::ssize(*flags) != d_.layers)
      return InvalidModel("value '{}': expected {} flags", Key(kPattern), d_.layers);
    if (flags == nullptr) {
      ASSIGN_OR_RETURN(period, Int(kPattern, period, 0, d_.layers + kMostPositions));
    }
    ASSIGN_OR_RETURN(const int64_t dense, Int("leading_dense_block_count", 0, 0, kMostPositions));
    ASSIGN_OR_RETURN(const int64_t every, Int("interleave_moe_layer_step", 1, 1, kMostPositions));
    std::vector<Xielu> xielus(d_.layers);
    if (d_.gating.activation == Activation::kXielu) {
      ASSIGN_OR_RETURN(xielus, ReadXielus(d_.layers));
    }
    ASSIGN_OR_RETURN(const int64_t interval, Int("full_attention_interval", 4, 1, kMostPositions));
    for (int64_t i = 0; i < d_.layers; ++i) {
      const bool sees_all = flags != nullptr ? (*flags)[i] == 0 : IsLast(i, period);
      LayerForm form;
      if (!sees_all) form.window = window;
      if (form.window > 0 && a_.windows_stay) form.rotary = 1;
      form.experts = d_.experts.count > 0 && i >= dense && IsLast(i, every);
      if (a_.mixes_by_router)
        form.experts &= file_.FindTensor(fmt::format("blk.{}.ffn_gate_inp.weight", i)) != nullptr;
      const bool stays = d_.rotaries.empty() || (a_.only_windows_turn && window > 0 && sees_all);
      if (stays || IsLast(i, a_.bare_period)) form.rotary = -1;
      SetParts(i, interval, form);
      form.xielu = xielus[i];
      d_.forms.push_back(form);
    }
    return OkStatus();
  }

  void SetParts(int64_t layer, int64_t interval, LayerForm& form) const {
    form.hidden = hidden_[layer];
    form.feeds = form.hidden > 0;
    if (a_.attends == Attends::kNever) form.attends = false;
    if (a_.attends == Attends::kByKeyHeads) form.attends = key_heads_[layer] > 0;
    if (a_.attends == Attends::kAtInterval) form.attends = IsLast(layer, interval);
    // Where norms are one tensor, a layer is one part.
    if (a_.feed_norm == "attn_norm" && form.feeds) {
      form.attends = false;
    } else if (!form.attends || a_.attends == Attends::kEvery) {
      form.recurrence = a_.recurrence;
    }
  }

  static bool IsLast(int64_t layer, int64_t period) {
    return period > 0 && layer % period == period - 1;
  }

  static constexpr std::string_view kHidden = "feed_forward_length";
  static constexpr std::string_view kExpertHidden = "expert_feed_forward_length";
  static constexpr int64_t kMostSize = 1 << 20, kMostPositions = int64_t{1} << 40;
  std::vector<int64_t> hidden_, key_heads_;  // of layers
  Decoder& d_;
  const Architecture& a_;
};

}  // namespace

Result<Decoder> ReadDecoder(const File& file) {
  Decoder d;
  ASSIGN_OR_RETURN(d.architecture, file.Text("general.architecture", {}));
  ASSIGN_OR_RETURN(const Architecture* found, FindArchitecture(d.architecture));
  d.interleaved = found->interleaved;
  d.gating = found->gating;
  d.feed_norm = found->feed_norm;
  d.output_norm = found->output_norm;
  d.strided_keys = found->strided_keys;
  d.unit_heads = found->unit_heads;
  d.most_context = found->most_context;
  d.experts.scores_first = found->scores_first;
  ASSIGN_OR_RETURN(const std::string kind, file.Text(d.architecture + ".hidden_act", ""));
  if (kind == "relu2") d.gating.activation = Activation::kSquaredRelu;
  d.norms_turned = found->norms_turned;
  d.plain_norms = found->plain_norms;
  d.norms_before = found->norms_before;
  d.norms_after = found->norms_after;
  d.centred = found->centred;
  if (found->learned_positions) d.positions = "position_embd.weight";
  RETURN_IF_ERROR(DecoderReader(file, d, *found).Run());
  const TensorInfo* embedding = file.FindTensor("token_embd.weight");
  if (embedding == nullptr) return InvalidModel("tensor 'token_embd.weight' is missing");
  if (embedding->columns != d.width)
    return InvalidModel("tensor 'token_embd.weight': expected rows of {}, got {}", d.width,
                        embedding->columns);
  d.vocabulary = embedding->rows;
  return d;
}

}  // namespace fettle::gguf
