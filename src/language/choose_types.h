// Chooses the types of a language model's matrices that lose least within a budget of bits.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "language/damage_meter.h"
#include "language/matrix_types.h"

namespace fettle::language {

struct ChoiceOptions {
  double bits = 4.5;  // of an element of all tensors, in the mean, at most
  /// Used instead of bits where it is 0 or more: the share by which perplexity may grow.
  double growth = -1;
  int threads = 1;
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(double share)> progress;
};

/// All matrices of a file in certain types.
struct Assignment {
  std::string name;  // "chosen", or the type that all have
  std::vector<const gguf::TensorType*> types;
  TensorSize size;
  Damage damage;            // measured, as is
  double tokens_per_s = 0;  // of an answer, behind a few tokens
};

struct TypeChoice {
  Assignment chosen;
  std::vector<Assignment> uniform;  // all widths that hold the budget, smallest first
  double perplexity = 0;            // of the file as it is
  int64_t tokens = 0;
  /// For each tensor the divergence that it alone causes in its chosen type, estimated from the
  /// measured one of its smallest type and the squared errors of both; 0 where it keeps its type.
  std::vector<double> divergence;
};

/// Measures each matrix alone in its smallest type (DamageMeter on `tokens`), assumes that its
/// divergence in other types is proportional to their squared errors, and solves the choice exactly
/// (ChooseSizes). A uniform width that measures better is taken instead. TQ2_0 is tried where
/// weights are ternary. kInvalidArgument where the budget is smaller than the smallest types. With
/// options.growth the budget of bytes is bisected until the measured perplexity is the highest
/// allowed; a uniform width that keeps the limit in fewer bytes is taken instead.
Result<TypeChoice> ChooseTypes(const std::shared_ptr<const gguf::File>& file,
                               std::span<const int32_t> tokens, const ChoiceOptions& options);

/// A text of so many tokens that the model writes itself; equal seeds give equal texts.
Result<std::vector<int32_t>> OwnText(std::shared_ptr<const gguf::File> file, int64_t count,
                                     uint64_t seed, const ChoiceOptions& options);

}  // namespace fettle::language
