#include "generation/bench_generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "generation/decoder_options.h"
#include "generation/rates.h"
#include "jobs/command_line.h"
#include "jobs/interrupt.h"
#include "jobs/job.h"
#include "language/generator.h"
#include "language/language_model.h"
#include "report/bench_report.h"
#include "report/messages.h"
#include "report/process_memory.h"
#include "report/profile_table.h"
#include "report/report.h"
#include "report/statistics.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

/// The most tokens of either.
constexpr int64_t kMostTokens = 1 << 20;

struct Lengths {
  int64_t prompt = 0, answer = 0;
};

Result<Lengths> ReadLengths(const std::string& text) {
  Lengths lengths;
  const char *at = text.data(), *end = at + text.size();
  const auto first = std::from_chars(at, end, lengths.prompt);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == ',') {
    const auto second = std::from_chars(first.ptr + 1, end, lengths.answer);
    if (second.ec == std::errc() && second.ptr == end && lengths.prompt >= 1 &&
        lengths.prompt <= kMostTokens && lengths.answer >= 1 && lengths.answer <= kMostTokens)
      return lengths;
  }
  return InvalidArgument(
      "expected tokens of prompt and answer, as in 512,128, of 1 to {}, got '{}'", kMostTokens,
      text);
}

/// What was measured, in milliseconds.
struct Passes {
  double load_ms = 0, first_ms = 0;
  std::vector<double> prompts, answers, together;
  std::vector<exec::StepProfile> prompt_steps, token_steps;  // of a run each
  bool interrupted = false;
};

/// One prompt and its answer; false where it was interrupted.
Result<bool> RunPass(const Lengths& lengths, std::span<const int32_t> tokens,
                     language::SequenceDecoder& decoder, double* prompt_ms, double* answer_ms) {
  std::span<const float> logits;
  RETURN_IF_ERROR(decoder.Rewind(0));
  int64_t begin = NowNs();
  Status status = decoder.Read(tokens.first(lengths.prompt), &logits);
  *prompt_ms = MsSince(begin);
  begin = NowNs();
  for (int64_t i = 0; status.ok() && i < lengths.answer; ++i)
    status = decoder.Read(tokens.subspan(lengths.prompt + i, 1), &logits);
  *answer_ms = MsSince(begin);
  if (status.code() == StatusCode::kCancelled) return false;
  RETURN_IF_ERROR(status);
  return true;
}

/// Answers of as many sequences as the decoder has room for, behind the prompt that it has read.
Status MeasureTogether(const Lengths& lengths, int passes, int64_t sequences,
                       std::span<const int32_t> tokens, language::SequenceDecoder& first,
                       Passes& measured) {
  std::span<const float> logits;
  RETURN_IF_ERROR(first.Rewind(0));
  RETURN_IF_ERROR(first.Read(tokens.first(lengths.prompt), &logits));
  std::vector<std::unique_ptr<language::SequenceDecoder>> forks;
  std::vector<language::SequenceDecoder*> all = {&first};
  for (int64_t i = 1; i < sequences; ++i) {
    ASSIGN_OR_RETURN(auto fork, first.Fork());
    all.push_back(fork.get());
    forks.push_back(std::move(fork));
  }
  std::vector<std::byte> prompt(first.saved_bytes());  // models with states cannot be rewound there
  RETURN_IF_ERROR(first.Save(prompt));
  for (int pass = 0; pass <= passes; ++pass) {
    for (language::SequenceDecoder* sequence : all) RETURN_IF_ERROR(sequence->Restore(prompt));
    const int64_t begin = NowNs();
    for (int64_t i = 0; i < lengths.answer; ++i) {
      const std::vector<int32_t> step(sequences, tokens[lengths.prompt + i]);
      RETURN_IF_ERROR(language::SequenceDecoder::Step(all, step));
    }
    if (pass > 0) measured.together.push_back(MsSince(begin));
  }
  return OkStatus();
}

Status Measure(const Lengths& lengths, int passes, uint64_t seed, int64_t sequences,
               language::SequenceDecoder& decoder, Passes& measured) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> tokens(lengths.prompt + lengths.answer);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % decoder.vocabulary());
  for (int pass = 0; pass <= passes && !measured.interrupted; ++pass) {
    double prompt_ms = 0, answer_ms = 0;
    ASSIGN_OR_RETURN(const bool whole, RunPass(lengths, tokens, decoder, &prompt_ms, &answer_ms));
    measured.interrupted = !whole;
    if (pass == 0) measured.first_ms = prompt_ms;
    if (pass == 0 || !whole) continue;
    measured.prompts.push_back(prompt_ms);
    measured.answers.push_back(answer_ms);
  }
  if (sequences == 1 || measured.interrupted) return OkStatus();
  const Status status = MeasureTogether(lengths, passes, sequences, tokens, decoder, measured);
  measured.interrupted = status.code() == StatusCode::kCancelled;
  return measured.interrupted ? OkStatus() : status;
}

/// The steps of the last run of a prompt, and of a token behind it.
Status Profile(const Lengths& lengths, language::SequenceDecoder& decoder, Passes& measured) {
  std::span<const float> logits;
  const std::vector<int32_t> tokens(lengths.prompt, 0);
  RETURN_IF_ERROR(decoder.Rewind(0));
  RETURN_IF_ERROR(decoder.Read(tokens, &logits));
  measured.prompt_steps = decoder.session().profile();
  RETURN_IF_ERROR(decoder.Read(std::span(tokens).first(1), &logits));
  measured.token_steps = decoder.session().profile();
  return OkStatus();
}

/// Sums by operator, kernel and device, in the order of first steps.
Json SumsJson(std::span<const exec::StepProfile> steps) {
  Json sums = Json::array();
  for (const exec::StepProfile& step : steps) {
    const auto same = std::ranges::find_if(sums, [&](const Json& sum) {
      return sum["op"] == step.op && sum["kernel"] == step.kernel && sum["device"] == step.device;
    });
    if (same == sums.end()) {
      sums.push_back({{"op", step.op},
                      {"kernel", step.kernel},
                      {"device", step.device},
                      {"steps", 1},
                      {"ms", step.ms}});
    } else {
      (*same)["steps"] = (*same)["steps"].get<int64_t>() + 1;
      (*same)["ms"] = (*same)["ms"].get<double>() + step.ms;
    }
  }
  return sums;
}

/// Of weights that an answer's token reads: all but those of experts that it does not choose.
int64_t TokenBytes(const language::SequenceDecoder& decoder) {
  return std::max<int64_t>(0, decoder.session().memory().packed_bytes - decoder.idle_bytes());
}

Json DocumentOf(const std::string& path, const Lengths& lengths, int64_t sequences,
                const language::SequenceDecoder& decoder, const Passes& measured,
                const std::vector<std::string>& warnings) {
  const double prompt_ms = Summarise(measured.prompts).median;
  const double answer_ms = Summarise(measured.answers).median;
  const int64_t weights = decoder.session().memory().packed_bytes;
  Json document = {{"model", path},
                   {"load_ms", measured.load_ms},
                   {"first_ms", measured.first_ms},
                   {"prompt", RateJson(lengths.prompt, prompt_ms)},
                   {"answer", RateJson(lengths.answer, answer_ms)},
                   {"iterations", measured.prompts.size()},
                   {"weight_bytes", weights},
                   {"cache_bytes", decoder.cache_bytes()},
                   {"cache_in_place", decoder.cache_in_place()},
                   {"gbps", static_cast<double>(TokenBytes(decoder)) *
                                TokensPerSecond(lengths.answer, answer_ms) * 1e-9},
                   {"peak_rss_bytes", PeakResidentBytes()},
                   {"device", DeviceJson(decoder.session().threads(), DeviceOf(decoder))},
                   {"interrupted", measured.interrupted},
                   {"warnings", warnings}};
  if (!measured.token_steps.empty())
    document["profile"] = {{"prompt", SumsJson(measured.prompt_steps)},
                           {"token", SumsJson(measured.token_steps)}};
  if (measured.together.empty()) return document;
  document["together"] = RateJson(sequences * lengths.answer, Summarise(measured.together).median);
  document["together"]["sequences"] = sequences;
  return document;
}

void PrintTable(const Lengths& lengths, int64_t sequences, const language::SequenceDecoder& decoder,
                const Passes& measured) {
  const double prompt_ms = Summarise(measured.prompts).median;
  const double answer_ms = Summarise(measured.answers).median;
  const int64_t weights = TokenBytes(decoder);
  const double gbps =
      static_cast<double>(weights) * TokensPerSecond(lengths.answer, answer_ms) * 1e-9;
  const int threads = decoder.session().threads();
  constexpr auto kRight = Table::Align::kRight;
  Table table({{""}, {"tokens", kRight}, {"ms", kRight}, {"tokens/s", kRight}});
  table.Row({"first prompt", fmt::format("{}", lengths.prompt), MsText(measured.first_ms),
             fmt::format("{:.1f}", TokensPerSecond(lengths.prompt, measured.first_ms))});
  table.Row({"prompt", fmt::format("{}", lengths.prompt), MsText(prompt_ms),
             fmt::format("{:.1f}", TokensPerSecond(lengths.prompt, prompt_ms))});
  table.Row({"answer", fmt::format("{}", lengths.answer), MsText(answer_ms),
             fmt::format("{:.1f}", TokensPerSecond(lengths.answer, answer_ms))});
  if (!measured.together.empty()) {
    const double ms = Summarise(measured.together).median;
    const int64_t tokens = sequences * lengths.answer;
    table.Row({fmt::format("{} answers at once", sequences), fmt::format("{}", tokens), MsText(ms),
               fmt::format("{:.1f}", TokensPerSecond(tokens, ms))});
  }
  fmt::print("{}\n", table.ToString());
  constexpr size_t kRows = 16;
  if (!measured.token_steps.empty())
    fmt::print("the prompt's last run\n{}\na token\n{}\n",
               SummariseProfile(measured.prompt_steps, kRows),
               SummariseProfile(measured.token_steps, kRows));
  fmt::print("an answer's token reads {} of weights: {:.1f} GB/s; cache: {}\n",
             HumanBytes(static_cast<double>(weights)), gbps,
             HumanBytes(static_cast<double>(decoder.cache_bytes())));
  fmt::print("load: {} ms · median of {} · {}\n", MsText(measured.load_ms),
             Count(std::ssize(measured.prompts), "repetition"),
             DeviceLine(threads, DeviceOf(decoder)));
}

Result<ExitCode> Run(const std::string& path, const GenerateLength& length, int passes,
                     bool profile, const CommonOptions& common) {
  ASSIGN_OR_RETURN(const Lengths lengths, ReadLengths(length.text));
  std::vector<std::string> warnings;
  const InterruptScope interrupt([] {});
  ASSIGN_OR_RETURN(
      language::DecoderOptions with,
      DecoderOptionsFor(common, lengths.prompt + lengths.answer, length.cache, warnings));
  with.sequences = length.sequences;
  with.waits_for_steps = profile;
  PrintWarnings(warnings);
  Passes measured;
  const int64_t begin = NowNs();
  const auto model = language::LanguageModel::Open(path);
  if (!model.ok()) return AsInvalidInput(model.status());
  ASSIGN_OR_RETURN(auto decoder, (*model)->NewSequence(with, nullptr));
  measured.load_ms = MsSince(begin);
  RETURN_IF_ERROR(
      Measure(lengths, passes > 0 ? passes : 3, common.seed, length.sequences, *decoder, measured));
  if (profile && !measured.interrupted) RETURN_IF_ERROR(Profile(lengths, *decoder, measured));
  if (common.json) {
    PrintJson(DocumentOf(path, lengths, length.sequences, *decoder, measured, warnings));
  } else {
    PrintTable(lengths, length.sequences, *decoder, measured);
  }
  if (!measured.interrupted) return kExitOk;
  PrintMessage("fettle: interrupted; the results are those of {}\n",
               Count(std::ssize(measured.prompts), "repetition"));
  return kExitFailed;
}

}  // namespace

std::string CheckGenerateLength(const std::string& text) {
  return std::string(ReadLengths(text).status().message());
}

int BenchGenerate(const std::string& path, const GenerateLength& length, int passes, bool profile,
                  const CommonOptions& common) {
  StartInterruptThread();
  const auto code = Run(path, length, passes, profile, common);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace fettle::tools
