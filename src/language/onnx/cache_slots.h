// Keys and values of several sequences of an ONNX model in one memory, and runs over them.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "language/bound_tensor.h"
#include "language/onnx/onnx_form.h"
#include "runtime/session.h"

namespace fettle::language {

/// Caches with room for the whole context, past and present in one memory: sequences take and give
/// back a slot each. Runs belong to one thread at a time; the rest is thread-safe.
class CacheSlots {
 public:
  /// `count` above 1 where the form has cache_of. Null `device`: the CPU. kOutOfMemory.
  static Result<std::shared_ptr<CacheSlots>> Create(const OnnxForm& form, int64_t context,
                                                    int64_t count,
                                                    std::shared_ptr<const Device> device);

  /// A free slot; -1: there is none.
  int64_t Take();
  void Give(int64_t slot);
  /// All caches of a slot, [1, heads, context, size]; copies of those on a device.
  Result<std::vector<Tensor>> Read(int64_t slot) const;
  /// Takes the first `tokens` rows.
  Status Write(const std::vector<Tensor>& caches, int64_t slot, int64_t tokens);

  /// New tokens of one sequence, as OnnxCache::Run has them.
  struct Part {
    int64_t slot = 0;
    std::span<const int32_t> tokens;
    int64_t position = 0, all = 0;
    std::span<float> logits;
  };
  /// A run of `length` tokens of each part; parts with fewer are padded. False, with nothing read,
  /// where the only logits would be those of padding.
  Result<bool> Run(runtime::Session& session, std::span<const Part> parts, int64_t length);

 private:
  CacheSlots(const OnnxForm& form, int64_t context, int64_t count,
             std::shared_ptr<const Device> device);
  /// What runs of one batch and length read and write.
  struct Step {
    int64_t batch = 0, length = 0;
    BoundTensor ids, mask, last, all, positions, kept, row, cache_of;
    std::vector<BoundTensor*> given;
    runtime::BufferMap inputs, outputs;
  };
  Status Allocate();
  Result<Step*> StepOf(int64_t batch, int64_t length);
  void Fill(Step& step, std::span<const Part> parts) const;

  OnnxForm form_;
  int64_t context_, count_;
  std::shared_ptr<const Device> device_;
  std::vector<SharedBuffer> buffers_;
  runtime::BufferMap pasts_, presents_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::mutex mutex_;
  std::vector<bool> taken_;  // under mutex_
};

/// The first `tokens` rows of `from`, [1, heads, rows, size], in a tensor of `rows` rows.
Status CopyTokens(const Tensor& from, Tensor& to, int64_t tokens);
/// Row `row` of logits [batch, rows, vocabulary], as floats.
Status TakeRow(const Tensor& logits, int64_t row, std::span<float> to);
/// Sets integers of either type to f(i).
template <typename F>
void SetInts(Tensor& to, F f) {
  const HostView view = to.view();
  for (int64_t i = 0; i < to.elements(); ++i) view.SetInt(i, f(i));
}

}  // namespace fettle::language
