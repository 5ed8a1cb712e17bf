#include "device/opencl/programs.h"

#include "base/clock.h"
#include "base/log.h"
#include "device/opencl/compile_worker.h"
#include "device/opencl/program/linker.h"
#include "device/opencl/program/ptx.h"

namespace fettle {
namespace {

/// The first death may have had another reason, the second one says enough.
constexpr int kMostCrashes = 1;

double SecondsSince(int64_t start_ns) { return static_cast<double>(NowNs() - start_ns) * 1e-9; }

std::string BuildLog(const OpenClApi& api, cl_program program, cl_device_id device) {
  size_t size = 0;
  if (api.GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) !=
          CL_SUCCESS ||
      size == 0)
    return {};
  std::string log(size, '\0');
  if (api.GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) !=
      CL_SUCCESS)
    return {};
  return log.c_str();
}

Status BuildFailure(const ProgramSource& source, std::string_view why, std::string_view log) {
  return Error(StatusCode::kBuildFailed, "OpenCL: program '{}': {}: options '{}': {}", source.name,
               why, source.options, log);
}

/// Of a failure of another process: what this one says before a log is there already.
std::string_view LogOf(const Status& failure, const ProgramSource& source) {
  std::string_view log = failure.message();
  const std::string before = fmt::format("options '{}': ", source.options);
  if (const size_t at = log.find(before); at != std::string_view::npos)
    log.remove_prefix(at + before.size());
  return log;
}

/// The binary that the process's compiler makes; empty: to be built here.
Result<std::vector<std::byte>> CompileElsewhere(const ProgramSource& source,
                                                std::string_view fingerprint) {
  const ProgramCompiler compiler = GetProgramCompiler();
  if (!compiler) return std::vector<std::byte>();
  Result<std::vector<std::byte>> binary = compiler(source, fingerprint);
  const StatusCode code = binary.ok() ? StatusCode::kOk : binary.status().code();
  if (binary.ok() || code == StatusCode::kBuildFailed || code == StatusCode::kCancelled)
    return binary;
  Log(LogLevel::kWarn, "OpenCL: {}; programs are built in this process", binary.status().message());
  SetProgramCompiler(nullptr);
  return std::vector<std::byte>();
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::byte> OpenClProgram::Binary() const {
  if (!binary_.empty()) return binary_;
  // One device, hence one size and one pointer.
  size_t size = 0;
  if (api_.GetProgramInfo(program_, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) !=
      CL_SUCCESS)
    return {};
  std::vector<std::byte> bytes(size);
  std::byte* data = bytes.data();
  if (size == 0 || api_.GetProgramInfo(program_, CL_PROGRAM_BINARIES, sizeof(data), &data,
                                       nullptr) != CL_SUCCESS)
    return {};
  return bytes;
}

void OpenClProgram::Trust() {
  watched_.store(false, std::memory_order_relaxed);
  watch_->MarkLaunched(key_);
  InFlight::Forgive(watch_->flight_folder(), key_);
}

OpenClPrograms::OpenClPrograms(const OpenClApi& api, std::shared_ptr<void> context,
                               cl_device_id device, std::string fingerprint,
                               std::shared_ptr<ProgramCache> cache, bool links)
    : api_(api),
      context_(std::move(context)),
      device_(device),
      fingerprint_(std::move(fingerprint)),
      cache_(std::move(cache)),
      linker_(links && ProgramLinker::IsNeeded() ? std::make_unique<ProgramLinker>(api, device)
                                                 : nullptr) {}
OpenClPrograms::~OpenClPrograms() = default;
Result<std::shared_ptr<OpenClProgram>> OpenClPrograms::Get(const ProgramSource& source) {
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Slot>& place = slots_[source];
    if (place == nullptr) place = std::make_shared<Slot>();
    slot = place;
  }
  std::lock_guard lock(slot->mutex);
  if (slot->program != nullptr) return slot->program;
  RETURN_IF_ERROR(slot->failure);
  Result<std::shared_ptr<OpenClProgram>> made = Make(source);
  if (made.ok()) {
    slot->program = *made;
    slot->program->set_source(source);
  } else if (made.status().code() == StatusCode::kBuildFailed) {
    slot->failure = made.status();
  }
  return made;
}

Result<std::shared_ptr<OpenClProgram>> OpenClPrograms::Make(const ProgramSource& source) {
  const std::string key = ProgramKey(source.text, source.options, fingerprint_);
  RETURN_IF_ERROR(CheckCrashes(source, key));
  std::optional<ProgramCache::Entry> entry;
  if (cache_ != nullptr) entry = cache_->Find(key);
  // What ran here before needs no watching, as a package's copy of it would.
  if (!entry || !entry->launched) {
    if (std::shared_ptr<OpenClProgram> program = TakeImported(source, key, !entry)) return program;
  }
  if (entry && entry->kind == ProgramCache::Kind::kFailure)
    return CountFailure(source, "failed to build before", TextOf(entry->payload));
  if (entry) {
    const int64_t start = NowNs();
    if (auto program = Load(source, key, entry->payload, entry->launched)) {
      std::lock_guard lock(mutex_);
      ++statistics_.from_cache;
      statistics_.load_seconds += SecondsSince(start);
      Log(LogLevel::kDebug, "OpenCL: program '{}': loaded in {:.1f} ms", source.name,
          SecondsSince(start) * 1e3);
      return program;
    }
    cache_->Remove(key);
  }
  return Build(source, key);
}

Status OpenClPrograms::CheckCrashes(const ProgramSource& source, const std::string& key) const {
  if (cache_ == nullptr) return OkStatus();
  const std::string& folder = cache_->flight_folder();
  const int crashes = InFlight::Crashes(folder, key);
  if (crashes == 0) return OkStatus();
  if (crashes <= kMostCrashes) {
    Log(LogLevel::kWarn,
        "OpenCL: program '{}': a process died while building or first launching it; tried again",
        source.name);
    return OkStatus();
  }
  return Error(StatusCode::kBuildFailed,
               "OpenCL: program '{}': {} processes died while building or first launching it with "
               "this driver; not tried again (remove {}/{}.* to try)",
               source.name, crashes, folder, key);
}

std::unique_ptr<InFlight> OpenClPrograms::Begin(const std::string& key) const {
  return cache_ == nullptr ? nullptr : InFlight::Begin(cache_->flight_folder(), key);
}

std::shared_ptr<OpenClProgram> OpenClPrograms::TakeImported(const ProgramSource& source,
                                                            const std::string& key, bool is_new) {
  std::vector<std::byte> binary;
  {
    std::lock_guard lock(mutex_);
    const auto found = imported_.find(key);
    if (found == imported_.end()) return nullptr;
    binary = found->second;
  }
  const int64_t start = NowNs();
  std::shared_ptr<OpenClProgram> program = Load(source, key, binary, false);
  if (program == nullptr) return nullptr;
  // Kept as what it is, so that the note of its first launch has a place.
  if (cache_ != nullptr && is_new) cache_->Put(key, ProgramCache::Kind::kBinary, binary);
  std::lock_guard lock(mutex_);
  ++statistics_.from_package;
  statistics_.load_seconds += SecondsSince(start);
  return program;
}

/// Null where the driver does not take the binary, which is no failure: there is the source.
std::shared_ptr<OpenClProgram> OpenClPrograms::Load(const ProgramSource& source,
                                                    const std::string& key,
                                                    std::span<const std::byte> binary,
                                                    bool launched) {
  if (linker_ != nullptr) {
    const std::vector<std::byte> code = linker_->Link(binary);
    std::shared_ptr<OpenClProgram> program;
    if (!code.empty()) program = LoadCode(source, key, code, launched);
    if (program != nullptr) {
      program->set_binary(binary);
      return program;
    }
  }
  return LoadCode(source, key, binary, launched);
}

std::shared_ptr<OpenClProgram> OpenClPrograms::LoadCode(const ProgramSource& source,
                                                        const std::string& key,
                                                        std::span<const std::byte> binary,
                                                        bool launched) {
  const std::unique_ptr<InFlight> marker = launched ? nullptr : Begin(key);
  const size_t size = binary.size();
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int code = CL_SUCCESS, of_binary = CL_SUCCESS;
  cl_program made = api_.CreateProgramWithBinary(static_cast<cl_context>(context_.get()), 1,
                                                 &device_, &size, &data, &of_binary, &code);
  if (code != CL_SUCCESS) return nullptr;
  auto program = std::make_shared<OpenClProgram>(api_, made, key, launched ? nullptr : cache_);
  code = api_.BuildProgram(made, 1, &device_, source.options.c_str(), nullptr, nullptr);
  if (of_binary != CL_SUCCESS || code != CL_SUCCESS) return nullptr;
  return program;
}

Status OpenClPrograms::Refuse(const ProgramSource& source, const std::string& key,
                              std::string_view why, std::string_view log) {
  if (cache_ != nullptr) cache_->Put(key, ProgramCache::Kind::kFailure, BytesOf(std::string(log)));
  return CountFailure(source, why, log);
}

Status OpenClPrograms::CountFailure(const ProgramSource& source, std::string_view why,
                                    std::string_view log) {
  std::lock_guard lock(mutex_);
  ++statistics_.failed;
  return BuildFailure(source, why, log);
}

void OpenClPrograms::Keep(const std::string& key, std::span<const std::byte> binary,
                          int64_t start_ns) {
  if (cache_ != nullptr && !binary.empty()) cache_->Put(key, ProgramCache::Kind::kBinary, binary);
  std::lock_guard lock(mutex_);
  ++statistics_.built;
  statistics_.build_seconds += SecondsSince(start_ns);
}

Result<std::shared_ptr<OpenClProgram>> OpenClPrograms::BuildHere(const ProgramSource& source,
                                                                 const std::string& key) {
  const char* text = source.text.c_str();
  const size_t length = source.text.size();
  const std::unique_ptr<InFlight> marker = Begin(key);
  cl_int code = CL_SUCCESS;
  cl_program made = api_.CreateProgramWithSource(static_cast<cl_context>(context_.get()), 1, &text,
                                                 &length, &code);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: program '" + source.name + "'"));
  auto program = std::make_shared<OpenClProgram>(api_, made, key, cache_);
  // Some drivers print how many warnings there were to standard error.
  const std::string options = source.options + (source.options.empty() ? "-w" : " -w");
  code = api_.BuildProgram(made, 1, &device_, options.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  const std::string log = BuildLog(api_, made, device_);
  // Other failures, as of memory, may pass.
  return code == CL_BUILD_PROGRAM_FAILURE ? Refuse(source, key, OpenClErrorName(code), log)
                                          : CountFailure(source, OpenClErrorName(code), log);
}

Result<std::shared_ptr<OpenClProgram>> OpenClPrograms::Build(const ProgramSource& source,
                                                             const std::string& key) {
  const int64_t start = NowNs();
  const Result<std::vector<std::byte>> elsewhere = CompileElsewhere(source, fingerprint_);
  if (elsewhere.status().code() == StatusCode::kCancelled) return elsewhere.status();
  if (!elsewhere.ok()) return Refuse(source, key, "not built", LogOf(elsewhere.status(), source));
  if (!elsewhere->empty()) {
    const double compile_seconds = SecondsSince(start);
    if (auto program = Load(source, key, *elsewhere, false)) {
      Keep(key, *elsewhere, start);
      Log(LogLevel::kDebug,
          "OpenCL: program '{}': built in {:.1f} ms by another process, then loaded: {:.1f} ms",
          source.name, compile_seconds * 1e3, SecondsSince(start) * 1e3);
      return program;
    }
  }
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClProgram> program, BuildHere(source, key));
  // Some drivers compile when they are asked for it: PoCL, all kernels for any work-group.
  std::vector<std::byte> binary;
  if (cache_ != nullptr || HasMarks(source.text)) binary = program->Binary();
  const auto marked = WithMarkedInstructions(binary);
  if (!marked.ok()) return Refuse(source, key, "not built", marked.status().message());
  if (!marked->empty()) {
    program = Load(source, key, *marked, false);
    if (program == nullptr)
      return Refuse(source, key, "not built", "its instructions are not taken");
    binary = *marked;
  }
  Keep(key, binary, start);
  Log(LogLevel::kDebug, "OpenCL: program '{}': built in {:.1f} ms", source.name,
      SecondsSince(start) * 1e3);
  return program;
}

std::vector<ProgramBinary> OpenClPrograms::Export() const {
  std::vector<std::shared_ptr<Slot>> slots;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [source, slot] : slots_) slots.push_back(slot);
  }
  std::vector<ProgramBinary> binaries;
  for (const std::shared_ptr<Slot>& slot : slots) {
    std::lock_guard lock(slot->mutex);
    if (slot->program == nullptr) continue;
    std::vector<std::byte> bytes = slot->program->Binary();
    if (!bytes.empty()) binaries.push_back({slot->program->key(), std::move(bytes)});
  }
  return binaries;
}

void OpenClPrograms::Import(std::vector<ProgramBinary> binaries) {
  std::lock_guard lock(mutex_);
  for (ProgramBinary& binary : binaries) imported_[binary.key] = std::move(binary.bytes);
}

ProgramStatistics OpenClPrograms::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace fettle
