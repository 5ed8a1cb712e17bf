// What sequences of all models do alike.
#include <algorithm>

#include "language/generator.h"

namespace fettle::language {

runtime::SessionOptions SessionOptionsOf(const DecoderOptions& options) {
  runtime::SessionOptions session;
  session.threads = options.threads;
  session.cancelled = options.cancelled;
  if (options.device != nullptr) session.accelerators = {options.device};
  session.accelerator_only = options.device_only;
  session.queue_window = options.queue_window;
  session.kernel_ms = options.kernel_ms;
  session.waits_for_steps = options.waits_for_steps;
  return session;
}

Status SequenceDecoder::Check(std::span<const int32_t> tokens) const {
  const auto count = std::ssize(tokens);
  if (count == 0) return InvalidArgument("no tokens to read");
  if (count > context() - position())
    return InvalidArgument("{} tokens after {} exceed the context of {}", count, position(),
                           context());
  for (int32_t token : tokens) {
    if (token < 0 || token >= vocabulary())
      return InvalidArgument("token {} lies outside the vocabulary of {}", token, vocabulary());
  }
  return OkStatus();
}

Status SequenceDecoder::Step(std::span<SequenceDecoder* const> sequences,
                             std::span<const int32_t> tokens) {
  if (sequences.empty() || sequences.size() != tokens.size())
    return InvalidArgument("{} tokens for {} sequences", tokens.size(), sequences.size());
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (std::find(sequences.begin(), sequences.begin() + i, sequences[i]) != sequences.begin() + i)
      return InvalidArgument("a sequence is listed twice in one step");
    if (sequences[i]->family() != sequences[0]->family())
      return InvalidArgument("sequences of a step are forks of one another");
    RETURN_IF_ERROR(sequences[i]->Check(tokens.subspan(i, 1)));
  }
  return sequences[0]->StepTogether(sequences, tokens);
}

Status SequenceDecoder::StepTogether(std::span<SequenceDecoder* const> sequences,
                                     std::span<const int32_t> tokens) {
  for (size_t i = 0; i < sequences.size(); ++i) {
    std::span<const float> logits;
    const Status status = sequences[i]->Read(tokens.subspan(i, 1), &logits);
    if (status.ok()) continue;
    for (size_t read = 0; read < i; ++read)
      RETURN_IF_ERROR(sequences[read]->Rewind(sequences[read]->position() - 1));
    return status;
  }
  return OkStatus();
}

}  // namespace fettle::language
