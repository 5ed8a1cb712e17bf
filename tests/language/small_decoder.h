// A decoder of random weights in a GGUF file of a few kilobytes.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tests/language/gguf_writer.h"

namespace fettle {

struct SmallDecoder {
  std::string architecture = "llama";
  uint32_t type = 3;  // of matrices: Q4_1
  uint32_t layers = 2, width = 64, hidden = 96, heads = 4, kv_heads = 2, vocabulary = 96;
  uint32_t experts = 0, used = 2;  // qwen3moe has some
  bool is_kept = false;            // deepseek2: caches keep latent rows

  bool is_centred() const {
    return architecture == "gpt2" || architecture == "phi2" || architecture == "bloom";
  }
  bool is_latent() const { return architecture == "deepseek2"; }
  /// The first layer has a state, in mamba's files each.
  bool is_recurrent() const {
    return architecture == "lfm2" || architecture == "mamba" || architecture == "granitehybrid" ||
           architecture == "qwen35";
  }
  bool recurs(uint32_t layer) const {
    return is_recurrent() && (layer == 0 || architecture == "mamba");
  }
};

inline std::string RandomFloats(size_t count, float middle, float spread, std::mt19937& random) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    const float unit = static_cast<float>(random() >> 8) / 16777216.0F;
    GgufWriter::Put(bytes, middle + spread * (2 * unit - 1));
  }
  return bytes;
}

/// Blocks whose first halves (d, and m for Q4_1) are small and whose codes are random.
inline std::string RandomBlocks(uint32_t type, size_t count, std::mt19937& random) {
  if (type == 0) return RandomFloats(count, 0, 0.3F, random);
  std::string bytes;
  for (size_t i = 0; type == 1 && i < count; ++i)
    GgufWriter::Put(bytes, Half(static_cast<float>(random() >> 20) / 4096 - 0.5F));
  for (size_t i = 0; type == 30 && i < count; ++i)
    GgufWriter::Put(bytes, BFloat16(static_cast<float>(random() >> 20) / 4096 - 0.5F));
  if (type == 1 || type == 30) return bytes;
  const size_t codes = type == 8 ? 32 : 16;
  for (size_t block = 0; block < count / 32; ++block) {
    const Half step(type == 8 ? 0.002F : 0.03F), low(-0.22F);
    GgufWriter::Put(bytes, step);
    if (type == 3) GgufWriter::Put(bytes, low);
    for (size_t i = 0; i < codes; ++i) bytes += static_cast<char>(random() >> 9);
  }
  return bytes;
}

/// The tokens: bytes 0x21 to 0x7e by their GPT-2 names, a space, "ab", and the end.
inline void AddTokens(uint32_t count, GgufWriter& file) {
  std::vector<std::string> tokens;
  for (char c = 0x21; c < 0x7f; ++c) tokens.emplace_back(1, c);
  tokens.resize(count - 2, "a");
  tokens.emplace_back("\xc4\xa0");
  tokens.emplace_back("<|end|>");
  file.Text("tokenizer.ggml.model", "gpt2");
  file.Text("tokenizer.ggml.pre", "gpt-2");
  file.Texts("tokenizer.ggml.tokens", tokens);
  std::vector<int32_t> kinds(count, 1);
  kinds.back() = 3;
  file.Numbers("tokenizer.ggml.token_type", 5, kinds);
  file.Texts("tokenizer.ggml.merges", {});
  file.Int("tokenizer.ggml.eos_token_id", count - 1);
}

/// Metadata of recurrent layers: a convolution of 4 taps, states of 8 heads and 2 groups.
inline void AddStateSizes(const SmallDecoder& d, GgufWriter& file) {
  const std::string& name = d.architecture;
  if (name == "lfm2") return file.Int(name + ".shortconv.l_cache", 4);
  file.Int(name + ".ssm.conv_kernel", 4);
  file.Int(name + ".ssm.inner_size", 128);
  file.Int(name + ".ssm.state_size", 16);
  file.Int(name + ".ssm.time_step_rank", name == "mamba" ? 32 : 8);
  file.Int(name + ".ssm.group_count", name == "mamba" ? 1 : 2);
  if (name == "qwen35") file.Int(name + ".full_attention_interval", 2);
}

/// Tensors of a recurrent layer, whose matrices `matrix` adds, and others `floats`.
template <typename Matrix, typename Floats>
void AddStateTensors(const SmallDecoder& d, const std::string& at, const Matrix& matrix,
                     const Floats& floats) {
  constexpr uint64_t kInner = 128, kSize = 16, kHeads = 8, kKeys = 32;
  using Extents = std::vector<uint64_t>;
  const auto conv = [&](uint64_t channels) {
    floats(at + "ssm_conv1d.weight", Extents{4, channels}, 0);
    if (d.architecture != "qwen35") floats(at + "ssm_conv1d.bias", Extents{channels}, 0);
  };
  if (d.architecture == "lfm2") {
    matrix(at + "shortconv.in_proj", d.width, 3 * uint64_t{d.width});
    floats(at + "shortconv.conv.weight", Extents{4, d.width}, 0);
    return matrix(at + "shortconv.out_proj", d.width, d.width);
  }
  matrix(at + "ssm_out", kInner, d.width);
  if (d.architecture == "mamba") {
    matrix(at + "ssm_in", d.width, 2 * kInner);
    conv(kInner);
    matrix(at + "ssm_x", kInner, 32 + 2 * kSize);
    matrix(at + "ssm_dt", 32, kInner);
    floats(at + "ssm_dt.bias", Extents{kInner}, 0);
    floats(at + "ssm_a", Extents{kSize, kInner}, -1);
    return floats(at + "ssm_d", Extents{kInner}, 1);
  }
  floats(at + "ssm_dt.bias", Extents{kHeads}, 0);
  floats(at + "ssm_a", Extents{1, kHeads}, -1);
  conv(kInner + 2 * kKeys);
  if (d.architecture == "granitehybrid") {
    matrix(at + "ssm_in", d.width, 2 * kInner + 2 * kKeys + kHeads);
    floats(at + "ssm_d", Extents{1, kHeads}, 1);
    return floats(at + "ssm_norm.weight", Extents{kInner / 2, 2}, 1);
  }
  matrix(at + "attn_qkv", d.width, kInner + 2 * kKeys);
  matrix(at + "attn_gate", d.width, kInner);
  matrix(at + "ssm_alpha", d.width, kHeads);
  matrix(at + "ssm_beta", d.width, kHeads);
  floats(at + "ssm_norm.weight", Extents{kSize}, 1);
}

inline std::string WriteSmallDecoder(const SmallDecoder& d = {}) {
  GgufWriter file;
  std::mt19937 random(7);
  const std::string& name = d.architecture;
  file.Text("general.architecture", name);
  file.Int(name + ".block_count", d.layers);
  file.Int(name + ".context_length", 128);
  file.Int(name + ".embedding_length", d.width);
  const bool feeds = name != "mamba";
  file.Int(name + ".feed_forward_length", feeds ? d.hidden : 0);
  file.Int(name + ".attention.head_count", d.heads);
  if (name == "lfm2" || name == "granitehybrid") {
    std::vector<int32_t> counts(d.layers, static_cast<int32_t>(d.kv_heads));
    counts[0] = 0;
    file.Numbers(name + ".attention.head_count_kv", 5, counts);
  } else {
    file.Int(name + ".attention.head_count_kv", d.kv_heads);
  }
  if (d.is_recurrent()) AddStateSizes(d, file);
  file.Float(name + ".attention.layer_norm_rms_epsilon", 1e-5F);
  file.Float(name + ".attention.layer_norm_epsilon", 1e-5F);
  if (d.experts > 0) file.Int(name + ".expert_count", d.experts);
  if (d.experts > 0) file.Int(name + ".expert_used_count", d.used);
  constexpr uint32_t kRank = 32, kPlain = 32, kTurned = 16, kValue = 64;  // of latent attention
  if (d.is_latent()) {
    file.Int(name + ".attention.kv_lora_rank", kRank);
    file.Int(name + ".attention.key_length_mla", kPlain + kTurned);
    file.Int(name + ".attention.value_length_mla", kValue);
    file.Int(name + ".rope.dimension_count", kTurned);
  }
  AddTokens(d.vocabulary, file);
  const auto matrix = [&](const std::string& tensor, uint64_t k, uint64_t n) {
    file.Tensor(tensor + ".weight", d.type, {k, n}, RandomBlocks(d.type, k * n, random));
  };
  const auto vector = [&](const std::string& tensor, uint64_t k, float middle) {
    file.Tensor(tensor, 0, {k}, RandomFloats(k, middle, 0.2F, random));
  };
  const auto floats = [&](const std::string& tensor, const std::vector<uint64_t>& extents,
                          float middle) {
    size_t count = 1;
    for (uint64_t extent : extents) count *= extent;
    file.Tensor(tensor, 0, extents, RandomFloats(count, middle, 0.5F, random));
  };
  const auto experts = [&](const std::string& tensor, uint64_t k, uint64_t n) {
    file.Tensor(tensor + "_exps.weight", d.type, {k, n, d.experts},
                RandomBlocks(d.type, k * n * d.experts, random));
  };
  const auto each = [&](const std::string& tensor, uint64_t k, uint64_t n) {
    file.Tensor(tensor + ".weight", d.type, {k, n, d.heads},
                RandomBlocks(d.type, k * n * d.heads, random));
  };
  const auto latent = [&](const std::string& at) {
    matrix(at + "attn_q", d.width, uint64_t{d.heads} * (kPlain + kTurned));
    matrix(at + "attn_kv_a_mqa", d.width, kRank + kTurned);
    vector(at + "attn_kv_a_norm.weight", kRank, 1);
    if (d.is_kept) {
      each(at + "attn_k_b", kPlain, kRank);
      each(at + "attn_v_b", kRank, kValue);
    } else {
      matrix(at + "attn_kv_b", kRank, uint64_t{d.heads} * (kPlain + kValue));
    }
    matrix(at + "attn_output", uint64_t{d.heads} * kValue, d.width);
  };
  const auto attention = [&](const std::string& at, uint64_t keys) {
    matrix(at + "attn_q", d.width, name == "qwen35" ? 2 * uint64_t{d.width} : d.width);
    matrix(at + "attn_k", d.width, keys);
    matrix(at + "attn_v", d.width, keys);
    matrix(at + "attn_output", d.width, d.width);
  };
  const uint64_t size = d.width / d.heads, keys = d.kv_heads * size;
  matrix("token_embd", d.width, d.vocabulary);
  if (name == "gpt2")
    file.Tensor("position_embd.weight", 0, {d.width, 128},
                RandomFloats(size_t{d.width} * 128, 0, 0.3F, random));
  if (name == "bloom") vector("token_embd_norm.weight", d.width, 1);
  vector(name == "lfm2" ? "token_embd_norm.weight" : "output_norm.weight", d.width, 1);
  for (uint32_t i = 0; i < d.layers; ++i) {
    const std::string at = "blk." + std::to_string(i) + ".";
    vector(at + "attn_norm.weight", d.width, 1);
    if (name == "qwen35")
      vector(at + "post_attention_norm.weight", d.width, 1);
    else if (name != "phi2" && name != "command-r")
      vector(at + "ffn_norm.weight", d.width, 1);
    if (d.recurs(i))
      AddStateTensors(d, at, matrix, floats);
    else if (d.is_latent())
      latent(at);
    else
      attention(at, keys);
    if (d.experts > 0) {
      const size_t count = size_t{d.width} * d.experts;
      file.Tensor(at + "ffn_gate_inp.weight", 0, {d.width, d.experts},
                  RandomFloats(count, 0, 0.3F, random));
      experts(at + "ffn_gate", d.width, d.hidden);
      experts(at + "ffn_up", d.width, d.hidden);
      experts(at + "ffn_down", d.hidden, d.width);
    } else if (feeds) {
      if (!d.is_centred()) matrix(at + "ffn_gate", d.width, d.hidden);
      matrix(at + "ffn_up", d.width, d.hidden);
      matrix(at + "ffn_down", d.hidden, d.width);
    }
    if (d.is_centred()) vector(at + "attn_norm.bias", d.width, 0);
    if (d.is_centred()) vector(at + "ffn_up.bias", d.hidden, 0);
    if (d.is_centred()) vector(at + "ffn_down.bias", d.width, 0);
    if (name == "qwen2") vector(at + "attn_q.bias", d.width, 0);
    if (name == "qwen2") vector(at + "attn_k.bias", keys, 0);
    if (d.recurs(i)) continue;
    if (name.starts_with("qwen3")) vector(at + "attn_q_norm.weight", size, 1);
    if (name.starts_with("qwen3")) vector(at + "attn_k_norm.weight", size, 1);
    if (name == "command-r") {
      file.Tensor(at + "attn_q_norm.weight", 0, {size, d.heads},
                  RandomFloats(size * d.heads, 1, 0.2F, random));
      file.Tensor(at + "attn_k_norm.weight", 0, {size, d.kv_heads},
                  RandomFloats(size * d.kv_heads, 1, 0.2F, random));
    }
  }
  return file.Finish();
}

}  // namespace fettle
