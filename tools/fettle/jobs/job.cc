#include "jobs/job.h"

#include <fmt/core.h>

#include <cstdio>

#include "io/named_argument.h"
#include "jobs/accelerator.h"
#include "jobs/exit_code.h"
#include "options/checks.h"

namespace fettle::tools {

namespace {

Result<std::shared_ptr<const runtime::Model>> LoadStandardInput(
    const runtime::LoadOptions& options) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::vector<std::byte> bytes;
  size_t got = 0;
  do {
    const size_t at = bytes.size();
    bytes.resize(at + kPiece);
    got = std::fread(bytes.data() + at, 1, kPiece, stdin);
    bytes.resize(at + got);
  } while (got > 0);
  if (std::ferror(stdin) != 0) return InvalidArgument("standard input: cannot be read");
  auto model = runtime::Model::LoadBytes(bytes, "standard input", options);
  if (!model.ok()) return AsInvalidInput(model.status());
  return model;
}

std::optional<CompactForm> WeightForm(const std::string& name) {
  if (name == "f16") return CompactForm::kHalves;
  return name == "i8" ? std::optional(CompactForm::kBytes) : std::nullopt;
}

}  // namespace

void AddModelOptions(CLI::App& app, std::string& model, bool& strict, bool& binary_lenient) {
  app.add_option("MODEL", model, "an .onnx file or a .fettle package; - is standard input")
      ->required();
  app.add_flag(
         "--strict", strict,
         "refuse a package that was made for another device or version, instead of planning again")
      ->envname("FETTLE_STRICT");
  app.add_flag(
         "--binary-lenient", binary_lenient,
         "take Sign(0) as 1 where a convolution or product can then run on bits (docs/bnn.md)")
      ->envname("FETTLE_BINARY_LENIENT");
}

void AddJobOptions(CLI::App& app, JobOptions& options) {
  AddModelOptions(app, options.model, options.strict, options.binary_lenient);
  app.add_option("-i,--input", options.inputs,
                 "[NAME=]FILE (.npy, .pb, .png, .jpg, else raw bytes) or NAME=const:VALUE; may be "
                 "given for each input")
      ->take_all()
      ->expected(1);
  app.add_option("--preprocess", options.preprocess,
                 "how pictures become numbers: 0 to 255 (none), 0 to 1 (unit, the default), "
                 "normalised as for ImageNet, or the luma alone (y)")
      ->envname("FETTLE_PREPROCESS")
      ->check(OneOf({"none", "unit", "imagenet", "y"}));
  AddCommonOptions(app, options.common);
}

Result<std::shared_ptr<const runtime::Model>> LoadModel(const std::string& path,
                                                        const runtime::LoadOptions& options) {
  if (path == "-") return LoadStandardInput(options);
  auto model = runtime::Model::Load(path, options);
  if (!model.ok()) return AsInvalidInput(model.status());
  return model;
}

namespace {

/// The names in NAME=FILE: of an initialiser that is an input too, it is overridden.
std::vector<std::string> NamedIn(const std::vector<std::string>& inputs) {
  std::vector<std::string> names;
  for (const std::string& input : inputs)
    std::ranges::move(PossibleNames(input), std::back_inserter(names));
  return names;
}

/// The job's model, and the accelerator that it names where the options leave that open.
Status LoadModelOf(const JobOptions& options, Job& job) {
  double named_ms = 0;  // opening what a package names, while it is loaded
  const auto find = [&](const runtime::PackageInfo& info) {
    const int64_t begin = NowNs();
    job.session.accelerators = {AcceleratorOf(info, options.common)};
    std::erase(job.session.accelerators, nullptr);  // the package is the CPU's
    named_ms = MsSince(begin);
    return job.session.accelerator();
  };
  const int64_t start = NowNs();
  ASSIGN_OR_RETURN(job.model, LoadModel(options.model, {.strict = options.strict,
                                                        .overridden = NamedIn(options.inputs),
                                                        .outputs = options.asked,
                                                        .accelerators = job.session.beside_cpu(),
                                                        .find_accelerator = find,
                                                        .weights = WeightForm(options.weights),
                                                        .binary_lenient = options.binary_lenient}));
  job.load_ms = MsSince(start) - named_ms;
  job.device_ms += named_ms;
  return OkStatus();
}

}  // namespace

Result<BoundInputs> BindJobInputs(const JobOptions& options, const runtime::Model& model,
                                  const std::map<std::string, Shape>& shapes,
                                  std::vector<std::string>& warnings) {
  ASSIGN_OR_RETURN(const Preprocess preprocess, ParsePreprocess(options.preprocess));
  ASSIGN_OR_RETURN(const auto arguments, MatchInputs(model.graph(), options.inputs));
  const auto complete = [&](std::map<std::string, Shape> given) {
    return runtime::DefaultShapes(model, given, &warnings);
  };
  return BindInputs(model.graph(), arguments, {preprocess, options.common.seed, shapes}, complete,
                    warnings);
}

Result<Job> MakeJob(const JobOptions& options) {
  Job job;
  const int64_t start = NowNs();
  // Before the device is opened: a first start compiles from then on.
  job.compilers = CompileAside(options.common, {});
  ASSIGN_OR_RETURN(job.session, MakeSessionOptions(options.common, job.warnings));
  if (job.session.accelerator() != nullptr) job.device_ms = MsSince(start);
  RETURN_IF_ERROR(ParsePreprocess(options.preprocess).status());
  ASSIGN_OR_RETURN(const auto shapes, ParseShapes(options.common.shapes));
  job.threads = ResolveThreads(options.common.threads);
  RETURN_IF_ERROR(LoadModelOf(options, job));
  job.warnings.insert(job.warnings.end(), job.model->warnings().begin(),
                      job.model->warnings().end());
  ASSIGN_OR_RETURN(job.bound, BindJobInputs(options, *job.model, shapes, job.warnings));
  return job;
}

std::string TypeText(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", DTypeName(dtype), shape.ToString());
}

}  // namespace fettle::tools
