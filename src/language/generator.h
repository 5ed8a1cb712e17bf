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
  /// The device that holds the weights and the cache and computes; null: the CPU.
  std::shared_ptr<const Device> device;
  /// As runtime::SessionOptions has them.
  bool device_only = false;
  int queue_window = 0;
  double kernel_ms = 0;
  bool waits_for_steps = false;
  /// How many caches lie together: that many forks of one another take steps in one pass over the
  /// weights (Step). On a device caches lie apart, and steps run one after another.
  int64_t sequences = 1;
  /// Of keys and values: kF16, or kI8, bytes with a step for each head and token, which take half
  /// of the memory.
  DType cache = DType::kF16;
  /// May be set from any thread: Read then ends with kCancelled; null: never. Outlives the decoder.
  const std::atomic<bool>* cancelled = nullptr;
};

/// Those of a decoder's session.
runtime::SessionOptions SessionOptionsOf(const DecoderOptions& options);

/// One sequence of tokens, and a cache of their keys and values. Belongs to one thread at a time,
/// except for Cancel. Sequences forked from each other may belong to several threads; their runs
/// execute one after another.
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

  /// Reads tokens behind those read so far. `logits` are then those of the last one: `vocabulary`
  /// floats, valid until the next call that succeeds. kInvalidArgument where a token lies outside
  /// the vocabulary, there are none, or they exceed the context; kCancelled after Cancel. After a
  /// failure nothing has been read, and logits are unchanged.
  virtual Status Read(std::span<const int32_t> tokens, std::span<const float>* logits) = 0;
  /// Reads one token for each of several sequences of one model, as Read does, in one pass over the
  /// weights for sequences whose caches lie together. A sequence's results do not depend on the
  /// others. kInvalidArgument where the numbers of tokens and sequences differ, a sequence is
  /// listed twice or is of another model, or as Read. After a failure nothing has been read.
  static Status Step(std::span<SequenceDecoder* const> sequences, std::span<const int32_t> tokens);
  /// Of the last token that was read; valid until the next call that reads.
  virtual std::span<const float> logits() const = 0;
  /// Forgets all but the first `count` tokens. kInvalidArgument where fewer were read. Models with
  /// states (mamba, lfm2) can only go back to where the last Read or Step began, and to 0.
  virtual Status Rewind(int64_t count) = 0;
  /// Makes a Read in progress return kCancelled, at the latest after its current run of 128 tokens.
  /// From any thread.
  virtual void Cancel() = 0;
  /// A sequence of the same tokens so far, with a cache of its own: beside this one's where
  /// DecoderOptions::sequences has room. Weights and plans are shared. kOutOfMemory.
  virtual Result<std::unique_ptr<SequenceDecoder>> Fork() const = 0;
  /// Writes what was read so far to saved_bytes() bytes.
  virtual int64_t saved_bytes() const = 0;
  virtual Status Save(std::span<std::byte> to) const = 0;
  /// Replaces the tokens read so far by those of a Save. kCorrupt where the bytes are no saved
  /// cache, kInvalidArgument where they are of another model or another type of cache, or exceed
  /// the context; nothing changes then.
  virtual Status Restore(std::span<const std::byte> saved) = 0;

  virtual int64_t position() const = 0;
  virtual int64_t context() const = 0;
  virtual int64_t vocabulary() const = 0;
  /// Positions that the model was trained for.
  virtual int64_t trained_context() const = 0;
  /// Bytes of weights that a token does not read: those of experts that it does not choose.
  virtual int64_t idle_bytes() const { return 0; }
  virtual const runtime::Session& session() const = 0;
  virtual int64_t cache_bytes() const = 0;
  /// Whether steps write their rows in place; otherwise each step makes the cache anew and is
  /// planned for it.
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
