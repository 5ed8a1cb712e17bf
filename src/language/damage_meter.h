// Measures how changed weights change a language model's answers, by running it on a text.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "importers/gguf/language_graph.h"
#include "runtime/session.h"

namespace fettle::language {

/// Means over the text's tokens.
struct Damage {
  double divergence =
      0;  // Kullback and Leibler's, from the unchanged model's probabilities, in nats
  double perplexity = 0;
};

/// Runs a model on a text, all rows at once and with all weights as floats, so that two files
/// differ only by their weights. Belongs to one thread.
class DamageMeter {
 public:
  /// `tokens` (2 or more) are read in windows of at most 256. Takes four bytes for each weight, and
  /// for each token of the text and each of the vocabulary.
  static Result<std::unique_ptr<DamageMeter>> Create(std::shared_ptr<const gguf::File> file,
                                                     std::span<const int32_t> tokens, int threads,
                                                     const std::atomic<bool>* cancelled);
  /// Of a file with the same tensors in other types (gguf::File::Replace). Unchanged weights are
  /// not packed again.
  Result<Damage> Measure(const std::shared_ptr<const gguf::File>& changed) const;

  int64_t tokens() const { return window_ * std::ssize(windows_); }
  double perplexity() const { return perplexity_; }

 private:
  struct Window {
    std::vector<int32_t> tokens;
    std::vector<float> probabilities;  // [tokens, vocabulary], of the unchanged model
    double self = 0;                   // the sum of p log p
  };
  Result<std::unique_ptr<runtime::Session>> Open(
      const std::shared_ptr<const gguf::File>& file) const;
  Status AddStates(runtime::TensorMap& inputs) const;
  Result<Tensor> Logits(const gguf::File& file, const Window& window,
                        runtime::Session& session) const;
  Status ReadUnchanged(const gguf::File& file);

  gguf::Decoder decoder_;
  int threads_ = 0;
  const std::atomic<bool>* cancelled_ = nullptr;
  int64_t window_ = 0;
  double perplexity_ = 0;
  std::vector<Window> windows_;
  std::unique_ptr<runtime::Session> session_;  // of the unchanged model: keeps its packed weights
};

}  // namespace fettle::language
