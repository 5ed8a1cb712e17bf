#include "generation/quantise_gguf.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/clock.h"
#include "base/file.h"
#include "generation/choice_report.h"
#include "importers/gguf/encode_blocks.h"
#include "importers/gguf/rewrite.h"
#include "jobs/interrupt.h"
#include "jobs/job.h"
#include "jobs/model_file.h"
#include "language/choose_types.h"
#include "language/matrix_types.h"
#include "language/tokenizer.h"
#include "report/messages.h"
#include "report/progress.h"
#include "report/report.h"
#include "report/table.h"

namespace fettle::tools {
namespace {

using Types = std::vector<const gguf::TensorType*>;

/// What a matrix became, and what that lost.
struct MatrixRow {
  size_t tensor = 0;
  const gguf::TensorType* type = nullptr;
  double error = 0, power = 0;  // sums of squares

  double sqnr_db() const { return error > 0 ? 10 * std::log10(power / error) : HUGE_VAL; }
};

struct Written {
  std::shared_ptr<const gguf::File> file;
  Types types;
  std::vector<MatrixRow> rows;
  std::optional<language::TypeChoice> choice;
  double seconds = 0;
  int threads = 1;
  std::vector<std::string> warnings;
};

/// "+2%" as 2; the sign and the % may be missing.
Result<double> ReadGrowth(const std::string& text) {
  const char *at = text.data() + (text.starts_with('+') ? 1 : 0), *end = text.data() + text.size();
  if (text.ends_with('%')) --end;
  double percent = -1;
  const auto [rest, error] = std::from_chars(at, end, percent);
  if (at < end && error == std::errc() && rest == end && percent >= 0 && percent <= 10000)
    return percent;
  return InvalidArgument(
      "expected by how much perplexity may grow, 0 to 10000 %, as in +2%, got '{}'", text);
}

Status Cancelled() { return Error(StatusCode::kCancelled, "interrupted; nothing was written"); }

/// Writes the file of these types.
Status Write(const GgufQuantisation& options, Written& done) {
  const gguf::File& file = *done.file;
  Progress progress("quantise", std::ssize(done.types));
  const auto make = [&](size_t i) -> Result<std::vector<uint8_t>> {
    if (InterruptScope::Interrupted()) return Cancelled();
    progress.Update(static_cast<int64_t>(i));
    ASSIGN_OR_RETURN(gguf::Encoded encoded,
                     gguf::EncodeTensor(file.tensors()[i], *done.types[i], done.threads));
    done.rows.push_back({i, done.types[i], encoded.error, encoded.power});
    return std::move(encoded.bytes);
  };
  return gguf::Rewrite(file, done.types, language::FileTypeOf(file, done.types), make,
                       options.output);
}

/// What was of few bits before, and what does not fit the type that was asked for.
void Tell(const GgufQuantisation& options, Written& done) {
  std::map<std::string, int64_t> before, others;
  const gguf::TensorType* wanted = gguf::FindEncodedType(options.type);
  for (size_t i = 0; i < done.types.size(); ++i) {
    const gguf::TensorInfo& tensor = done.file->tensors()[i];
    if (!language::IsMatrix(tensor)) continue;
    if (tensor.type->bits > 0) ++before[std::string(tensor.type->name)];
    if (wanted != nullptr && done.types[i] != wanted) ++others[std::string(done.types[i]->name)];
  }
  const auto words = [](const std::map<std::string, int64_t>& counts) {
    std::string text;
    for (const auto& [name, count] : counts)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
    return text;
  };
  if (!before.empty())
    done.warnings.push_back(
        fmt::format("{} is already quantised (matrices: {}): what that lost stays lost",
                    options.model, words(before)));
  if (!others.empty())
    done.warnings.push_back(fmt::format("matrices whose rows are not whole blocks of {} become {}",
                                        wanted->name, words(others)));
}

/// The tokens to measure on.
Result<std::vector<int32_t>> TextOf(const GgufQuantisation& options, const Written& done,
                                    const language::ChoiceOptions& with) {
  if (options.text.empty())
    return language::OwnText(done.file, options.tokens, options.common.seed, with);
  auto mapped = MappedFile::Open(options.text);
  if (!mapped.ok()) return AsInvalidInput(mapped.status());
  ASSIGN_OR_RETURN(const auto tokenizer, language::Tokenizer::Create(*done.file));
  const auto bytes = (*mapped)->bytes();
  // A token has a byte and more; what is beyond is not read.
  const size_t most = std::min(bytes.size(), static_cast<size_t>(options.tokens) * 64);
  auto tokens = tokenizer->Encode({reinterpret_cast<const char*>(bytes.data()), most}, false);
  if (tokens.size() > static_cast<size_t>(options.tokens)) tokens.resize(options.tokens);
  if (tokens.size() < 2) return InvalidArgument("--text {}: has fewer than 2 tokens", options.text);
  return tokens;
}

Status Choose(const GgufQuantisation& options, Written& done) {
  Progress progress("quantise: measuring", 0);
  language::ChoiceOptions with;
  with.bits = options.bits;
  if (!options.perplexity.empty()) {
    ASSIGN_OR_RETURN(with.growth, ReadGrowth(options.perplexity));
    with.growth /= 100;
  }
  with.threads = done.threads;
  with.cancelled = &InterruptScope::Flag();
  with.progress = [&](double share) { progress.UpdateFraction(share); };
  auto tokens = TextOf(options, done, with);
  RETURN_IF_ERROR(tokens.status());
  auto choice = language::ChooseTypes(done.file, *tokens, with);
  if (choice.status().code() == StatusCode::kCancelled) return Cancelled();
  if (!choice.ok()) return choice.status();
  done.choice = *std::move(choice);
  done.types = done.choice->chosen.types;
  return OkStatus();
}

Status Perform(const GgufQuantisation& options, Written& done) {
  RETURN_IF_ERROR(CheckCpuOptions(options.common, done.warnings));
  RETURN_IF_ERROR(CheckModelOutput(options.model, "-o", options.output));
  const gguf::TensorType* type = gguf::FindEncodedType(options.type);
  if (type == nullptr && options.bits == 0 && options.perplexity.empty())
    return InvalidArgument("--type: expected one of {}, got '{}'", gguf::EncodedNames(),
                           options.type);
  auto file = gguf::File::Open(options.model);
  if (!file.ok()) return AsInvalidInput(file.status());
  done.file = *file;
  done.threads = ResolveThreads(options.common.threads);
  if (type != nullptr) {
    done.types = language::UniformTypes(*done.file, *type);
  } else {
    RETURN_IF_ERROR(Choose(options, done));
  }
  Tell(options, done);
  const Status status = Write(options, done);
  return status.code() == StatusCode::kInvalidModel ? status.WithContext(options.model)
                                                    : AsWriteFailure(status);
}

Json SizeJson(const language::TensorSize& size) {
  return {{"bytes", size.bytes}, {"bits", size.bits}};
}

language::TensorSize SizeBefore(const Written& done) {
  Types types;
  for (const gguf::TensorInfo& tensor : done.file->tensors()) types.push_back(tensor.type);
  return language::SizeOf(*done.file, types);
}

/// What the choice had to hold.
Json BudgetJson(const GgufQuantisation& options) {
  const auto growth = ReadGrowth(options.perplexity);
  return {{"budget_bits", options.bits > 0 ? Json(options.bits) : Json(nullptr)},
          {"budget_growth_percent", growth.ok() ? Json(*growth) : Json(nullptr)}};
}

Json Document(const GgufQuantisation& options, const Written& done) {
  Json matrices = Json::array();
  for (const MatrixRow& row : done.rows) {
    const gguf::TensorInfo& tensor = done.file->tensors()[row.tensor];
    matrices.push_back(
        {{"name", tensor.name},
         {"before", tensor.type->name},
         {"type", row.type->name},
         {"bytes", gguf::BytesAs(tensor, *row.type)},
         {"sqnr_db", NumberJson(row.sqnr_db())},
         {"divergence", done.choice ? Json(done.choice->divergence[row.tensor]) : Json(nullptr)}});
  }
  return {{"model", options.model},
          {"output", options.output},
          {"before", SizeJson(SizeBefore(done))},
          {"after", SizeJson(language::SizeOf(*done.file, done.types))},
          {"matrices", std::move(matrices)},
          {"choice", done.choice ? ChoiceJson(*done.choice, BudgetJson(options)) : Json(nullptr)},
          {"seconds", done.seconds},
          {"device", DeviceJson(done.threads)},
          {"warnings", done.warnings}};
}

/// A line for each type.
void PrintTypes(const Written& done) {
  struct Sums {
    int64_t matrices = 0, bytes = 0;
    double error = 0, power = 0;
  };
  std::map<std::string_view, Sums> by_type;
  for (const MatrixRow& row : done.rows) {
    Sums& sums = by_type[row.type->name];
    ++sums.matrices;
    sums.bytes += gguf::BytesAs(done.file->tensors()[row.tensor], *row.type);
    sums.error += row.error;
    sums.power += row.power;
  }
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"type"}, {"matrices", kRight}, {"size", kRight}, {"SQNR dB", kRight}});
  for (const auto& [name, sums] : by_type) {
    const MatrixRow all{0, nullptr, sums.error, sums.power};
    table.Row({std::string(name), fmt::format("{}", sums.matrices),
               HumanBytes(static_cast<double>(sums.bytes)),
               sums.error > 0 ? fmt::format("{:.1f}", all.sqnr_db()) : "exact"});
  }
  fmt::print("{}\n", table.ToString());
}

void Print(const GgufQuantisation& options, const Written& done) {
  PrintTypes(done);
  if (done.choice) PrintChoice(*done.choice);
  const language::TensorSize before = SizeBefore(done),
                             after = language::SizeOf(*done.file, done.types);
  PrintParts({fmt::format("{} to {}", HumanBytes(static_cast<double>(before.bytes)),
                          HumanBytes(static_cast<double>(after.bytes))),
              fmt::format("{:.2f} to {:.2f} bits a weight", before.bits, after.bits),
              fmt::format("{:.1f} s", done.seconds)});
  PrintParts({options.output, DeviceLine(done.threads, nullptr)});
}

}  // namespace

bool IsGgufFile(const std::string& path) {
  if (path.ends_with(".gguf")) return true;
  const auto mapped = MappedFile::Open(path);
  return mapped.ok() && gguf::File::IsGguf((*mapped)->bytes());
}

std::string CheckGrowth(const std::string& text) {
  return std::string(ReadGrowth(text).status().message());
}

int QuantiseGguf(const GgufQuantisation& options) {
  InstallLog(options.common.log);
  StartInterruptThread();
  const int64_t begin = NowNs();
  Written done;
  const InterruptScope interrupt([] {});
  const Status status = Perform(options, done);
  if (!status.ok()) return Fail(status);
  done.seconds = MsSince(begin) / 1000;
  PrintWarnings(done.warnings);
  if (options.common.json) {
    PrintJson(Document(options, done));
  } else {
    Print(options, done);
  }
  return kExitOk;
}

}  // namespace fettle::tools
