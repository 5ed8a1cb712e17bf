// Keys and values of one sequence of a language model as ONNX, and its runs.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "language/onnx/cache_slots.h"
#include "runtime/session.h"

namespace fettle::language {

/// State shared by all sequences of one model.
struct OnnxModel {
  OnnxForm form;
  int64_t context = 0, trained_context = 0;
  uint64_t fingerprint = 0;
  std::shared_ptr<const Device> device;  // null: the CPU
  std::mutex run_mutex;                  // the session belongs to one thread at a time
  std::unique_ptr<runtime::Session> session;
  int64_t sequences = 1;  // whose caches lie together
  std::mutex slots_mutex;
  std::vector<std::weak_ptr<CacheSlots>> slots;  // under slots_mutex
};

/// Belongs to one thread at a time.
class OnnxCache {
 public:
  /// Written in place where the model's form allows that, else made anew by each run. kOutOfMemory.
  static Result<std::unique_ptr<OnnxCache>> Create(std::shared_ptr<OnnxModel> model);
  virtual ~OnnxCache() = default;

  /// How many of `left` tokens the next run reads at position `position`.
  virtual int64_t MostTokens(int64_t left, int64_t position) const = 0;
  /// Reads that many tokens, and gives the last one's logits, [vocabulary]. `all`: the number of
  /// tokens when everything has been read.
  virtual Status Run(std::span<const int32_t> tokens, int64_t position, int64_t all,
                     std::span<float> logits) = 0;
  /// Keeps only the first tokens.
  virtual Status Keep(int64_t tokens) = 0;
  /// All caches [1, heads, rows, size] in the form's order, whose first rows are tokens'; copies
  /// where they lie on a device.
  virtual Result<std::vector<Tensor>> Read() const = 0;
  /// Takes caches of `context` rows, of which the first are of tokens.
  virtual Status Write(const std::vector<Tensor>& caches, int64_t tokens) = 0;
  /// Where it lies beside others; null: it does not.
  virtual CacheSlots* slots() const { return nullptr; }
  virtual int64_t slot() const { return 0; }
  /// Of memory that a sequence may take.
  int64_t bytes() const;

 protected:
  explicit OnnxCache(std::shared_ptr<OnnxModel> model) : model_(std::move(model)) {}
  OnnxModel& model() const { return *model_; }

 private:
  std::shared_ptr<OnnxModel> model_;
};

/// Caches of `rows` rows, zeros that take memory only where they are written.
Result<std::vector<Tensor>> EmptyCaches(const OnnxForm& form, int64_t rows);

}  // namespace fettle::language
