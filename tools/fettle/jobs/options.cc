#include "jobs/options.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/log.h"
#include "base/memory_budget.h"
#include "device/cpu/cpu_device.h"
#include "io/named_argument.h"
#include "kernels/backend.h"
#include "options/checks.h"
#include "ranges/shape_ranges.h"
#include "report/messages.h"
#include "report/terminal.h"
#include "tensor/shape_text.h"

namespace fettle::tools {
namespace {

std::string CheckDevice(const std::string& text) {
  std::string_view which;
  if (text == "auto" || kernels::BackendOfChoice(text, &which) != nullptr) return "";
  return fmt::format("expected {}, got '{}'", kernels::DeviceChoices(), text);
}

/// A variable is checked for all commands, those that take ranges too (MisplacedRange).
std::string CheckShape(const std::string& text) {
  if (HasRange({text})) return ParseShapeRanges({text}).status().message();
  return ParseShapes({text}).status().message();
}

}  // namespace

void AddWide(CLI::App& app) {
  app.add_flag_function(
         "--wide",
         [](int64_t count) {
           if (count > 0) SetWide();
         },
         "do not shorten names in tables to the terminal's width")
      ->envname("FETTLE_WIDE");
}

namespace {

/// Where and how exactly kernels run.
void AddDeviceOptions(CLI::App& app, CommonOptions& options) {
  app.add_option("--device", options.device, kernels::DeviceChoices())
      ->envname("FETTLE_DEVICE")
      ->check(CheckDevice);
  app.add_flag("--strict-device", options.strict_device,
               "fail (exit code 4) where the device cannot run the model, instead of using the CPU")
      ->envname("FETTLE_STRICT_DEVICE");
  app.add_option("--threads", options.threads, "threads of the CPU; 0: one for each core (default)")
      ->envname("FETTLE_THREADS")
      ->check(Between(0, 1024));
  app.add_option("--precision", options.precision,
                 "how exactly kernels compute (default high): normal also stores values as f16 and "
                 "multiplies bf16, low also computes in f16")
      ->envname("FETTLE_PRECISION")
      ->check(OneOf({"high", "normal", "low"}));
  app.add_option("--memory", options.memory,
                 "memory that an accelerator keeps tensors in (default auto)")
      ->envname("FETTLE_MEMORY")
      ->check(OneOf({"auto", "buffer", "image"}));
  app.add_option("--queue-window", options.queue_window,
                 "accelerators: the most commands in the queue; 0: no limit (default)")
      ->envname("FETTLE_QUEUE_WINDOW")
      ->check(NonNegative<int64_t>());
  app.add_option("--kernel-ms", options.kernel_ms,
                 "accelerators: split kernels that take longer, in ms; 0: never (default)")
      ->envname("FETTLE_KERNEL_MS")
      ->check(NonNegative<double>());
  app.add_option("--svm", options.svm, "accelerators: memory shared with the CPU (default off)")
      ->envname("FETTLE_SVM")
      ->check(OneOf({"auto", "off", "coarse", "fine"}));
}

/// How the CPU takes small numbers, and what memory may be taken.
void AddHostOptions(CLI::App& app, CommonOptions& options) {
  app.add_option("--subnormals", options.subnormals,
                 "CPU: take numbers nearer to 0 than 1.2e-38 as 0 (flush, the default), or compute "
                 "with them (keep)")
      ->envname("FETTLE_SUBNORMALS")
      ->check(OneOf({"flush", "keep"}));
  // In force at once, for all that this process makes.
  app.add_option_function<int64_t>(
         "--max-memory",
         [](int64_t bytes) {
           if (bytes > 0) MemoryBudget::Process().set_limit(bytes);
         },
         "the most host memory that tensors may take, such as 800MB (default: four fifths of the "
         "machine's)")
      ->envname("FETTLE_MAX_MEMORY")
      ->transform(ByteSize());
}

}  // namespace

void AddCommonOptions(CLI::App& app, CommonOptions& options) {
  AddDeviceOptions(app, options);
  AddHostOptions(app, options);
  app.add_option("--shape", options.shapes,
                 "NAME=1x3x224x224: the shape of an input; may be given for each input")
      ->envname("FETTLE_SHAPE")
      ->check(CheckShape)
      ->take_all()
      ->expected(1);
  app.add_option(
         "--cache", options.cache,
         "folder of the tuning database (default: fettle in $XDG_CACHE_HOME or $HOME/.cache)")
      ->envname("FETTLE_CACHE");
  app.add_flag("--no-cache", options.no_cache, "neither read nor write the tuning database")
      ->envname("FETTLE_NO_CACHE");
  app.add_option("--seed", options.seed,
                 "seed of the random inputs that are made where none is given (default 0)")
      ->envname("FETTLE_SEED")
      ->check(NonNegative<uint64_t>());
  app.add_option("--log", options.log, "what is logged to standard error (default warn)")
      ->envname("FETTLE_LOG")
      ->check(OneOf({"error", "warn", "info", "debug"}));
  app.add_flag("--json", options.json, "print one JSON document instead of tables")
      ->envname("FETTLE_JSON");
  AddWide(app);
}

namespace {

Status KeepToHigh(const CommonOptions& options, std::string_view reason,
                  std::vector<std::string>& warnings) {
  if (options.strict_device) return Unsupported("--precision {}: {}", options.precision, reason);
  warnings.push_back(fmt::format("--precision {}: {}; high is used", options.precision, reason));
  return OkStatus();
}

}  // namespace

std::string_view CpuPrecision() {
  const CpuInfo& info = GetCpuInfo();
  return info.avx512_bf16 || info.avx2 ? "normal" : "high";
}

Status CheckCpuAlone(const CommonOptions& options, std::vector<std::string>& warnings) {
  if (options.memory == "image") {
    if (options.strict_device || !NamesAccelerator(options.device))
      return Unsupported("--memory image: the CPU has no image memory");
    warnings.push_back("--memory image: the CPU has no image memory");
  }
  if (options.precision != "high" && CpuPrecision() == "high")
    RETURN_IF_ERROR(KeepToHigh(options, kNoBf16, warnings));
  if (options.precision == "low" && options.strict_device)
    return Unsupported("--precision low: the CPU sums in f32");
  if (options.queue_window != 0 || options.kernel_ms != 0)
    warnings.push_back("--queue-window and --kernel-ms change nothing on the CPU");
  if (options.svm != "off") warnings.push_back("--svm changes nothing on the CPU");
  return OkStatus();
}

Status CheckCpuOptions(const CommonOptions& options, std::vector<std::string>& warnings) {
  if (NamesAccelerator(options.device))
    return Unsupported("--device {}: this command runs on the CPU only", options.device);
  if (options.precision == "high" || CpuPrecision() == "high")
    return CheckCpuAlone(options, warnings);
  RETURN_IF_ERROR(KeepToHigh(options, "this command computes in high precision only", warnings));
  CommonOptions high = options;
  high.precision = "high";
  return CheckCpuAlone(high, warnings);
}

Result<std::map<std::string, Shape>> ParseShapes(const std::vector<std::string>& shapes) {
  std::map<std::string, Shape> result;
  for (const std::string& text : shapes) {
    ASSIGN_OR_RETURN(const NamedText named, SplitNamedShape(text, "NAME=1x3x224x224"));
    if (named.text.find("..") != named.text.npos)
      return InvalidArgument("{}: only tune takes a range; give one size, such as 1x3x224x224",
                             text);
    const std::optional<Shape> shape = ShapeFromText(named.text);
    if (!shape) return InvalidArgument("expected extents such as 1x3x224x224, got '{}'", text);
    if (!shape->CheckedElements()) return InvalidArgument("too many elements: {}", text);
    result.insert_or_assign(named.name, *shape);
  }
  return result;
}

void AddLoadAndRunFlags(CLI::App& app, LoadAndRunFlags& flags) {
  app.add_flag("--fast-run", flags.fast_run, "tune at level fast before running");
  // "cuda" is known, to be answered by a message of its own.
  std::vector<std::string> targets = {"cuda"};
  std::string names;
  for (const kernels::Backend* backend : kernels::Backends()) {
    targets.emplace_back(backend->name);
    names += fmt::format("{}{}", names.empty() ? "" : "|", backend->name);
  }
  CLI::Option* transform = app.add_option("--layout-transform", flags.layout_transform,
                                          "tune before running, for " + names)
                               ->check(OneOf(targets));
  app.add_option("--layout-transform-dump", flags.layout_transform_dump,
                 "write the tuned model to this package")
      ->needs(transform);
}

void ChooseTarget(const LoadAndRunFlags& flags, CommonOptions& options) {
  if (NamesAccelerator(flags.layout_transform) && options.device == "auto")
    options.device = flags.layout_transform;
}

bool NamesAccelerator(std::string_view device) {
  std::string_view which;
  const kernels::Backend* backend = kernels::BackendOfChoice(device, &which);
  return backend != nullptr && backend->open != nullptr;
}

std::map<std::string, std::string> EnvironmentInForce() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (!text.starts_with("FETTLE_") || equals == std::string_view::npos) continue;
    result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

int ResolveThreads(int threads) { return threads > 0 ? threads : GetCpuInfo().cores; }

void InstallLog(const std::string& level) {
  LogLevel most = LogLevel::kWarn;
  if (level == "error") most = LogLevel::kError;
  if (level == "info") most = LogLevel::kInfo;
  if (level == "debug") most = LogLevel::kDebug;
  SetLogSink(
      [](LogLevel of_line, std::string_view line) {
        PrintMessage("fettle: {}{}\n", of_line == LogLevel::kWarn ? "warning: " : "", line);
      },
      most);
}

}  // namespace fettle::tools
