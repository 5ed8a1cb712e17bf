// The structure of a language model in a GGUF file, from its metadata.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/gguf/gguf_file.h"
#include "tensor/shape.h"

namespace fettle::gguf {

/// Rotary positions: pair i of `rotated / 2` turns by position * Frequency(i).
struct Rotary {
  int64_t rotated = 0;
  double base = 10000;
  double stretch = 1;    // positions are divided by it
  double magnitude = 1;  // of cosines and sines
  /// YaRN (Peng et al., 2023, arXiv 2309.00071): of the pairs' frequencies in `context` positions,
  /// those of `fast` turns and more stay, those of `slow` turns and fewer are stretched, and others
  /// lie between.
  bool yarn = false;
  double fast = 32, slow = 1;
  int64_t context = 0;  // before it was stretched
  /// Frequencies are divided by the tensor `factors`, in contexts longer than `context` by
  /// `long_factors`. Empty: by nothing.
  std::string factors, long_factors;

  /// Of a pair whose factor is `divisor`.
  double Frequency(int64_t pair, double divisor) const;
  const std::string& FactorsIn(int64_t capacity) const {
    return capacity > context && !long_factors.empty() ? long_factors : factors;
  }
};

/// State that a layer may keep of all tokens so far, beside keys and values or instead of them
/// (recurrent_parts.h).
enum class Recurrence {
  kNone,
  kShortConv,  // the last rows of a gated convolution (LFM2)
  kScan,       // a selective scan (Mamba)
  kHeadScan,   // one by heads, with one decay each (Mamba 2)
  kDelta,      // the gated delta rule
};

/// Sizes of recurrent layers, which all have the same.
struct Recurrent {
  int64_t taps = 0;   // of the convolution
  int64_t inner = 0;  // columns that it works on, without keys and queries
  int64_t size = 0;   // of a key
  int64_t heads = 1, key_heads = 1;
  int64_t rank = 0;    // of the rows that time steps are made from
  bool norms = false;  // rows of time steps, keys and queries are normalised, without weights

  int64_t value_size() const { return inner / heads; }
  /// Of the convolution.
  int64_t channels(Recurrence kind) const {
    const bool alone = kind == Recurrence::kShortConv || kind == Recurrence::kScan;
    return alone ? inner : inner + 2 * key_heads * size;
  }
};

/// Slots of a cache for states: a run reads one and may write another, so that the old state can be
/// restored.
inline constexpr int64_t kSlotsOfCache = 2;
/// A state of a layer: `shape` without the axis of slots.
struct KeptState {
  std::string name;
  Shape shape;
  /// The states of `caches` caches, all their slots.
  Shape OfCaches(int64_t caches) const {
    Dims dims = {caches * kSlotsOfCache};
    for (int axis = 0; axis < shape.rank(); ++axis) dims.push_back(shape[axis]);
    return Shape(dims);
  }
};

/// "Deriving Activation Functions Using Integration" (Huang, 2024, arXiv 2411.13010): beta x, and
/// positive x^2 above 0, negative (e^min(x, epsilon) - 1 - x) elsewhere.
struct Xielu {
  double positive = 0, negative = 0, beta = 0, epsilon = 0;
};

/// Facts that differ from layer to layer.
struct LayerForm {
  bool attends = true, feeds = true;  // has attention, a feed-forward part
  Recurrence recurrence = Recurrence::kNone;
  int64_t window = -1;   // keys that a query sees; -1: all
  int rotary = 0;        // index into Decoder::rotaries; -1: queries and keys are not turned
  bool experts = false;  // the feed-forward part is a mixture of experts
  int64_t hidden = 0;    // columns between the matrices of a feed-forward part without experts
  Xielu xielu;
};

/// A mixture of experts: each row goes through the `used` of `count` networks that the router's
/// scores choose, and their results are added, each times its score.
struct Experts {
  int64_t count = 0, used = 0;  // 0: there are none
  /// Those that a row chooses are of `used_groups` of the groups, whose two best scores have the
  /// largest sums.
  int64_t groups = 1, used_groups = 1;
  int64_t hidden = 0;         // of each
  int64_t shared_hidden = 0;  // of the network that all rows go through besides; 0: there is none
  bool sigmoid = false;       // scores are sigmoids of the router's results, otherwise softmax
  bool normalised = false;    // the chosen scores are divided by their sum
  bool scores_first = false;  // rows are multiplied by scores before the networks, not results
  double scale = 1;           // times the scores
  int64_t idle_bytes = 0;     // of the file's matrices of experts that a token does not choose
};

/// Keys and values that are made from one latent row for all heads (latent_attention.cc).
struct Latent {
  int64_t rank = 0;        // of the latent row; 0: there is none
  int64_t query_rank = 0;  // queries are made from a row of so many; 0: from what the layer gets
  int64_t plain = 0, turned = 0;  // elements of a head's query and key
  int64_t value = 0;              // elements of a head's value
  bool is_absorbed = false;  // the cache keeps latent rows: one head, whose values are its keys'
};

enum class Activation {
  kSwish,        // x * sigmoid(slope * x)
  kGelu,         // by tanh
  kExactGelu,    // by erf
  kSquaredRelu,  // max(x, 0)^2
  kXielu,        // LayerForm::xielu
};

/// What a feed-forward part makes of a gate g and a value v: with g and |v| not above `limit`
/// (0: none), the activation of g times v + shift; where `alone` there is no gate, and it makes the
/// activation of v.
struct Gating {
  Activation activation = Activation::kSwish;
  bool alone = false;
  double slope = 1, limit = 0, shift = 0;
};

struct Decoder {
  std::string architecture;
  int64_t layers = 0, width = 0, vocabulary = 0;
  int64_t hidden = 0;  // the most of any layer
  int64_t heads = 0, kv_heads = 0, head_size = 0, value_size = 0;
  int64_t trained_context = 0;   // positions that it was trained for
  std::vector<LayerForm> forms;  // of each layer
  std::vector<Rotary> rotaries;
  double epsilon = 1e-5;
  double embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  double attention_scale = 0;  // 0: 1 / sqrt(head_size)
  /// Not 0: scores x, and logits, become cap * tanh(x / cap).
  double attention_cap = 0, logit_cap = 0;
  double clamp = 0;        // queries, keys and values are at most this; 0: whatever they are
  double most_slope = 0;   // of ALiBi: those of heads are 2^-most_slope and more; 0: there are none
  double temperature = 0;  // by how much queries grow at each multiple of the trained context
  bool interleaved = false;   // rotary pairs are neighbours
  bool norms_turned = false;  // queries and keys are normalised after they are turned
  bool unit_heads = false;    // turned ones are normalised besides, without weights
  /// Not 0: the first chunk, in which all layers see all keys and no query grows.
  int64_t most_context = 0;
  bool plain_norms = false;  // norms have no weights
  Latent latent;
  Recurrent recurrent;
  bool strided_keys = false;  // heads i, i + key_heads, ... share a key; otherwise runs of heads do
  Gating gating;
  Experts experts;
  std::string feed_norm;  // the tensor by which the feed-forward part normalises what it gets
  /// Attention and the feed-forward part normalise what they get, and what they give.
  bool norms_before = true, norms_after = false;
  bool centred = false;  // norms subtract the mean: LayerNormalization
  bool parallel =
      false;  // the feed-forward part reads what the layer gets, not what attention adds
  /// The tensor whose rows are added to the embedding, one for each position; empty: none is.
  std::string positions;
  std::string output_norm = "output_norm";

  bool has_states() const;
  /// Of a layer; `name`.N is its tensor's.
  std::vector<KeptState> StatesOf(int64_t layer) const;
};
/// Fails with kUnsupported for architectures, and ways to stretch positions, that Fettle does not
/// build, naming those it does; kInvalidModel where values are missing or do not fit.
Result<Decoder> ReadDecoder(const File& file);

}  // namespace fettle::gguf
