// A language model that reads tokens and gives the next one's logits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/gguf/language_graph.h"
#include "runtime/session.h"

namespace fettle::language {

struct DecoderOptions {
  /// Tokens of prompt and answer together; 0: what the model was trained for, at most 4,096.
  int64_t context = 0;
  /// Of the CPU, the caller included; 0: all cores.
  int threads = 0;
  /// Where the weights and the cache are, and what computes; null: the CPU.
  std::shared_ptr<const Device> device;
  /// As runtime::SessionOptions has them.
  bool device_only = false;
  int queue_window = 0;
  double kernel_ms = 0;
  bool waits_for_steps = false;
  /// Caches that lie together: so many forks of one another take steps in one pass over the
  /// weights (Step). On a device caches lie apart, and steps come one after another.
  int64_t sequences = 1;
  /// Of keys and values: kF16, or kI8, bytes with a step for each head and token, which take half
  /// of the memory.
  DType cache = DType::kF16;
  /// Set from any thread: Read ends with kCancelled; null: never. Outlives the decoder.
  const std::atomic<bool>* cancelled = nullptr;
};

/// Those of a decoder's session.
runtime::SessionOptions SessionOptionsOf(const DecoderOptions& options);

/// One sequence of tokens, and a cache of their keys and values. Belongs to one thread at a time,
/// Cancel excepted; sequences forked of each other may belong to several, their runs come one after
/// another.
class SequenceDecoder {
 public:
  /// Of a GGUF file: a session whose plan holds for every step, and a cache that is written in
  /// place. Fails as gguf::ReadDecoder and BuildDecoder do, kOutOfMemory where the cache does not
  /// fit.
  static Result<std::unique_ptr<SequenceDecoder>> Create(std::shared_ptr<const gguf::File> file,
                                                         const DecoderOptions& options);
  virtual ~SequenceDecoder() = default;
  SequenceDecoder(const SequenceDecoder&) = delete;
  SequenceDecoder& operator=(const SequenceDecoder&) = delete;

  /// Reads tokens behind those read so far. `logits` then are those of the last one, `vocabulary`
  /// floats that are good until the next call that succeeds. kInvalidArgument where a token lies
  /// outside the vocabulary, there are none, or they pass the context, kCancelled after Cancel;
  /// nothing is read then, and logits stay those of the token before.
  virtual Status Read(std::span<const int32_t> tokens, std::span<const float>* logits) = 0;
  /// Reads one token behind each of several sequences of one model, as Read does, in one pass over
  /// the weights for those whose caches lie together; rows do not depend on their neighbours.
  /// kInvalidArgument where there are not as many tokens as sequences, one of these comes twice or
  /// is of another model, or as Read; nothing is read then.
  static Status Step(std::span<SequenceDecoder* const> sequences, std::span<const int32_t> tokens);
  /// Of the last token that was read; good until the next call that reads.
  virtual std::span<const float> logits() const = 0;
  /// Forgets all but the first `count` tokens. kInvalidArgument where fewer were read, or where the
  /// model has states (mamba, lfm2): these go back to where the last Read or Step began, and to no
  /// token.
  virtual Status Rewind(int64_t count) = 0;
  /// Makes a Read in progress return kCancelled, at the latest behind its run of 128 tokens. From
  /// any thread.
  virtual void Cancel() = 0;
  /// A sequence of the same tokens so far, with a cache of its own: beside this one's where
  /// DecoderOptions::sequences has room. Weights and plans are shared. kOutOfMemory.
  virtual Result<std::unique_ptr<SequenceDecoder>> Fork() const = 0;
  /// Writes what was read so far to saved_bytes() bytes.
  virtual int64_t saved_bytes() const = 0;
  virtual Status Save(std::span<std::byte> to) const = 0;
  /// Goes on behind the tokens of a Save, instead of those read so far. kCorrupt where bytes are
  /// none, kInvalidArgument where they are of another model, or a cache of another type, or pass
  /// the context; nothing is changed then.
  virtual Status Restore(std::span<const std::byte> saved) = 0;

  virtual int64_t position() const = 0;
  virtual int64_t context() const = 0;
  virtual int64_t vocabulary() const = 0;
  /// Positions that the model was trained for.
  virtual int64_t trained_context() const = 0;
  /// Of weights that a token does not read: those of experts that it does not choose.
  virtual int64_t idle_bytes() const { return 0; }
  virtual const runtime::Session& session() const = 0;
  virtual int64_t cache_bytes() const = 0;
  /// Steps write their rows; elsewhere each one makes the cache anew, and is planned for it.
  virtual bool cache_in_place() const { return true; }

 protected:
  SequenceDecoder() = default;
  /// What Read checks before it reads.
  Status Check(std::span<const int32_t> tokens) const;
  /// One pointer for all sequences of a model.
  virtual const void* family() const = 0;
  /// Step of sequences of one family, whose tokens are checked. By default one after the other.
  virtual Status StepTogether(std::span<SequenceDecoder* const> sequences,
                              std::span<const int32_t> tokens);
};

}  // namespace fettle::language
