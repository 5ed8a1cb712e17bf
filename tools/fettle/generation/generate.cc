// fettle generate: text from a language model.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/memory_budget.h"
#include "commands/command.h"
#include "generation/decoder_options.h"
#include "generation/rates.h"
#include "jobs/command_line.h"
#include "jobs/interrupt.h"
#include "jobs/job.h"
#include "language/chat.h"
#include "language/code_points.h"
#include "language/generator.h"
#include "language/language_model.h"
#include "language/sampler.h"
#include "language/tokenizer.h"
#include "options/checks.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/table.h"

namespace fettle::tools {
namespace {

struct GenerateOptions {
  CommonOptions common;
  std::string model, prompt, system, cache = "f16";
  std::vector<std::string> stops;
  int64_t tokens = 128, context = 0;
  language::SamplerOptions sampler;
  bool chat = false;
};

/// What is known of an answer as it grows.
struct Answer {
  std::string text;  // whole code points, but at its end
  std::vector<int32_t> tokens;
  std::string_view finish = "length";
  size_t printed = 0;
};

struct Times {
  double load_ms = 0, prompt_ms = 0, answer_ms = 0;
  int64_t prompt_tokens = 0, answer_steps = 0;
};

Result<std::vector<int32_t>> PromptTokens(const GenerateOptions& options,
                                          const language::LanguageModel& model,
                                          const language::Tokenizer& tokenizer) {
  std::string text = options.prompt;
  if (options.chat) {
    ASSIGN_OR_RETURN(const std::string form, model.ChatTemplate());
    ASSIGN_OR_RETURN(text, language::ChatPrompt(form, options.system, options.prompt));
  }
  std::vector<int32_t> tokens = tokenizer.Encode(text, options.chat);
  if (tokenizer.adds_begin() && tokenizer.begin() >= 0)
    tokens.insert(tokens.begin(), tokenizer.begin());
  if (tokens.empty() && tokenizer.begin() >= 0) tokens.push_back(tokenizer.begin());
  if (tokens.empty()) return InvalidArgument("the prompt has no tokens");
  return tokens;
}

/// The end of what may be shown: not the begin of a code point, nor of a stop word.
size_t ShownEnd(const GenerateOptions& options, const std::string& text) {
  size_t end = text.size() - language::UnfinishedBytes(text);
  for (const std::string& stop : options.stops) {
    for (size_t length = std::min(stop.size() - 1, text.size()); length > 0; --length) {
      if (!text.ends_with(std::string_view(stop).substr(0, length))) continue;
      end = std::min(end, text.size() - length);
      break;
    }
  }
  return end;
}

/// Adds a token's text; false where a stop word came, which is cut off with what follows.
bool AddText(const GenerateOptions& options, std::string_view added, Answer& answer) {
  const size_t before = answer.text.size();
  answer.text += added;
  size_t cut = std::string::npos;
  for (const std::string& stop : options.stops) {
    const size_t from = before > stop.size() ? before - stop.size() : 0;
    cut = std::min(cut, answer.text.find(stop, from));
  }
  if (cut != std::string::npos) answer.text.resize(cut);
  return cut == std::string::npos;
}

void Show(const GenerateOptions& options, size_t end, Answer& answer) {
  if (!options.common.json && end > answer.printed) {
    std::fwrite(answer.text.data() + answer.printed, 1, end - answer.printed, stdout);
    std::fflush(stdout);
  }
  answer.printed = std::max(answer.printed, end);
}

/// Tokens until one ends the answer. What ends it early is in `finish`, a failure in the status.
Status Continue(const GenerateOptions& options, const language::Tokenizer& tokenizer,
                language::SequenceDecoder& decoder, std::span<const float> logits, Answer& answer,
                Times& times) {
  language::Sampler sampler(options.sampler);
  const int64_t begin = NowNs();
  while (std::ssize(answer.tokens) < options.tokens) {
    if (InterruptScope::Interrupted()) {
      answer.finish = "interrupted";
      break;
    }
    const int32_t token = sampler.Next(logits);
    if (tokenizer.IsEnd(token)) {
      answer.finish = "end";
      break;
    }
    answer.tokens.push_back(token);
    const bool goes_on = AddText(options, tokenizer.Decode(token), answer);
    Show(options, goes_on ? ShownEnd(options, answer.text) : answer.text.size(), answer);
    if (!goes_on) answer.finish = "stop";
    if (!goes_on || std::ssize(answer.tokens) == options.tokens) break;
    if (decoder.position() == decoder.context()) {
      answer.finish = "context";
      break;
    }
    const Status status = decoder.Read({&token, 1}, &logits);
    if (status.code() == StatusCode::kCancelled) continue;
    RETURN_IF_ERROR(status);
    ++times.answer_steps;
  }
  times.answer_ms = MsSince(begin);
  Show(options, answer.text.size(), answer);
  return OkStatus();
}

void Print(const GenerateOptions& options, const language::SequenceDecoder& decoder,
           const Answer& answer, const Times& times, const std::vector<std::string>& warnings) {
  const int threads = decoder.session().threads();
  if (options.common.json) {
    PrintJson({{"text", answer.text},
               {"tokens", answer.tokens},
               {"finish", answer.finish},
               {"load_ms", times.load_ms},
               {"prompt", RateJson(times.prompt_tokens, times.prompt_ms)},
               {"answer", RateJson(times.answer_steps, times.answer_ms)},
               {"context", decoder.context()},
               {"cache_bytes", decoder.cache_bytes()},
               {"cache_in_place", decoder.cache_in_place()},
               {"device", DeviceJson(threads, DeviceOf(decoder))},
               {"warnings", warnings}});
    return;
  }
  fmt::print("\n");
  std::fflush(stdout);
  PrintMessage(
      "prompt: {} tokens, {:.1f} tokens/s · answer: {} tokens, {:.1f} tokens/s · {} threads · {}\n",
      times.prompt_tokens, TokensPerSecond(times.prompt_tokens, times.prompt_ms),
      answer.tokens.size(), TokensPerSecond(times.answer_steps, times.answer_ms), threads,
      answer.finish);
}

/// Warns of a model for which little memory is left beside it: it may be read from the disk again
/// for each token.
void WarnOfSize(int64_t weights, int64_t cache_bytes, std::vector<std::string>& warnings) {
  const int64_t limit = MemoryBudget::Process().limit();
  if (weights + cache_bytes <= limit / 2) return;
  warnings.push_back(fmt::format("the weights take {} and the cache up to {} of the {} of memory",
                                 HumanBytes(static_cast<double>(weights)),
                                 HumanBytes(static_cast<double>(cache_bytes)),
                                 HumanBytes(static_cast<double>(limit))));
}

Result<ExitCode> RunGenerate(const GenerateOptions& options) {
  std::vector<std::string> warnings;
  const InterruptScope interrupt([] {});
  ASSIGN_OR_RETURN(const language::DecoderOptions with,
                   DecoderOptionsFor(options.common, options.context, options.cache, warnings));
  Times times;
  const int64_t begin = NowNs();
  const auto model = language::LanguageModel::Open(options.model);
  if (!model.ok()) return AsInvalidInput(model.status());
  ASSIGN_OR_RETURN(const auto tokenizer, (*model)->ReadTokenizer());
  ASSIGN_OR_RETURN(const std::vector<int32_t> prompt, PromptTokens(options, **model, *tokenizer));
  ASSIGN_OR_RETURN(auto decoder, (*model)->NewSequence(with, tokenizer.get()));
  if (decoder->context() > decoder->trained_context())
    warnings.push_back(
        fmt::format("the context of {} exceeds the {} that the model was trained for",
                    decoder->context(), decoder->trained_context()));
  WarnOfSize((*model)->weight_bytes(), decoder->cache_bytes(), warnings);
  PrintWarnings(warnings);
  times.load_ms = MsSince(begin);
  const int64_t reading = NowNs();
  std::span<const float> logits;
  RETURN_IF_ERROR(decoder->Read(prompt, &logits));
  times.prompt_ms = MsSince(reading);
  times.prompt_tokens = std::ssize(prompt);
  Answer answer;
  RETURN_IF_ERROR(Continue(options, *tokenizer, *decoder, logits, answer, times));
  Print(options, *decoder, answer, times, warnings);
  return answer.finish == "interrupted" ? kExitFailed : kExitOk;
}

int Generate(GenerateOptions options) {
  InstallLog(options.common.log);
  StartInterruptThread();
  options.sampler.seed = options.common.seed;
  std::erase(options.stops, "");
  const auto code = RunGenerate(options);
  return code.ok() ? *code : Fail(code.status());
}

void AddSampling(CLI::App& sub, language::SamplerOptions& options) {
  sub.add_option("--temperature", options.temperature,
                 "how freely tokens are chosen: 0 (default) takes the likeliest, 1 follows the "
                 "model's probabilities")
      ->check(Between(0.0, 100.0));
  sub.add_option("--top-k", options.top_k,
                 "choose among this many of the likeliest tokens (default 40); 0: all")
      ->check(Between(0, 1 << 30));
  sub.add_option("--top-p", options.top_p,
                 "choose among the fewest tokens that have this probability together (default "
                 "0.95); 1: all")
      ->check(Between(0.0, 1.0));
}

}  // namespace

void RegisterGenerate(CLI::App& app, Action& action) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* sub = app.add_subcommand("generate", "continue a text with a language model");
  sub->add_option("MODEL", options->model,
                  "a .gguf file; or a folder with .onnx file and tokenizer.json, or its .onnx file")
      ->required();
  sub->add_option("PROMPT", options->prompt, "the text to continue, or the question of --chat")
      ->required();
  sub->add_option("--tokens", options->tokens, "most tokens of the answer (default 128)")
      ->check(Between(1, 1 << 30));
  sub->add_option("--context", options->context,
                  "most tokens of prompt and answer together; 0 (default): what the model was "
                  "trained for, at most 4096")
      ->check(Between(0, 1 << 20));
  AddCacheType(*sub, options->cache);
  AddSampling(*sub, options->sampler);
  sub->add_option("--stop", options->stops, "end the answer before this text; may be repeated")
      ->take_all()
      ->expected(1);
  CLI::Option* chat = sub->add_flag("--chat", options->chat,
                                    "put the prompt as a question, in the model's chat form");
  sub->add_option("--system", options->system, "with --chat: what the model is told first")
      ->needs(chat);
  AddCommonOptions(*sub, options->common);
  sub->callback([&action, options] { action = [options] { return Generate(*options); }; });
}

}  // namespace fettle::tools
