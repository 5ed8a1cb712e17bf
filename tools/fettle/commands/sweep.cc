// fettle sweep: an operator over a grid of sizes, as a CSV and a heat map.
#include "sweep/sweep.h"

#include <fmt/core.h>

#include "commands/command.h"
#include "device/cpu/cpu_device.h"
#include "jobs/accelerator.h"
#include "jobs/command_line.h"
#include "jobs/interrupt.h"
#include "options/checks.h"
#include "page/page.h"
#include "report/messages.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

struct SweepOptions {
  CommonOptions common;
  SweepNetwork network;
  std::array<std::string, kSweepAxes.size()> sizes = {"32:256", "32:256", "56", "3", "1"};
  std::string output = "sweep.csv", map;
  bool makes_map = true;
};

Result<std::vector<SweepPoint>> PointsOf(const SweepOptions& options) {
  std::array<std::vector<int64_t>, kSweepAxes.size()> sizes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    ASSIGN_OR_RETURN(sizes[axis],
                     ParseSizes(fmt::format("--{}", kSweepAxes[axis]), options.sizes[axis]));
  }
  return ListPoints(options.network, sizes);
}

SweepSetting SettingOf(const SweepOptions& options, const runtime::SessionOptions& session,
                       int threads) {
  const Device* const accelerator = session.accelerator();
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  return {.op = options.network.op,
          .type = options.network.type,
          .precision = options.common.precision,
          .device =
              std::string(accelerator != nullptr ? accelerator->fingerprint() : cpu.fingerprint()),
          .threads = threads};
}

/// A file of something else is wrong input; one that cannot be written, a failure.
Result<SweepFile> OpenFile(const std::string& path, const SweepSetting& setting) {
  auto file = SweepFile::Open(path, setting);
  if (file.ok()) return file;
  return file.status().code() == StatusCode::kInvalidArgument ? AsInvalidInput(file.status())
                                                              : AsWriteFailure(file.status());
}

std::string MapPath(const SweepOptions& options) {
  if (!options.map.empty()) return options.map;
  const bool is_csv = options.output.ends_with(".csv");
  return options.output.substr(0, options.output.size() - (is_csv ? 4 : 0)) + ".html";
}

/// Writes the heat map; where the build has no plotting library, a warning instead.
Result<std::string> WriteMap(const SweepOptions& options, Json data,
                             std::vector<std::string>& warnings) {
  if (!options.makes_map) return std::string();
  if (const Status status = CheckPages(); !status.ok()) {
    warnings.push_back("no heat map: " + std::string(status.message()));
    return std::string();
  }
  const std::string path = MapPath(options);
  const std::string title = "Fettle: sweep of " + options.network.op;
  RETURN_IF_ERROR(AsWriteFailure(WritePage(path, kSweepPage, title, std::move(data))));
  return path;
}

void PrintSweep(const SweepResult& result, const Json& document, const std::string& output,
                const std::string& map) {
  const Json& rows = document["rows"];
  const auto best = std::max_element(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["gflops"].get<double>() < b["gflops"].get<double>();
  });
  PrintParts({Count(result.measured, "point") + " measured",
              fmt::format("{} already in {}", result.reused, output)});
  if (best != rows.end())
    fmt::print("{}\n",
               Fit(fmt::format(
                   "best: {:.1f} GFLOP/s at cin {}, cout {}, size {}, kernel {}, "
                   "stride {} ({:.3f} ms, {})",
                   (*best)["gflops"].get<double>(), (*best)["cin"].dump(), (*best)["cout"].dump(),
                   (*best)["size"].dump(), (*best)["kernel"].dump(), (*best)["stride"].dump(),
                   (*best)["ms"].get<double>(), (*best)["kernel_name"].get<std::string>())));
  fmt::print("{}\n", Fit("wrote " + output + (map.empty() ? "" : " and " + map)));
}

int Sweep(const SweepOptions& options) {
  InstallLog(options.common.log);
  StartInterruptThread();
  const auto points = PointsOf(options);
  if (!points.ok()) return Fail(points.status(), kExitUsage);
  std::vector<std::string> warnings;
  auto session = MakeSessionOptions(options.common, warnings);
  if (!session.ok()) return Fail(session.status());
  const int threads = ResolveThreads(options.common.threads);
  auto file = OpenFile(options.output, SettingOf(options, *session, threads));
  if (!file.ok()) return Fail(file.status());
  const auto result = RunSweep(options.network, *points, *session, *file);
  if (!result.ok()) return Fail(result.status());
  Json document = SweepJson(options.network, *points, *file);
  Json page = document;
  page.update({{"version", FETTLE_VERSION},
               {"points", points->size()},
               {"device", DeviceJson(threads, session->accelerator())}});
  const auto map = WriteMap(options, std::move(page), warnings);
  if (!map.ok()) return Fail(map.status());
  PrintWarnings(warnings);
  document.update({{"path", options.output},
                   {"map", map->empty() ? Json(nullptr) : Json(*map)},
                   {"points", points->size()},
                   {"measured", result->measured},
                   {"reused", result->reused},
                   {"interrupted", result->interrupted},
                   {"device", DeviceJson(threads, session->accelerator())},
                   {"warnings", warnings}});
  if (options.common.json)
    PrintJson(document);
  else
    PrintSweep(*result, document, options.output, *map);
  if (!result->interrupted) return kExitOk;
  PrintMessage("fettle: interrupted; {} of {} points are in {}: the same command continues\n",
               result->measured + result->reused, points->size(), options.output);
  return kExitFailed;
}

}  // namespace

void RegisterSweep(CLI::App& app, Action& action) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* sub =
      app.add_subcommand("sweep", "time an operator over a grid of sizes: CSV and heat map");
  sub->add_option("OPERATOR", options->network.op, "the operator")
      ->required()
      ->check(OneOf({"conv", "depthwise"}));
  constexpr std::array<const char*, kSweepAxes.size()> kHelp = {
      "input channels: 8,24 (these), 8:256 (doubled), 8:256:8 (steps of 8) or 8:256:x1.5 (factors) "
      "(default 32:256)",
      "output channels (default 32:256; depthwise: those of the input)",
      "height and width of the image (default 56)", "height and width of the window (default 3)",
      "stride (default 1)"};
  for (size_t axis = 0; axis < kSweepAxes.size(); ++axis)
    sub->add_option(fmt::format("--{}", kSweepAxes[axis]), options->sizes[axis], kHelp[axis]);
  sub->add_option("--type", options->network.type,
                  "type of values (default f32); int8 is quantised, from u8 to u8")
      ->check(OneOf({"f32", "int8"}));
  sub->add_option(
      "-o,--output", options->output,
      "the CSV to write (default sweep.csv); points that it has are not measured again");
  sub->add_option("--map", options->map,
                  "the heat map to write (default: the CSV's name with .html)");
  sub->add_flag("!--no-map", options->makes_map, "do not write the heat map");
  AddCommonOptions(*sub, options->common);
  MarkWithoutEffect(*sub, {"--shape", "--cache", "--no-cache"});
  sub->callback([&action, options] {
    options->network.seed = options->common.seed;
    action = [options] { return Sweep(*options); };
  });
}

}  // namespace fettle::tools
