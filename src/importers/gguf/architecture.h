// Facts about architectures that their files do not contain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "importers/gguf/decoder.h"

namespace fettle::gguf {

/// Which layers attend. Of recurrent architectures others keep a state.
enum class Attends {
  kEvery,  // all of them
  kNever,
  kByKeyHeads,  // those that have key heads
  kAtInterval,  // the last of so many, as the file has it
};

/// How an architecture differs from `qwen2`, as far as files do not say it.
struct Architecture {
  std::string_view name;
  bool interleaved = false;
  Gating gating = {};
  bool scales_embedding = false;
  bool norms_before = true, norms_after = false;
  bool centred = false;
  /// Layers whose feed-forward part has no norm, or of files with the flag, are parallel.
  bool parallel = false, parallel_by_flag = false;
  bool learned_positions = false;  // instead of turned queries and keys
  /// Positions add to scores: ALiBi's slopes of 2^-8 and more, or as the file has it. In models of
  /// `sloped_layers` alone, if that is not 0; others are turned.
  bool sloped = false;
  int64_t sloped_layers = 0;
  bool latent = false;  // keys and values are made from latent rows
  bool norms_turned = false, plain_norms = false;
  /// Files that leave scales open have MiniCPM's.
  bool scales_depth = false;
  /// Where the file has a window, the last of so many layers sees all keys; 0: none does.
  int64_t window_period = 0;
  /// Layers with a window are turned by positions that are not stretched, of `window_base` (0: the
  /// file's base).
  bool windows_stay = false;
  double window_base = 0;
  bool only_windows_turn = false;  // if there are any
  int64_t bare_period = 0;         // the last of so many layers is not turned; 0: all are
  double attention_cap = 0, logit_cap = 0;
  bool multiplies_logits = false;  // by `logit_scale`; others divide
  /// Models of so many layers scale scores by the width of all heads together.
  int64_t wide_layers = 0;
  /// There have to be experts; files that leave it open have scores of this kind.
  bool mixes = false, sigmoid = false, normalised = false;
  bool mixes_by_router = false;  // there are experts in those layers that have a router
  std::string_view feed_norm = "ffn_norm", output_norm = "output_norm";
  /// Of layers that do not attend; of all layers where every one attends.
  Recurrence recurrence = Recurrence::kNone;
  Attends attends = Attends::kEvery;
  bool strided_keys = false;
  /// No layer is turned, or none where a flag of the file says so.
  bool unturned = false, turned_by_flag = false;
  bool unit_heads = false;     // Decoder::unit_heads
  bool scores_first = false;   // Experts::scores_first
  int64_t shared_experts = 0;  // of files that do not say
  int64_t most_context = 0;    // Decoder::most_context
};
/// Fails with kUnsupported, naming the known architectures.
Result<const Architecture*> FindArchitecture(const std::string& name);

}  // namespace fettle::gguf
