// The attention of decoders: positions, heads and the cache.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "importers/gguf/decoder_parts.h"

namespace fettle::gguf {

/// Queries, keys and values of a layer, and what they see of its cache.
class AttentionParts : protected DecoderParts {
 protected:
  AttentionParts(std::shared_ptr<const File> file, const Decoder& decoder, int64_t capacity,
                 const DecoderForm& form)
      : DecoderParts(std::move(file), decoder, form), capacity_(capacity) {}

  ir::ValueId Input(std::string name, DType dtype, const Shape& shape,
                    std::vector<std::string> symbols = {});
  void AddInputs();
  /// What all layers share: tables of rotary positions, and what keys add to scores (ALiBi).
  Status AddPositions();
  /// The attention of layer `layer`, whose tensors begin with `at`, for x.
  Result<ir::ValueId> Attention(int64_t layer, const std::string& at, ir::ValueId x) {
    return d_.latent.rank > 0 ? LatentAttention(layer, at, x) : HeadAttention(layer, at, x);
  }

  /// A number for each place of x [.., a, b], times `sizes`; 0 keeps an extent.
  ir::ValueId Shaped(ir::ValueId x, const std::vector<int64_t>& sizes);
  /// Columns of x.
  std::vector<ir::ValueId> Parts(ir::ValueId x, const std::vector<int64_t>& sizes);
  std::vector<ir::ValueId> Parts(ir::ValueId x, int64_t first, int64_t second) {
    return Parts(x, {first, second});
  }

  int64_t capacity_;
  ir::ValueId hidden_ = 0, last_ = 0, steps_ = 0;
  ir::ValueId packed_shape_ = 0;

 private:
  struct Turns {
    ir::ValueId cosines = 0, sines = 0;
  };
  struct Projected {
    ir::ValueId q = 0, k = 0, v = 0;
    ir::ValueId gate = ir::kAbsent;  // what is attended to is multiplied by its sigmoid
  };
  Status AddRotary(const Rotary& rotary, double temperature, std::vector<Turns>& turns);
  void AddSlopes();

  Result<ir::ValueId> HeadAttention(int64_t layer, const std::string& at, ir::ValueId x);
  Result<Projected> Project(const std::string& at, ir::ValueId x);
  ir::ValueId Clamped(ir::ValueId x);
  Result<ir::ValueId> HeadNorm(const std::string& norm, ir::ValueId x, int64_t count);
  /// `rotated` elements of each of `count` heads, turned.
  ir::ValueId Turned(const LayerForm& form, bool are_queries, ir::ValueId x, int64_t count);
  Result<ir::ValueId> Heads(const LayerForm& form, bool are_queries, const std::string& norm,
                            ir::ValueId x);
  /// Attention of the queries over keys and values, which the layer's cache keeps.
  Result<ir::ValueId> Attended(int64_t layer, const std::string& at, const Projected& heads);

  /// latent_attention.cc
  Result<ir::ValueId> LatentAttention(int64_t layer, const std::string& at, ir::ValueId x);
  Result<ir::ValueId> LatentQueries(const std::string& at, ir::ValueId x);
  ir::ValueId JoinedHeads(ir::ValueId a, ir::ValueId b);
  Result<ir::ValueId> EachHead(const std::string& name, ir::ValueId x, int64_t k, int64_t n);

  ir::ValueId position_ = 0, seqlens_ = 0, total_ = 0;
  ir::ValueId cache_of_ = ir::kAbsent;
  ir::ValueId slopes_ = ir::kAbsent;        // [1, heads, 1, capacity]
  std::vector<Turns> turns_, query_turns_;  // of Decoder::rotaries
};

}  // namespace fettle::gguf
