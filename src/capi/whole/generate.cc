// fettle.h: language models.
#include <algorithm>
#include <cstring>
#include <functional>

#include "capi/handles.h"
#include "capi/structs.h"
#include "language/cache_pool.h"
#include "language/chat.h"
#include "language/generator.h"
#include "language/language_model.h"
#include "language/sampler.h"
#include "language/tokenizer.h"
#include "runtime/device_choice.h"

using fettle::Error;
using fettle::InvalidArgument;
using fettle::OkStatus;
using fettle::Status;
using fettle::StatusCode;
using fettle::capi::Guard;
using fettle::capi::ReadStruct;
using fettle::capi::WriteStruct;
using fettle::language::DecoderOptions;
using fettle::language::Sampler;
using fettle::language::SamplerOptions;
using fettle::language::SequenceDecoder;
using fettle::language::Tokenizer;

struct fettle_generate {
  /// Held by every call but fettle_generate_cancel and fettle_generate_free.
  mutable std::mutex mutex;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const std::string> chat_template;
  std::unique_ptr<SequenceDecoder> decoder;
  Sampler sampler = Sampler({});
  std::span<const float> logits;  // empty: none of the last token
};

namespace {

using Lock = std::lock_guard<std::mutex>;

/// Writes what fits of `from`, and the count of all of it.
template <typename Range, typename T>
Status Write(const Range& from, T* to, size_t capacity, size_t* count) {
  FETTLE_REQUIRE(count);
  if (capacity > 0) FETTLE_REQUIRE(to);
  std::copy_n(from.begin(), std::min(from.size(), capacity), to);
  *count = from.size();
  return OkStatus();
}

Status NeedLogits(const fettle_generate& generate) {
  if (!generate.logits.empty()) return OkStatus();
  return Error(StatusCode::kNotFound, "no token was read since the sequence was changed");
}

Status Create(const char* path, const fettle_generate_options& options, fettle_generate& made) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (options.context < 0 || options.context > kMost)
    return InvalidArgument("context: expected 0 to {}, got {}", kMost, options.context);
  if (options.threads < 0 || options.threads > fettle::runtime::kMaxThreads)
    return InvalidArgument("threads: expected 0 to {}, got {}", fettle::runtime::kMaxThreads,
                           options.threads);
  ASSIGN_OR_RETURN(const auto model, fettle::language::LanguageModel::Open(path));
  ASSIGN_OR_RETURN(made.tokenizer, model->ReadTokenizer());
  ASSIGN_OR_RETURN(std::string form, model->ChatTemplate());
  made.chat_template = std::make_shared<const std::string>(std::move(form));
  constexpr int64_t kMostSequences = 256;
  if (options.sequences < 0 || options.sequences > kMostSequences)
    return InvalidArgument("sequences: expected 0 to {}, got {}", kMostSequences,
                           options.sequences);
  DecoderOptions with;
  with.sequences = options.sequences;
  with.context = options.context;
  with.threads = static_cast<int>(options.threads);
  ASSIGN_OR_RETURN(with.device, fettle::runtime::OpenAccelerator(
                                    options.device == nullptr ? "auto" : options.device));
  ASSIGN_OR_RETURN(with.cache, fettle::language::ReadCacheType(
                                   options.cache == nullptr ? "f16" : options.cache));
  ASSIGN_OR_RETURN(made.decoder, model->NewSequence(with, made.tokenizer.get()));
  return OkStatus();
}

}  // namespace

fettle_status fettle_generate_create(const char* path, const fettle_generate_options* options,
                                     fettle_generate** generate) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(path);
    FETTLE_REQUIRE(generate);
    fettle_generate_options given = FETTLE_GENERATE_OPTIONS_INIT;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(given, ReadStruct(options));
    }
    auto made = std::make_unique<fettle_generate>();
    RETURN_IF_ERROR(Create(path, given, *made));
    *generate = made.release();
    return OkStatus();
  });
}

fettle_status fettle_generate_fork(const fettle_generate* generate, fettle_generate** fork) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    FETTLE_REQUIRE(fork);
    const Lock lock(generate->mutex);
    auto made = std::make_unique<fettle_generate>();
    made->tokenizer = generate->tokenizer;
    made->chat_template = generate->chat_template;
    made->sampler = generate->sampler;
    ASSIGN_OR_RETURN(made->decoder, generate->decoder->Fork());
    *fork = made.release();
    return OkStatus();
  });
}

void fettle_generate_free(fettle_generate* generate) { delete generate; }

fettle_status fettle_generate_get_facts(const fettle_generate* generate,
                                        fettle_generate_facts* facts) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    FETTLE_REQUIRE(facts);
    const Lock lock(generate->mutex);
    const SequenceDecoder& decoder = *generate->decoder;
    return WriteStruct({.struct_size = sizeof(fettle_generate_facts),
                        .vocabulary = decoder.vocabulary(),
                        .context = decoder.context(),
                        .trained_context = decoder.trained_context(),
                        .position = decoder.position(),
                        .begin_token = generate->tokenizer->begin(),
                        .adds_begin = generate->tokenizer->adds_begin() ? 1 : 0,
                        .cache_bytes = decoder.cache_bytes(),
                        .threads = decoder.session().threads()},
                       facts);
  });
}

fettle_status fettle_generate_encode(const fettle_generate* generate, const char* text, size_t size,
                                     int special, int32_t* tokens, size_t capacity, size_t* count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    if (size > 0) FETTLE_REQUIRE(text);
    const auto encoded = generate->tokenizer->Encode({text, size}, special != 0);
    return Write(encoded, tokens, capacity, count);
  });
}

fettle_status fettle_generate_decode(const fettle_generate* generate, int32_t token, char* bytes,
                                     size_t capacity, size_t* size) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    const int64_t vocabulary = generate->decoder->vocabulary();
    if (token < 0 || token >= vocabulary)
      return InvalidArgument("token {} lies outside the vocabulary of {}", token, vocabulary);
    return Write(generate->tokenizer->Decode(token), bytes, capacity, size);
  });
}

int fettle_generate_is_end(const fettle_generate* generate, int32_t token) {
  return generate != nullptr && generate->tokenizer->IsEnd(token) ? 1 : 0;
}

fettle_status fettle_generate_chat(const fettle_generate* generate, const char* system,
                                   const char* question, char* text, size_t capacity,
                                   size_t* size) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    FETTLE_REQUIRE(question);
    ASSIGN_OR_RETURN(const std::string whole,
                     fettle::language::ChatPrompt(*generate->chat_template,
                                                  system == nullptr ? "" : system, question));
    return Write(whole, text, capacity, size);
  });
}

fettle_status fettle_generate_read(fettle_generate* generate, const int32_t* tokens, size_t count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    if (count > 0) FETTLE_REQUIRE(tokens);
    const Lock lock(generate->mutex);
    return generate->decoder->Read({tokens, count}, &generate->logits);
  });
}

fettle_status fettle_generate_step(fettle_generate* const* sequences, const int32_t* tokens,
                                   size_t count) {
  return Guard([&]() -> Status {
    if (count > 0) FETTLE_REQUIRE(sequences);
    if (count > 0) FETTLE_REQUIRE(tokens);
    std::vector<fettle_generate*> ordered(sequences, sequences + count);
    for (fettle_generate* generate : ordered) FETTLE_REQUIRE(generate);
    // Calls that share sequences lock them in one order.
    std::ranges::sort(ordered, std::less<>());
    if (std::adjacent_find(ordered.begin(), ordered.end()) != ordered.end())
      return InvalidArgument("a sequence is listed twice in one step");
    std::vector<std::unique_lock<std::mutex>> locks;
    for (fettle_generate* generate : ordered) locks.emplace_back(generate->mutex);
    std::vector<SequenceDecoder*> decoders;
    for (size_t i = 0; i < count; ++i) decoders.push_back(sequences[i]->decoder.get());
    RETURN_IF_ERROR(SequenceDecoder::Step(decoders, {tokens, count}));
    for (fettle_generate* generate : ordered) generate->logits = generate->decoder->logits();
    return OkStatus();
  });
}

fettle_status fettle_generate_logits(const fettle_generate* generate, const float** logits,
                                     size_t* count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    FETTLE_REQUIRE(logits);
    FETTLE_REQUIRE(count);
    const Lock lock(generate->mutex);
    RETURN_IF_ERROR(NeedLogits(*generate));
    *logits = generate->logits.data();
    *count = generate->logits.size();
    return OkStatus();
  });
}

fettle_status fettle_generate_set_sampling(fettle_generate* generate,
                                           const fettle_generate_sampling* sampling) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    FETTLE_REQUIRE(sampling);
    ASSIGN_OR_RETURN(const fettle_generate_sampling given, ReadStruct(sampling));
    if (!(given.temperature >= 0) || !(given.top_p >= 0 && given.top_p <= 1) || given.top_k < 0)
      return InvalidArgument(
          "sampling: expected a temperature and top_k of 0 or more, and a top_p of 0 to 1");
    const Lock lock(generate->mutex);
    SamplerOptions options;
    options.temperature = given.temperature;
    options.top_k = given.top_k;
    options.top_p = given.top_p == 0 ? 1 : given.top_p;
    options.seed = given.seed;
    generate->sampler = Sampler(options);
    return OkStatus();
  });
}

fettle_status fettle_generate_next(fettle_generate* generate, int32_t* token) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    FETTLE_REQUIRE(token);
    const Lock lock(generate->mutex);
    RETURN_IF_ERROR(NeedLogits(*generate));
    *token = generate->sampler.Next(generate->logits);
    return OkStatus();
  });
}

fettle_status fettle_generate_rewind(fettle_generate* generate, int64_t count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    const Lock lock(generate->mutex);
    const bool changes = count != generate->decoder->position();
    RETURN_IF_ERROR(generate->decoder->Rewind(count));
    if (changes) generate->logits = {};
    return OkStatus();
  });
}

fettle_status fettle_generate_save(const fettle_generate* generate, void* bytes, size_t capacity,
                                   size_t* size) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    FETTLE_REQUIRE(size);
    if (capacity > 0) FETTLE_REQUIRE(bytes);
    const Lock lock(generate->mutex);
    const size_t needed = generate->decoder->saved_bytes();
    if (capacity >= needed)
      RETURN_IF_ERROR(generate->decoder->Save({static_cast<std::byte*>(bytes), needed}));
    *size = needed;
    return OkStatus();
  });
}

fettle_status fettle_generate_restore(fettle_generate* generate, const void* bytes, size_t size) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(generate);
    if (size > 0) FETTLE_REQUIRE(bytes);
    const Lock lock(generate->mutex);
    RETURN_IF_ERROR(generate->decoder->Restore({static_cast<const std::byte*>(bytes), size}));
    generate->logits = {};
    return OkStatus();
  });
}

void fettle_generate_cancel(fettle_generate* generate) {
  if (generate != nullptr) generate->decoder->Cancel();
}
