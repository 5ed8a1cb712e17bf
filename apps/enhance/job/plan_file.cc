#include "job/plan_file.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "basics/files.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void FailNoPlan(const std::filesystem::path& file, const std::string& why) {
  throw Failure(kExitInvalidInput,
                fmt::format("{}: is not a plan of fettle enhance --plan-only --json: {}",
                            file.string(), why));
}

/// The steps as --steps writes them, so that one reader checks both.
std::string StepsOf(const Json& steps) {
  if (!steps.is_array() || steps.empty())
    throw Failure(kExitUsage, "--plan: the plan has no steps");
  std::string text;
  for (const Json& step : steps) {
    text += (text.empty() ? "" : ",") + step.at("step").get<std::string>();
    if (step.contains("strength")) text += fmt::format("={}", step["strength"].get<double>());
  }
  return text;
}

PlanFile Read(const Json& document) {
  return {.chain = ReadChain(StepsOf(document.at("steps"))),
          .network = document.value("network", "fast"),
          .level = document.value("level", 0.0),
          .noise = document.value("noise", 0.0),
          .own_levels = document.value("own_levels", false),
          .own_noise = document.value("own_noise", false)};
}

}  // namespace

PlanFile ReadPlanFile(const std::filesystem::path& file, const std::filesystem::path& input) {
  std::error_code ignored;
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file, ignored))
    throw Failure(kExitInvalidInput, FETTLE_IO, file.string() + ": cannot be read");
  const Json document = Json::parse(stream, nullptr, false);
  if (!document.is_object()) FailNoPlan(file, "not a JSON object");
  if (!document.contains("source")) FailNoPlan(file, "it names no source");
  if (document["source"] != FingerprintOf(input))
    throw Failure(kExitUsage, fmt::format("{}: is a plan of another input than {}", file.string(),
                                          input.string()));
  try {
    return Read(document);
  } catch (const Json::exception& error) {
    FailNoPlan(file, error.what());
  }
}

}  // namespace fettle::enhance
