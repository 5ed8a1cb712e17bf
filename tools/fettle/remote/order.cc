#include "remote/order.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "io/named_argument.h"
#include "io/tensor_io.h"
#include "jobs/command_line.h"
#include "jobs/exit_code.h"
#include "jobs/job.h"
#include "jobs/model_file.h"
#include "remote/job_folder.h"

namespace fettle::tools {
namespace {

/// What an option's value is to a target.
enum class SentAs { kText, kModel, kFile, kNamedFile, kPackage, kStaysHere, kRefused };

struct SentOption {
  const char* name;
  SentAs value;
};

/// Options that are not texts alone.
constexpr SentOption kOptions[] = {
    {"MODEL", SentAs::kModel},
    {"--input", SentAs::kNamedFile},
    {"--against", SentAs::kPackage},
    {"--compare", SentAs::kFile},
    {"--output", SentAs::kStaysHere},
    {"--cache", SentAs::kStaysHere},
    {"--remote", SentAs::kStaysHere},
    {"--remote-hold", SentAs::kStaysHere},
    {"--runner", SentAs::kStaysHere},
    {"--json", SentAs::kStaysHere},
    {"--wide", SentAs::kStaysHere},
    {"--help", SentAs::kStaysHere},
    {"--version", SentAs::kStaysHere},
    {"--csv", SentAs::kRefused},
    {"--layout-transform-dump", SentAs::kRefused},
};

SentAs SentAsOf(const std::string& name) {
  const auto found =
      std::ranges::find_if(kOptions, [&](const SentOption& row) { return name == row.name; });
  return found == std::end(kOptions) ? SentAs::kText : found->value;
}

class OrderMaker {
 public:
  explicit OrderMaker(std::string scratch) : scratch_(std::move(scratch)) {}

  Status Add(const CLI::Option& option);
  RemoteOrder order;

 private:
  /// Sends `path` and returns what it is called there.
  Result<std::string> Send(const std::string& path);
  Result<std::string> SendModel(const std::string& path);
  Result<std::string> Word(SentAs value, const std::string& name, const std::string& text);

  std::string scratch_;
};

Result<std::string> OrderMaker::Send(const std::string& path) {
  if (path == "-") return InvalidArgument("standard input cannot be sent to a target");
  if (IsDirectory(path)) return InvalidArgument("{}: a folder cannot be sent to a target", path);
  const auto file = MappedFile::Open(path);
  if (!file.ok()) return AsInvalidInput(file.status());
  order.hash = HashText(path, order.hash ^ HashMapped((*file)->bytes()));
  // Two files of one name lie in different folders here.
  std::string name = FileNameFor(std::filesystem::path(path).filename().string());
  const auto is_taken = [&] {
    return std::ranges::any_of(
        order.files, [&](const SentFile& sent) { return sent.name == kInputFolder + name; });
  };
  while (is_taken()) name = "other_" + name;
  order.files.push_back({path, kInputFolder + name});
  return "../in/" + name;
}

Result<std::string> OrderMaker::SendModel(const std::string& path) {
  order.model = path;
  if (path == "-") return InvalidArgument("standard input cannot be sent to a target");
  ASSIGN_OR_RETURN(const auto model, LoadModel(path));
  if (model->package() != nullptr) return Send(path);
  ASSIGN_OR_RETURN(const ModelFile file, ReadModelFile(path));
  if (file.whole.empty()) return Send(path);
  const std::string whole = scratch_ + "/" + std::filesystem::path(path).filename().string();
  RETURN_IF_ERROR(WriteTextFile(whole, file.whole));
  return Send(whole);
}

Result<std::string> OrderMaker::Word(SentAs value, const std::string& name,
                                     const std::string& text) {
  if (value == SentAs::kModel) return SendModel(text);
  if (value == SentAs::kFile) return Send(text);
  if (value == SentAs::kPackage && text != "reference") return Send(text);
  if (value == SentAs::kRefused) return InvalidArgument("{}: has no meaning with --remote", name);
  if (value != SentAs::kNamedFile) return text;
  // [NAME=]FILE or NAME=const:VALUE
  const auto is_given = [](std::string_view file) {
    return file.starts_with("const:") || FileExists(std::string(file));
  };
  if (text.starts_with("const:")) return text;
  if (is_given(text)) return Send(text);
  auto named = SplitNamed(text, [&](const NamedText& split) { return is_given(split.text); });
  if (!named) named = SplitNamed(text, [](const NamedText&) { return true; });
  if (!named) return Send(text);
  if (named->text.starts_with("const:")) return text;
  ASSIGN_OR_RETURN(const std::string sent, Send(named->text));
  return named->name + "=" + sent;
}

Status OrderMaker::Add(const CLI::Option& option) {
  const std::string name = option.get_positional() ? option.get_single_name() : option.get_name();
  const SentAs value = SentAsOf(name);
  if (option.count() == 0 || value == SentAs::kStaysHere) return OkStatus();
  for (const std::string& text : option.results()) {
    const bool is_flag = option.get_items_expected_max() == 0;
    // A variable may say that a flag is off; a flag that switches off says so by being there.
    if (is_flag && text == "false" && !option.get_envname().empty()) continue;
    ASSIGN_OR_RETURN(const std::string word, Word(value, name, text));
    if (option.get_positional())
      order.words.push_back(word);
    else
      order.words.push_back(is_flag ? name : name + "=" + word);
  }
  return OkStatus();
}

}  // namespace

Result<RemoteOrder> MakeOrder(const CLI::App& command, const std::string& scratch) {
  OrderMaker maker(scratch);
  maker.order.command = command.get_name();
  maker.order.words = {command.get_name()};
  Status status;
  ForEachOption(command, [&](const CLI::Option& option) {
    if (status.ok()) status = maker.Add(option);
  });
  RETURN_IF_ERROR(status);
  maker.order.words.insert(maker.order.words.end(), {"--json", "--cache=../cache"});
  for (const std::string& word : maker.order.words)
    maker.order.hash = HashText(word, maker.order.hash);
  return std::move(maker.order);
}

}  // namespace fettle::tools
