// The options that several commands share, their environment variables, and what they mean today.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/shape.h"

namespace fettle::tools {

struct CommonOptions {
  std::string device = "auto";
  bool strict_device = false;
  int threads = 0;  // 0: all cores
  std::string precision = "high";
  std::string memory = "auto";
  int64_t queue_window = 0;
  double kernel_ms = 0;
  std::string svm = "off";
  std::string subnormals = "flush";
  std::vector<std::string> shapes;  // NAME=1x3x224x224
  std::string cache;
  bool no_cache = false;
  uint64_t seed = 0;
  std::string log = "warn";
  bool json = false;
};

/// Adds --wide, which holds for all output of this process.
void AddWide(CLI::App& app);

/// Adds the options of docs/cli.md, each with its FETTLE_... variable. `options` must outlive the
/// parse.
void AddCommonOptions(CLI::App& app, CommonOptions& options);

/// Why CpuPrecision() is "high", where it is.
inline constexpr std::string_view kNoBf16 = "the CPU has no bf16 instructions";
/// The lowest precision that the CPU's kernels can use: "normal" where it multiplies bf16.
std::string_view CpuPrecision();
/// Where the CPU computes alone: options that change nothing there become warnings, or kUnsupported
/// where another device was not asked for in vain.
Status CheckCpuAlone(const CommonOptions& options, std::vector<std::string>& warnings);
/// The same for commands of the CPU, which refuse another device and keep to high precision.
Status CheckCpuOptions(const CommonOptions& options, std::vector<std::string>& warnings);

/// `NAME=1x3x224x224`, one per --shape.
Result<std::map<std::string, Shape>> ParseShapes(const std::vector<std::string>& shapes);

/// Flags of load_and_run that `run` and `bench` accept.
struct LoadAndRunFlags {
  bool fast_run = false;  // tunes at level fast
  std::string layout_transform, layout_transform_dump;
};
void AddLoadAndRunFlags(CLI::App& app, LoadAndRunFlags& flags);
/// `--layout-transform` asks for the device that it names where --device leaves the choice.
void ChooseTarget(const LoadAndRunFlags& flags, CommonOptions& options);

/// Whether --device names one beside the CPU.
bool NamesAccelerator(std::string_view device);

/// FETTLE_... variables that are set, by name.
std::map<std::string, std::string> EnvironmentInForce();

/// The number of threads that 0 stands for.
int ResolveThreads(int threads);

/// Sends the library's log lines of the level and above to stderr.
void InstallLog(const std::string& level);

}  // namespace fettle::tools
